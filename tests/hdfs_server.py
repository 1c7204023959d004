"""A real HDFS for tests, on loopback: a NameNode and a DataNode in one process, as Hadoop's own tests start them."""

from __future__ import annotations

import json
import uuid
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.parse import quote
from urllib.request import urlopen

from penstock.servers.jars import jars_of
from penstock.servers.java import check_java, java_command
from penstock.servers.server import Told, free_port
from penstock.servers.versions import chosen_versions
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
    """Started from jars that are kept as those of Kafka are. The port is that of the NameNode's own protocol."""

    name = "hdfs"

    def __init__(self) -> None:
        self.web_port = free_port()

    @property
    def version(self) -> str:
        return chosen_versions()["hadoop"]

    def prepare(self, folder: Path, port: int, told: Told) -> list[str]:
        check_java()
        logging, data = folder / "logging.properties", folder / "data"
        logging.write_text(_LOGGING)
        java = [java_command(), "-Xmx384m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]
        java += [f"-Dlog4j2.configurationFile={logging}", "-cp", jars_of("hdfs-server", told=told).class_path, _MAIN]
        ports = ["-nnport", str(port), "-httpport", str(self.web_port)]
        settings = ["-D", f"hdfs.minidfs.basedir={data}", "-D", "dfs.replication=1"]
        return [*java, "-datanodes", "1", *ports, *settings, *([] if data.exists() else ["-format"])]

    def is_ready(self, port: int, log: str) -> bool:
        return _STARTED in log


class Hdfs(TestServer):
    """An HDFS. Tests share it: each has a folder of its own. What is in it is asked for here, over plain HTTP."""

    def __init__(self) -> None:
        kind = HdfsServer()
        self._web = f"{self.host}:{kind.web_port}"
        super().__init__(kind)

    def new_folder(self, scheme: str) -> str:
        """A path that nobody has used, by the protocol of 'hdfs' or that of 'webhdfs'."""
        return f"{scheme}://{self.address if scheme == 'hdfs' else self._web}/{uuid.uuid4().hex[:12]}"

    def files(self, path: str) -> dict[str, int]:
        """All files below a path, hidden ones too, as any reader sees them: names below it, and the ids of the files."""
        found: dict[str, int] = {}
        for status in self._listed(path.split("/", 3)[3]):
            name = status["pathSuffix"]
            if status["type"] == "DIRECTORY":
                found |= {f"{name}/{below}": number for below, number in self.files(f"{path}/{name}").items()}
            else:
                found[name] = status["fileId"]
        return found

    def visible(self, path: str) -> dict[str, int]:
        """Those that readers take for finished."""
        hidden = (".", "_")
        return {n: i for n, i in self.files(path).items() if not any(p.startswith(hidden) for p in n.split("/"))}

    def lines(self, path: str) -> list[str]:
        """What is in the visible files, sorted."""
        return sorted(line for name in self.visible(path) for line in self.content(f"{path}/{name}").splitlines())

    def content(self, path: str) -> str:
        return self._asked("OPEN", path.split("/", 3)[3]).decode()

    def blocks(self) -> set[Path]:
        """Where the DataNode keeps the content of finished files."""
        return {file for file in self.folder.glob("data/**/finalized/**/blk_*") if file.is_file()}

    def _asked(self, what: str, path: str) -> bytes:
        with urlopen(f"http://{self._web}/webhdfs/v1/{quote(path)}?op={what}", timeout=30) as answer:
            data: bytes = answer.read()
            return data

    def _listed(self, folder: str) -> list[dict[str, Any]]:
        try:
            statuses: list[dict[str, Any]] = json.loads(self._asked("LISTSTATUS", folder))["FileStatuses"]["FileStatus"]
        except HTTPError as error:
            if error.code != 404:
                raise
            return []
        return statuses
