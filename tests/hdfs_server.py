"""A real HDFS for tests on the loopback interface: a NameNode and a DataNode in one process."""

from __future__ import annotations

import json
import uuid
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.parse import quote
from urllib.request import urlopen

from penstock.devservers.jars import get_jars
from penstock.devservers.java import check_java, java_command
from penstock.devservers.server import ProgressCallback, free_port
from penstock.devservers.versions import chosen_versions
from tests.servers import TestServer

_MAIN = "org.apache.hadoop.test.MiniDFSClusterManager"
_STARTED = "Started MiniDFSCluster"
_LOGGING = f"""\
status=error
appender.out.type=Console
appender.out.name=out
appender.out.layout.type=PatternLayout
appender.out.layout.pattern=%d %p %m (%c{{1}})%n
rootLogger.level=error
rootLogger.appenderRef.out.ref=out
logger.started.name={_MAIN}
logger.started.level=info
"""


class HdfsServer:
    """The HDFS server kind. Its jars are cached like those of Kafka. The port is the RPC port of the NameNode."""

    name = "hdfs"

    def __init__(self) -> None:
        self.web_port = free_port()

    @property
    def version(self) -> str:
        return chosen_versions()["hadoop"]

    def prepare(self, folder: Path, port: int, on_progress: ProgressCallback) -> list[str]:
        check_java()
        logging, data = folder / "logging.properties", folder / "data"
        logging.write_text(_LOGGING)
        java = [java_command(), "-Xmx384m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]
        java += [
            f"-Dlog4j2.configurationFile={logging}",
            "-cp",
            get_jars("hdfs-server", on_file=on_progress).class_path,
            _MAIN,
        ]
        ports = ["-nnport", str(port), "-httpport", str(self.web_port)]
        settings = ["-D", f"hdfs.minidfs.basedir={data}", "-D", "dfs.replication=1"]
        return [*java, "-datanodes", "1", *ports, *settings, *([] if data.exists() else ["-format"])]

    def is_ready(self, port: int, log: str) -> bool:
        return _STARTED in log


class Hdfs(TestServer):
    """An HDFS that tests share. Each test uses its own folder. Its content is read here over plain HTTP."""

    def __init__(self) -> None:
        kind = HdfsServer()
        self._web = f"{self.host}:{kind.web_port}"
        super().__init__(kind)

    def new_folder(self, scheme: str) -> str:
        """A new path with the scheme 'hdfs' or 'webhdfs'."""
        return f"{scheme}://{self.address if scheme == 'hdfs' else self._web}/{uuid.uuid4().hex[:12]}"

    def files(self, path: str) -> dict[str, int]:
        """All files below a path, including hidden ones: relative names to file ids."""
        found: dict[str, int] = {}
        for status in self._list(path.split("/", 3)[3]):
            name = status["pathSuffix"]
            if status["type"] == "DIRECTORY":
                found |= {f"{name}/{child}": file_id for child, file_id in self.files(f"{path}/{name}").items()}
            else:
                found[name] = status["fileId"]
        return found

    def visible(self, path: str) -> dict[str, int]:
        """The files below a path that are not hidden."""
        hidden = (".", "_")
        return {n: i for n, i in self.files(path).items() if not any(p.startswith(hidden) for p in n.split("/"))}

    def lines(self, path: str) -> list[str]:
        """The lines of all visible files, sorted."""
        return sorted(line for name in self.visible(path) for line in self.content(f"{path}/{name}").splitlines())

    def content(self, path: str) -> str:
        return self._request("OPEN", path.split("/", 3)[3]).decode()

    def blocks(self) -> set[Path]:
        """The block files of the DataNode for finished files."""
        return {file for file in self.folder.glob("data/**/finalized/**/blk_*") if file.is_file()}

    def _request(self, operation: str, path: str) -> bytes:
        with urlopen(f"http://{self._web}/webhdfs/v1/{quote(path)}?op={operation}", timeout=180) as response:
            data: bytes = response.read()
            return data

    def _list(self, folder: str) -> list[dict[str, Any]]:
        try:
            statuses: list[dict[str, Any]] = json.loads(self._request("LISTSTATUS", folder))["FileStatuses"][
                "FileStatus"
            ]
        except HTTPError as error:
            if error.code != 404:
                raise
            return []
        return statuses
