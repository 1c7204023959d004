"""HDFS over HTTP: fsspec's client of the NameNode's WebHDFS, where it would lose data or hide a failure mended."""

from __future__ import annotations

import getpass
import os
from typing import Any
from urllib.parse import urlsplit

from fsspec.implementations.webhdfs import WebHDFile, WebHDFS  # type: ignore[import-untyped]

from penstock.connectors.file.fsspec_files import FsspecFiles

_WHO = ("user", "password", "token", "kerberos", "proxy_to")


def web_hdfs_files(path: str, options: dict[str, Any]) -> FsspecFiles:
    """The files of webhdfs://host:port; options are those of fsspec's WebHDFS."""
    split = urlsplit(path)
    if split.port is None:
        raise ValueError(
            "it needs the port of the NameNode's web server, which is 9870 unless your cluster says otherwise"
        )
    given = {**WebHDFS._get_kwargs_from_urls(f"webhdfs://{split.netloc}/"), **options}
    if not any(given.get(name) for name in _WHO):
        given["user"] = _hadoop_user()
    return FsspecFiles(WebHdfs(**given), f"webhdfs://{split.netloc}", renames=True)


def _hadoop_user() -> str:
    """Who Hadoop's own clients say they are; without a name the NameNode takes everybody for 'dr.who', who may not write."""
    return os.environ.get("HADOOP_USER_NAME") or getpass.getuser()


class WebHdfs(WebHDFS):  # type: ignore[misc]
    """fsspec's WebHDFS with renames that replace or fail, and failures that are told as those of files."""

    def _call(self, *args: Any, **kwargs: Any) -> Any:
        try:
            return super()._call(*args, **kwargs)
        except (
            RuntimeError
        ) as error:  # safe mode, standby, names that HDFS does not take: what cleans up expects an OSError
            raise OSError(str(error)) from error

    def mv(self, path1: str, path2: str, **kwargs: Any) -> None:
        """fsspec's own answers nothing when nothing was renamed, as when the target is there."""
        answer = self._call("RENAME", method="put", path=path1, destination=path2, renameoptions="OVERWRITE")
        if answer.content and answer.json().get("boolean") is False:  # a gateway that does not know the option
            raise OSError(f"{path1} was not renamed to {path2}: it is gone, or the target is there")

    def _open(self, path: str, mode: str = "rb", block_size: int | None = None, **kwargs: Any) -> WebHdfsFile:
        return WebHdfsFile(
            self, path, mode=mode, block_size=block_size or self.blocksize, tempdir=self.tempdir, autocommit=True
        )


class WebHdfsFile(WebHDFile):  # type: ignore[misc]
    """A file that is read as it is or not at all."""

    def _fetch_range(self, start: int, end: int) -> bytes:
        """fsspec's own gives the text of a DataNode's error as if it were the file's content."""
        start, end = max(start, 0), min(self.size, end)
        if start >= end:
            return b""
        answer = self.fs._call("OPEN", path=self.path, offset=start, length=end - start, redirect=False)
        if "Location" in answer.headers:
            answer = self.fs.session.get(self.fs._apply_proxy(answer.headers["Location"]))
        data: bytes = answer.content
        if answer.status_code == 404:  # it was removed since it was opened
            raise FileNotFoundError(self.path)
        if not answer.ok or len(data) != end - start:
            told = data[:500].decode(errors="replace") if not answer.ok else f"{len(data)} bytes came"
            raise OSError(f"{self.path} cannot be read from byte {start} to {end}: {told}")
        return data
