"""Where files are: local folders, S3, HDFS, and what else pyarrow or fsspec can reach, behind a few calls."""

from __future__ import annotations

import io
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from penstock.connectors.secret import revealed
from penstock.errors import ConfigError

Options = Mapping[str, Any]

BUFFER = 1 << 20
_opened: dict[Any, FileSystem] = {}  # by process, scheme, host and options: clients have connections and threads


class FoundFile(NamedTuple):
    """A file as it was when it was listed."""

    path: str
    size: int
    modified: int  # nanoseconds since 1970; 0 where the file system does not say


class FileSystem:
    """What sources and sinks do with files. Paths are absolute, with their scheme if they have one."""

    def open(self, path: str) -> Any:
        """A file to read from, at any position."""
        raise NotImplementedError

    def create(self, path: str) -> Any:
        """A file to write, whole, from its beginning; folders are made as needed."""
        raise NotImplementedError

    def close(self, file: Any) -> None:
        """Ends a created file: after this a crash of the machine does not lose it."""
        file.close()

    def find(self, path: str) -> FoundFile | None:
        """The file at a path, if there is one."""
        raise NotImplementedError

    def is_folder(self, path: str) -> bool:
        raise NotImplementedError

    def below(self, path: str) -> Iterator[FoundFile]:
        """All files in a folder and its folders, but for names that begin with a dot or an underscore."""
        raise NotImplementedError

    def names(self, folder: str) -> list[str]:
        """The names of the files in a folder, hidden ones too; none if it is not there."""
        raise NotImplementedError

    def publish(self, written: str, final: str) -> None:
        """Gives a finished file its last name. Readers see all of it or nothing."""
        raise NotImplementedError

    def remove(self, path: str) -> None:
        """Removes a file; one that is not there is no error."""
        raise NotImplementedError

    def remove_folder(self, path: str) -> None:
        """Removes a folder and what is in it; one that is not there is no error."""
        raise NotImplementedError


def is_hidden(name: str) -> bool:
    """
    >>> is_hidden("_SUCCESS"), is_hidden(".part-0"), is_hidden("part-0")
    (True, True, False)
    """
    return name.startswith((".", "_"))


class LocalFiles(FileSystem):
    """Folders of this machine, or ones that are mounted on it."""

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

    def find(self, path: str) -> FoundFile | None:
        try:
            stat = os.stat(path)
        except (FileNotFoundError, NotADirectoryError):
            return None
        return None if os.path.isdir(path) else FoundFile(path, stat.st_size, stat.st_mtime_ns)

    def is_folder(self, path: str) -> bool:
        return os.path.isdir(path)

    def below(self, path: str) -> Iterator[FoundFile]:
        with os.scandir(path) as entries:
            for entry in sorted(entries, key=lambda e: e.name):
                if is_hidden(entry.name):
                    continue
                if entry.is_dir():
                    yield from self.below(entry.path)
                    continue
                with suppress(FileNotFoundError):  # it was there a moment ago, and will not be read
                    stat = entry.stat()
                    yield FoundFile(entry.path, stat.st_size, stat.st_mtime_ns)

    def names(self, folder: str) -> list[str]:
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


