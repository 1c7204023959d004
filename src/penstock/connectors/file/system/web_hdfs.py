"""HDFS over HTTP with fsspec's WebHDFS client, corrected where it loses data or hides failures."""

from __future__ import annotations

import getpass
import os
from typing import Any
from urllib.parse import urlsplit

from fsspec.implementations.webhdfs import WebHDFile, WebHDFS  # type: ignore[import-untyped]

from penstock.connectors.file.system.fsspec_files import FsspecFileSystem

_USER_OPTIONS = ("user", "password", "token", "kerberos", "proxy_to")


def web_hdfs_file_system(path: str, options: dict[str, Any]) -> FsspecFileSystem:
    """Returns the file system of webhdfs://host:port. Options are those of fsspec's WebHDFS."""
    split = urlsplit(path)
    if split.port is None:
        raise ValueError(
            "the path must contain the port of the NameNode web server, which is 9870 unless your cluster uses another one"
        )
    settings = {**WebHDFS._get_kwargs_from_urls(f"webhdfs://{split.netloc}/"), **options}
    if not any(settings.get(name) for name in _USER_OPTIONS):
        settings["user"] = _hadoop_user()
    return FsspecFileSystem(WebHdfs(**settings), f"webhdfs://{split.netloc}", renames=True)


def _hadoop_user() -> str:
    """Returns the user name that Hadoop clients use. Without one the NameNode assumes 'dr.who', who cannot write."""
    return os.environ.get("HADOOP_USER_NAME") or getpass.getuser()


class WebHdfs(WebHDFS):  # type: ignore[misc]
    """fsspec's WebHDFS with renames that overwrite or fail, and errors that are OSErrors."""

    def _call(self, *args: Any, **kwargs: Any) -> Any:
        try:
            return super()._call(*args, **kwargs)
        except RuntimeError as error:  # safe mode, standby, or an invalid name; cleanup code expects an OSError
            raise OSError(str(error)) from error

    def mv(self, path1: str, path2: str, **kwargs: Any) -> None:
        """Renames a file. The method of fsspec ignores failures, for example if the target exists."""
        response = self._call("RENAME", method="put", path=path1, destination=path2, renameoptions="OVERWRITE")
        if response.content and response.json().get("boolean") is False:  # a gateway that does not know the option
            raise OSError(f"{path1} was not renamed to {path2}: it does not exist, or the target exists")

    def _open(self, path: str, mode: str = "rb", block_size: int | None = None, **kwargs: Any) -> WebHdfsFile:
        return WebHdfsFile(
            self, path, mode=mode, block_size=block_size or self.blocksize, tempdir=self.tempdir, autocommit=True
        )


class WebHdfsFile(WebHDFile):  # type: ignore[misc]
    """A file whose failed reads raise an error."""

    def _fetch_range(self, start: int, end: int) -> bytes:
        """Reads a range. The method of fsspec returns the error message of a DataNode as if it were file content."""
        start, end = max(start, 0), min(self.size, end)
        if start >= end:
            return b""
        response = self.fs._call("OPEN", path=self.path, offset=start, length=end - start, redirect=False)
        if "Location" in response.headers:
            response = self.fs.session.get(self.fs._apply_proxy(response.headers["Location"]))
        data: bytes = response.content
        if response.status_code == 404:  # removed since it was opened
            raise FileNotFoundError(self.path)
        if not response.ok or len(data) != end - start:
            reason = data[:500].decode(errors="replace") if not response.ok else f"received only {len(data)} bytes"
            raise OSError(f"{self.path} cannot be read from byte {start} to {end}: {reason}")
        return data
