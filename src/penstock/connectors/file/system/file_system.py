"""File systems: local folders, S3, HDFS, and everything else that pyarrow or fsspec supports."""

from __future__ import annotations

import io
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from penstock.connectors.secret import reveal_secrets
from penstock.errors import ConfigError

Options = Mapping[str, Any]
Enters = Callable[[str], bool]  # whether the files of a folder are wanted, by its path

BUFFER = 1 << 20
_cache: dict[Any, FileSystem] = {}  # by process, scheme, host and options, because clients hold connections and threads


class FileStatus(NamedTuple):
    """Path, size and modification time of a file."""

    path: str
    size: int
    modified: int  # nanoseconds since the epoch; 0 if unknown


class FileSystem:
    """The file operations of sources and sinks. Paths are absolute, with their scheme if they have one."""

    def open(self, path: str) -> Any:
        """Opens a file for reading at any position."""
        raise NotImplementedError

    def create(self, path: str) -> Any:
        """Creates or overwrites a file. Creates folders as needed."""
        raise NotImplementedError

    def close(self, file: Any) -> None:
        """Closes a created file durably, so that it survives a crash of the machine."""
        file.close()

    def get_status(self, path: str) -> FileStatus | None:
        """Returns the status of a file, or None if it does not exist."""
        raise NotImplementedError

    def is_folder(self, path: str) -> bool:
        raise NotImplementedError

    def list_recursively(self, path: str, enters: Enters | None = None) -> Iterator[FileStatus]:
        """Yields all files in a folder and its subfolders, except for names that start with a dot or an underscore.

        With `enters`, only subfolders whose path it accepts are listed.
        """
        raise NotImplementedError

    def list_names(self, folder: str) -> list[str]:
        """Returns the names of the files in a folder, including hidden ones. Empty if the folder does not exist."""
        raise NotImplementedError

    def publish(self, written: str, final: str) -> None:
        """Moves a completed file to its final path atomically. Readers see the complete file or nothing."""
        raise NotImplementedError

    def remove(self, path: str) -> None:
        """Removes a file if it exists."""
        raise NotImplementedError

    def remove_folder(self, path: str) -> None:
        """Removes a folder with its contents if it exists."""
        raise NotImplementedError

    def remove_empty_folder(self, path: str) -> None:
        """Removes a folder unless it contains something."""
        if not self.list_names(path) and next(self.list_recursively(path), None) is None:
            self.remove_folder(path)

    def is_link(self, path: str) -> bool:
        """Whether a path is a symbolic link, whose target may be in another folder."""
        return False


def is_hidden(name: str) -> bool:
    """Returns whether sources ignore a file or folder with this name.

    >>> is_hidden("_SUCCESS"), is_hidden(".part-0"), is_hidden("part-0")
    (True, True, False)
    """
    return name.startswith((".", "_"))


class LocalFileSystem(FileSystem):
    """Local or mounted folders."""

    def open(self, path: str) -> Any:
        return open(path, "rb")

    def create(self, path: str) -> Any:
        try:
            return open(path, "wb")
        except FileNotFoundError:
            os.makedirs(os.path.dirname(path), exist_ok=True)
            return open(path, "wb")

    def close(self, file: Any) -> None:
        file.flush()
        os.fsync(file.fileno())
        file.close()

    def get_status(self, path: str) -> FileStatus | None:
        try:
            stat = os.stat(path)
        except (FileNotFoundError, NotADirectoryError):
            return None
        return None if os.path.isdir(path) else FileStatus(path, stat.st_size, stat.st_mtime_ns)

    def is_folder(self, path: str) -> bool:
        return os.path.isdir(path)

    def list_recursively(self, path: str, enters: Enters | None = None) -> Iterator[FileStatus]:
        with os.scandir(path) as entries:
            for entry in sorted(entries, key=lambda e: e.name):
                if is_hidden(entry.name):
                    continue
                if entry.is_dir():
                    if enters is None or enters(entry.path):
                        yield from self.list_recursively(entry.path, enters)
                    continue
                with suppress(FileNotFoundError):  # removed since it was listed
                    stat = entry.stat()
                    yield FileStatus(entry.path, stat.st_size, stat.st_mtime_ns)

    def list_names(self, folder: str) -> list[str]:
        try:
            return os.listdir(folder)
        except FileNotFoundError:
            return []

    def publish(self, written: str, final: str) -> None:
        try:
            os.replace(written, final)
        except FileNotFoundError:
            if not os.path.exists(written):
                raise
            os.makedirs(os.path.dirname(final), exist_ok=True)
            os.replace(written, final)

    def remove(self, path: str) -> None:
        with suppress(FileNotFoundError):
            os.remove(path)

    def remove_folder(self, path: str) -> None:
        shutil.rmtree(path, ignore_errors=True)

    def remove_empty_folder(self, path: str) -> None:
        with suppress(OSError):  # not empty, or a link
            os.rmdir(path)

    def is_link(self, path: str) -> bool:
        return os.path.islink(path)


