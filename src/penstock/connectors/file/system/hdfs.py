"""HDFS by its own protocol: with hdfs-native, which needs no Java, or with Hadoop's libhdfs through pyarrow."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from penstock.connectors.file.system import BUFFER, ArrowFiles, FileSystem, FoundFile, is_hidden
from penstock.errors import ConfigError

if TYPE_CHECKING:
    from hdfs_native import Client

_OWN = ("config_dir", "kerberos_principal", "kerberos_keytab", "kerberos_cache")


def hdfs_files(path: str, options: dict[str, Any]) -> FileSystem:
    """The files of hdfs://host:port or hdfs://nameservice, by the client that is installed."""
    split = urlsplit(path)
    prefix = f"{split.scheme}://{split.netloc}"
    if find_spec("hdfs_native") is not None:
        if split.username:  # the client would leave it out, and write as somebody else
            raise ValueError("hdfs-native takes no user from a path: set HADOOP_USER_NAME, or use webhdfs://")
        return HdfsFiles(_client(prefix if split.netloc else None, options), prefix)
    from pyarrow.fs import HadoopFileSystem

    try:
        hadoop = HadoopFileSystem(split.hostname or "default", split.port or 0, **options)
    except OSError as error:
        if "Unable to load" not in str(error):
            raise
        raise _no_client(path, str(error).split("\n")[0]) from error
    return ArrowFiles(hadoop, prefix, folders=True)


def _no_client(path: str, found: str) -> ConfigError:
    return ConfigError(
        "HDFS_CLIENT",
        f"{path} cannot be reached: there is no client for HDFS here ({found}). On the driver and on every executor run "
        "'pip install hdfs-native', which needs no Java, or install Hadoop's own client: pyarrow finds its libhdfs.so by "
        "HADOOP_HOME or ARROW_LIBHDFS_DIR, and needs JAVA_HOME and CLASSPATH=$(hadoop classpath --glob). Over HTTP, "
        "webhdfs://namenode:9870/path needs 'pip install fsspec requests' only.",
    )


def _client(url: str | None, options: dict[str, Any]) -> Client:
    from hdfs_native import Client

    unknown = [name for name in options if name not in _OWN and "." not in name]
    if unknown:
        raise ValueError(
            f"hdfs-native has no option {', '.join(unknown)}; there are {', '.join(_OWN)}, and Hadoop's own such as "
            "'dfs.client.failover.max.attempts'. The user is that of HADOOP_USER_NAME"
        )
    settings = {name: str(value) for name, value in options.items() if name not in _OWN}
    with _as_file_errors():
        return Client(url, settings, **{name: value for name, value in options.items() if name in _OWN})


class HdfsFiles(FileSystem):
    """HDFS as hdfs-native reaches it. Its fsspec class is not used: that one cuts names at '#' and '?'."""

    def __init__(self, client: Client, prefix: str) -> None:
        self._client = client
        self._prefix = prefix

    def _inside(self, path: str) -> str:
        return path.removeprefix(self._prefix) or "/"

    def open(self, path: str) -> Any:
        from pyarrow import PythonFile

        with _as_file_errors():
            reader = self._client.read(self._inside(path))
        return io.BufferedReader(PythonFile(_Told(reader), mode="r"), BUFFER)

    def create(self, path: str) -> Any:
        from hdfs_native import WriteOptions
        from pyarrow import PythonFile

        with _as_file_errors():
            writer = self._client.create(self._inside(path), WriteOptions(overwrite=True, create_parent=True))
        return PythonFile(_Told(writer), mode="w")

    def _status(self, path: str) -> Any:
        with _as_file_errors(), suppress(FileNotFoundError):
            return self._client.get_file_info(self._inside(path))
        return None

    def find(self, path: str) -> FoundFile | None:
        status = self._status(path)
        return None if status is None or status.isdir else _found(path, status)

    def is_folder(self, path: str) -> bool:
        status = self._status(path)
        return status is not None and bool(status.isdir)

    def _listed(self, folder: str) -> list[tuple[str, Any]]:
        with _as_file_errors(), suppress(FileNotFoundError):
            found = self._client.list_status(self._inside(folder))
            return sorted(((status.path.rsplit("/", 1)[-1], status) for status in found), key=lambda entry: entry[0])
        return []

    def below(self, path: str) -> Iterator[FoundFile]:
        for name, status in self._listed(path):
            if is_hidden(name):
                continue
            at = f"{path.rstrip('/')}/{name}"
            if status.isdir:
                yield from self.below(at)
            else:
                yield _found(at, status)

    def names(self, folder: str) -> list[str]:
        return [name for name, status in self._listed(folder) if not status.isdir]

    def publish(self, written: str, final: str) -> None:
        """One step, also over a file of an earlier try."""
        target = self._inside(final)
        with _as_file_errors():
            self._client.mkdirs(os.path.dirname(target), create_parent=True)
            self._client.rename(self._inside(written), target, overwrite=True)

    def remove(self, path: str) -> None:
        with _as_file_errors(), suppress(FileNotFoundError):
            self._client.delete(self._inside(path))

    def remove_folder(self, path: str) -> None:
        with _as_file_errors(), suppress(FileNotFoundError):
            self._client.delete(self._inside(path), recursive=True)


def _found(path: str, status: Any) -> FoundFile:
    return FoundFile(path, status.length, status.modification_time * 1_000_000)  # HDFS counts milliseconds


class _Told:
    """An open file of hdfs-native whose failures are those of files."""

    def __init__(self, file: Any) -> None:
        self._file = file
        self.closed = False

    def read(self, size: int = -1) -> bytes:
        with _as_file_errors():
            data: bytes = self._file.read(size)
            return data

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        self._file.seek(offset, whence)
        return self.tell()

    def tell(self) -> int:
        at: int = self._file.tell()
        return at

    def write(self, data: Any) -> int:
        with _as_file_errors():
            written: int = self._file.write(data)
            return written

    def flush(self) -> None:
        """The client sends what it has at the end of a packet, and all of it when the file is closed."""

    def close(self) -> None:
        if not self.closed:
            self.closed = True
            with _as_file_errors():
                self._file.close()


@contextmanager
def _as_file_errors() -> Iterator[None]:
    """hdfs-native raises RuntimeError where the NameNode refuses; what cleans up behind a failure expects an OSError."""
    try:
        yield
    except RuntimeError as error:
        text = (
            str(error).replace("\\n", "\n").split("\n\tat ")[0].split("\n\\tat ")[0]
        )  # without the stack of the NameNode
        kind = PermissionError if "AccessControlException" in text else OSError
        raise kind(text) from error