class ArrowFiles(FileSystem):
    """A file system of pyarrow's, which knows paths without their scheme."""

    def __init__(self, system: Any, prefix: str, *, folders: bool) -> None:
        self._system = system
        self._prefix = prefix  # what is before a path of the file system's own
        self._folders = folders  # they have to be made, and files can be renamed: an object store knows neither

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

    def find(self, path: str) -> FoundFile | None:
        from pyarrow.fs import FileType

        info = self._system.get_file_info(self._inside(path))
        return FoundFile(path, info.size, info.mtime_ns or 0) if info.type == FileType.File else None

    def is_folder(self, path: str) -> bool:
        from pyarrow.fs import FileType

        return bool(self._system.get_file_info(self._inside(path)).type == FileType.Directory)

    def _listed(self, folder: str, recursive: bool) -> list[Any]:
        from pyarrow.fs import FileSelector, FileType

        chosen = FileSelector(self._inside(folder), allow_not_found=True, recursive=recursive)
        return [info for info in self._system.get_file_info(chosen) if info.type == FileType.File]

    def below(self, path: str) -> Iterator[FoundFile]:
        root = self._inside(path).rstrip("/") + "/"
        for info in sorted(self._listed(path, recursive=True), key=lambda i: i.path):
            if not any(is_hidden(name) for name in info.path.removeprefix(root).split("/")):
                yield FoundFile(self._outside(info.path), info.size, info.mtime_ns or 0)

    def names(self, folder: str) -> list[str]:
        return [info.base_name for info in self._listed(folder, recursive=False)]

    def publish(self, written: str, final: str) -> None:
        """An object store has no rename: a copy inside the store becomes visible as a whole."""
        source, target = self._inside(written), self._inside(final)
        if self._folders:
            self._system.create_dir(os.path.dirname(target), recursive=True)
            if self.find(final) is not None:  # of an earlier try; HDFS does not rename over a file
                self._system.delete_file(target)
            self._system.move(source, target)
            return
        try:
            self._system.copy_file(source, target)
        except OSError as error:
            if self.find(written) is None:
                raise FileNotFoundError(f"{written} does not exist") from error
            raise
        self._system.delete_file(source)

    def remove(self, path: str) -> None:
        with suppress(FileNotFoundError):
            self._system.delete_file(self._inside(path))

    def remove_folder(self, path: str) -> None:
        with suppress(FileNotFoundError):
            self._system.delete_dir(self._inside(path))


def absolute(path: str | os.PathLike[str]) -> str:
    """A path that means the same in other processes, which have other working folders.

    >>> absolute("s3://bucket/orders/"), absolute("file:///tmp/orders")
    ('s3://bucket/orders', '/tmp/orders')
    """
    text = os.fspath(path)
    if "://" not in text:
        return os.path.abspath(text)
    split = urlsplit(text)
    return os.path.abspath(split.path) if split.scheme == "file" else text.rstrip("/")


def file_system(path: str, options: Options | None = None) -> FileSystem:
    """The file system of an absolute path; `options` are those of pyarrow's or fsspec's class for it."""
    if "://" not in path:
        return LocalFiles()
    split = urlsplit(path)
    place = (
        os.getpid(),
        split.scheme,
        split.netloc,
        tuple(sorted((options or {}).items(), key=lambda option: option[0])),
    )
    try:
        known = _opened.get(place)
    except TypeError:  # an option that cannot be compared
        return _open(path, options or {})
    if known is None:
        known = _opened[place] = _open(path, options or {})
    return known


def _open(path: str, options: Options) -> FileSystem:
    try:
        return _remote(path, revealed(options))
    except (TypeError, ValueError, ImportError) as error:
        raise ConfigError(
            "FILE_SYSTEM",
            f"The file system of {path} cannot be opened: {error}. Paths are local, or begin with s3://, hdfs://, webhdfs:// "
            "or a scheme that fsspec knows; storage_options are passed on to pyarrow.fs.S3FileSystem, to the client of HDFS or to "
            "fsspec.",
        ) from error


def _remote(path: str, options: dict[str, Any]) -> FileSystem:
    from pyarrow import fs

    split = urlsplit(path)
    scheme = split.scheme
    if scheme in ("s3", "s3a"):
        return ArrowFiles(fs.S3FileSystem(**{**_endpoint(), **options}), f"{scheme}://", folders=False)
    if scheme in ("gs", "gcs"):
        return ArrowFiles(fs.GcsFileSystem(**options), f"{scheme}://", folders=False)
    if scheme in ("hdfs", "viewfs"):
        from penstock.connectors.file.hdfs import hdfs_files

        return hdfs_files(path, options)
    if scheme == "webhdfs":
        from penstock.connectors.file.web_hdfs import web_hdfs_files

        return web_hdfs_files(path, options)
    import fsspec.core  # type: ignore[import-untyped]

    from penstock.connectors.file.fsspec_files import FsspecFiles

    system, inside = fsspec.core.url_to_fs(path, **options)
    if not path.endswith(inside):
        raise ValueError(f"fsspec calls it {inside}, so its paths cannot be told apart from their beginning")
    return FsspecFiles(system, path.removesuffix(inside), renames=False)


def _endpoint() -> dict[str, str]:
    """Where S3 is, by the variables that all tools of AWS read; pyarrow reads those of keys and regions by itself."""
    given = os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL")
    return {"endpoint_override": given} if given else {}