class ArrowFileSystem(FileSystem):
    """A file system of pyarrow, whose paths have no scheme."""

    def __init__(self, system: Any, prefix: str, *, folders: bool) -> None:
        self._system = system
        self._prefix = prefix  # scheme and host, which pyarrow does not expect in paths
        self._folders = folders  # True if folders must be created and files can be renamed; False for object stores

    def _inside(self, path: str) -> str:
        return path.removeprefix(self._prefix)

    def _outside(self, path: str) -> str:
        return f"{self._prefix}{path}"

    def open(self, path: str) -> Any:
        return io.BufferedReader(self._system.open_input_file(self._inside(path)), BUFFER)

    def create(self, path: str) -> Any:
        inside = self._inside(path)
        if self._folders:
            self._system.create_dir(os.path.dirname(inside), recursive=True)
        return self._system.open_output_stream(inside)

    def get_status(self, path: str) -> FileStatus | None:
        from pyarrow.fs import FileType

        info = self._system.get_file_info(self._inside(path))
        return FileStatus(path, info.size, info.mtime_ns or 0) if info.type == FileType.File else None

    def is_folder(self, path: str) -> bool:
        from pyarrow.fs import FileType

        return bool(self._system.get_file_info(self._inside(path)).type == FileType.Directory)

    def _list_files(self, folder: str, recursive: bool) -> list[Any]:
        from pyarrow.fs import FileSelector, FileType

        selector = FileSelector(self._inside(folder), allow_not_found=True, recursive=recursive)
        return [info for info in self._system.get_file_info(selector) if info.type == FileType.File]

    def list_recursively(self, path: str, enters: Enters | None = None) -> Iterator[FileStatus]:
        if enters is not None:
            yield from self._list_entered(path, enters)
            return
        root = self._inside(path).rstrip("/") + "/"
        for info in sorted(self._list_files(path, recursive=True), key=lambda i: i.path):
            if not any(is_hidden(name) for name in info.path.removeprefix(root).split("/")):
                yield FileStatus(self._outside(info.path), info.size, info.mtime_ns or 0)

    def _list_entered(self, path: str, enters: Enters) -> Iterator[FileStatus]:
        """Lists folder by folder, so that folders that are not accepted cost nothing."""
        from pyarrow.fs import FileSelector, FileType

        found = self._system.get_file_info(FileSelector(self._inside(path), allow_not_found=True))
        for info in sorted(found, key=lambda i: i.path):
            if is_hidden(info.base_name):
                continue
            outside = self._outside(info.path)
            if info.type == FileType.File:
                yield FileStatus(outside, info.size, info.mtime_ns or 0)
            elif info.type == FileType.Directory and enters(outside):
                yield from self._list_entered(outside, enters)

    def list_names(self, folder: str) -> list[str]:
        return [info.base_name for info in self._list_files(folder, recursive=False)]

    def publish(self, written: str, final: str) -> None:
        """Moves the file. Object stores cannot rename, so the file is copied within the store, which is atomic."""
        source, target = self._inside(written), self._inside(final)
        if self._folders:
            self._system.create_dir(os.path.dirname(target), recursive=True)
            if self.get_status(final) is not None:  # left by an earlier attempt; HDFS does not overwrite on rename
                self._system.delete_file(target)
            self._system.move(source, target)
            return
        try:
            self._system.copy_file(source, target)
        except OSError as error:
            if self.get_status(written) is None:
                raise FileNotFoundError(f"{written} does not exist") from error
            raise
        self._system.delete_file(source)

    def remove(self, path: str) -> None:
        with suppress(FileNotFoundError):
            self._system.delete_file(self._inside(path))

    def remove_folder(self, path: str) -> None:
        with suppress(FileNotFoundError):
            self._system.delete_dir(self._inside(path))


