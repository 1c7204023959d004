"""HDFS over its native protocol, with hdfs-native (no Java) or with Hadoop's libhdfs through pyarrow."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from penstock.connectors.file.system.file_system import BUFFER, ArrowFileSystem, FileStatus, FileSystem
from penstock.connectors.file.system.listing import ListingFileSystem, join_path
from penstock.errors import ConfigError

if TYPE_CHECKING:
    from hdfs_native import Client

_CLIENT_OPTIONS = ("config_dir", "kerberos_principal", "kerberos_keytab", "kerberos_cache")


def hdfs_file_system(path: str, options: dict[str, Any]) -> FileSystem:
    """Returns the file system of hdfs://host:port or hdfs://nameservice, with the client that is installed."""
    split = urlsplit(path)
    prefix = f"{split.scheme}://{split.netloc}"
    if find_spec("hdfs_native") is not None:
        if split.username:  # the client would ignore it and write as another user
            raise ValueError("hdfs-native does not support a user in the path; set HADOOP_USER_NAME, or use webhdfs://")
        return HdfsFileSystem(_client(prefix if split.netloc else None, options), prefix)
    from pyarrow.fs import HadoopFileSystem

    try:
        hadoop = HadoopFileSystem(split.hostname or "default", split.port or 0, **options)
    except OSError as error:
        if "Unable to load" not in str(error):
            raise
        raise _missing_client_error(path, str(error).split("\n")[0]) from error
    return ArrowFileSystem(hadoop, prefix, folders=True)


def _missing_client_error(path: str, reason: str) -> ConfigError:
    return ConfigError(
        "HDFS_CLIENT",
        f"{path} cannot be opened, because no HDFS client is installed ({reason}). On the driver and on every executor, run "
        "'pip install hdfs-native', which does not need Java, or install the Hadoop client. pyarrow finds its libhdfs.so through "
        "HADOOP_HOME or ARROW_LIBHDFS_DIR, and needs JAVA_HOME and CLASSPATH=$(hadoop classpath --glob). For HTTP access with "
        "webhdfs://namenode:9870/path, 'pip install fsspec requests' is sufficient.",
    )


def _client(url: str | None, options: dict[str, Any]) -> Client:
    from hdfs_native import Client

    unknown = [name for name in options if name not in _CLIENT_OPTIONS and "." not in name]
    if unknown:
        raise ValueError(
            f"hdfs-native has no option {', '.join(unknown)}; expected {', '.join(_CLIENT_OPTIONS)}, or Hadoop options such as "
            "'dfs.client.failover.max.attempts'. The user is taken from HADOOP_USER_NAME"
        )
    settings = {name: str(value) for name, value in options.items() if name not in _CLIENT_OPTIONS}
    with _convert_errors():
        return Client(url, settings, **{name: value for name, value in options.items() if name in _CLIENT_OPTIONS})


class HdfsFileSystem(ListingFileSystem):
    """HDFS with hdfs-native. Its fsspec class is not used, because it truncates names at '#' and '?'."""

    def __init__(self, client: Client, prefix: str) -> None:
        super().__init__(prefix)
        self._client = client

    def open(self, path: str) -> Any:
        from pyarrow import PythonFile

        with _convert_errors():
            reader = self._client.read(self._inside(path))
        return io.BufferedReader(PythonFile(_HdfsFile(reader), mode="r"), BUFFER)

    def create(self, path: str) -> Any:
        from hdfs_native import WriteOptions
        from pyarrow import PythonFile

        with _convert_errors():
            writer = self._client.create(self._inside(path), WriteOptions(overwrite=True, create_parent=True))
        return PythonFile(_HdfsFile(writer), mode="w")

    def _status(self, path: str) -> Any:
        with _convert_errors(), suppress(FileNotFoundError):
            return self._client.get_file_info(self._inside(path))
        return None

    def get_status(self, path: str) -> FileStatus | None:
        status = self._status(path)
        return None if status is None or status.isdir else _file_status(path, status)

    def is_folder(self, path: str) -> bool:
        status = self._status(path)
        return status is not None and bool(status.isdir)

    def _list_folder(self, folder: str) -> list[tuple[str, FileStatus | None]]:
        with _convert_errors(), suppress(FileNotFoundError):
            named = {s.path.rsplit("/", 1)[-1]: s for s in self._client.list_status(self._inside(folder))}
            return [
                (name, None if status.isdir else _file_status(join_path(folder, name), status))
                for name, status in sorted(named.items(), key=lambda entry: entry[0])
            ]
        return []

    def publish(self, written: str, final: str) -> None:
        """Renames atomically. Overwrites a file of an earlier attempt."""
        target = self._inside(final)
        with _convert_errors():
            self._client.mkdirs(os.path.dirname(target), create_parent=True)
            self._client.rename(self._inside(written), target, overwrite=True)

    def remove(self, path: str) -> None:
        with _convert_errors(), suppress(FileNotFoundError):
            self._client.delete(self._inside(path))

    def remove_folder(self, path: str) -> None:
        with _convert_errors(), suppress(FileNotFoundError):
            self._client.delete(self._inside(path), recursive=True)


def _file_status(path: str, status: Any) -> FileStatus:
    return FileStatus(path, status.length, status.modification_time * 1_000_000)  # HDFS uses milliseconds


class _HdfsFile:
    """An open file of hdfs-native that raises OSError."""

    def __init__(self, file: Any) -> None:
        self._file = file
        self.closed = False

    def read(self, size: int = -1) -> bytes:
        with _convert_errors():
            data: bytes = self._file.read(size)
            return data

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        self._file.seek(offset, whence)
        return self.tell()

    def tell(self) -> int:
        at: int = self._file.tell()
        return at

    def write(self, data: Any) -> int:
        with _convert_errors():
            written: int = self._file.write(data)
            return written

    def flush(self) -> None:
        """Does nothing. The client sends complete packets, and the rest when the file is closed."""

    def close(self) -> None:
        if not self.closed:
            self.closed = True
            with _convert_errors():
                self._file.close()


@contextmanager
def _convert_errors() -> Iterator[None]:
    """Converts the RuntimeError of hdfs-native to OSError, which cleanup code expects."""
    try:
        yield
    except RuntimeError as error:
        # The message without the stack trace of the NameNode.
        text = str(error).replace("\\n", "\n").split("\n\tat ")[0].split("\n\\tat ")[0]
        kind = PermissionError if "AccessControlException" in text else OSError
        raise kind(text) from error