def absolute_path(path: str | os.PathLike[str]) -> str:
    """Returns an absolute path, which is also valid in processes with another working directory.

    >>> absolute_path("s3://bucket/orders/"), absolute_path("file:///tmp/orders")
    ('s3://bucket/orders', '/tmp/orders')
    """
    text = os.fspath(path)
    if "://" not in text:
        return os.path.abspath(text)
    split = urlsplit(text)
    return os.path.abspath(split.path) if split.scheme == "file" else text.rstrip("/")


def file_system(path: str, options: Options | None = None) -> FileSystem:
    """Returns the file system of an absolute path. `options` are passed to the class of pyarrow or fsspec."""
    if "://" not in path:
        return LocalFileSystem()
    split = urlsplit(path)
    key = (
        os.getpid(),
        split.scheme,
        split.netloc,
        tuple(sorted((options or {}).items(), key=lambda option: option[0])),
    )
    try:
        system = _cache.get(key)
    except TypeError:  # an option is not hashable
        return _open(path, options or {})
    if system is None:
        system = _cache[key] = _open(path, options or {})
    return system


def _open(path: str, options: Options) -> FileSystem:
    try:
        return _remote(path, reveal_secrets(options))
    except (TypeError, ValueError, ImportError) as error:
        raise ConfigError(
            "FILE_SYSTEM",
            f"The file system of {path} cannot be opened: {error}. Use a local path or one that starts with s3://, hdfs://, "
            "webhdfs:// or a scheme that fsspec supports. storage_options are passed to pyarrow.fs.S3FileSystem, to the HDFS "
            "client or to fsspec.",
        ) from error


def _remote(path: str, options: dict[str, Any]) -> FileSystem:
    from pyarrow import fs

    split = urlsplit(path)
    scheme = split.scheme
    if scheme in ("s3", "s3a"):
        return ArrowFileSystem(fs.S3FileSystem(**{**_endpoint(), **options}), f"{scheme}://", folders=False)
    if scheme in ("gs", "gcs"):
        return ArrowFileSystem(fs.GcsFileSystem(**options), f"{scheme}://", folders=False)
    if scheme in ("hdfs", "viewfs"):
        from penstock.connectors.file.system.hdfs import hdfs_file_system

        return hdfs_file_system(path, options)
    if scheme == "webhdfs":
        from penstock.connectors.file.system.web_hdfs import web_hdfs_file_system

        return web_hdfs_file_system(path, options)
    import fsspec.core  # type: ignore[import-untyped]

    from penstock.connectors.file.system.fsspec_files import FsspecFileSystem

    system, inside = fsspec.core.url_to_fs(path, **options)
    if not path.endswith(inside):
        raise ValueError(f"fsspec converts the path to {inside}, which is not a suffix of the original path")
    return FsspecFileSystem(system, path.removesuffix(inside), renames=False)


def _endpoint() -> dict[str, str]:
    """Returns the S3 endpoint of the AWS environment variables. pyarrow reads those of keys and regions itself."""
    endpoint = os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL")
    return {"endpoint_override": endpoint} if endpoint else {}
