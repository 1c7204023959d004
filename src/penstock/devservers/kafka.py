"""A Kafka broker that is its own controller (KRaft), on loopback."""

from __future__ import annotations

import subprocess
import uuid
from base64 import urlsafe_b64encode
from collections.abc import Mapping
from pathlib import Path

from penstock.errors import ConfigError
from penstock.servers.jars import jars_of
from penstock.servers.java import check_java, java_command
from penstock.servers.server import HOST, Told, free_port
from penstock.servers.versions import chosen_versions

_STARTED = "Kafka Server started"

# One machine, one broker: internal topics have one copy, and groups do not wait for members that may come.
_SETTINGS = """\
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@{host}:{controller}
listeners=PLAINTEXT://{host}:{port},CONTROLLER://{host}:{controller}
advertised.listeners=PLAINTEXT://{host}:{port}
controller.listener.names=CONTROLLER
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT
log.dirs={data}
default.replication.factor=1
offsets.topic.replication.factor=1
offsets.topic.num.partitions=4
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
transaction.state.log.num.partitions=4
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
group.initial.rebalance.delay.ms=0
log.cleaner.dedupe.buffer.size=4194304
"""

_LOGGING = """\
status=error
appender.out.type=Console
appender.out.name=out
appender.out.layout.type=PatternLayout
appender.out.layout.pattern=%d %p %m (%c{1})%n
rootLogger.level=warn
rootLogger.appenderRef.out.ref=out
logger.server.name=kafka.server.KafkaRaftServer
logger.server.level=info
"""


# A broker that was killed is let in again once its last session has ended: nine seconds, if nothing else is said.
_BRIEF_SETTINGS = {"broker.heartbeat.interval.ms": "500", "broker.session.timeout.ms": "4000"}


class KafkaServer:
    """The broker of `penstock dev up kafka`.

    `brief` is for servers that live for minutes, such as those of tests: it starts faster and serves slower.
    """

    name = "kafka"

    def __init__(
        self,
        overrides: Mapping[str, str] | None = None,
        heap: str = "512m",
        settings: Mapping[str, str] | None = None,
        brief: bool = False,
    ) -> None:
        self._overrides = overrides
        self._heap = heap
        self._settings = {**(_BRIEF_SETTINGS if brief else {}), **(settings or {})}
        self._brief = brief

    @property
    def version(self) -> str:
        return chosen_versions(self._overrides)["kafka"]

    def prepare(self, folder: Path, port: int, told: Told) -> list[str]:
        check_java()
        class_path = jars_of("kafka-server", self._overrides, told).class_path
        data = folder / "data"
        text = _SETTINGS.format(host=HOST, port=port, controller=free_port(), data=data)
        settings = folder / "server.properties"
        settings.write_text(text + "".join(f"{key}={value}\n" for key, value in self._settings.items()))
        logging = folder / "logging.properties"
        logging.write_text(_LOGGING)
        java = [java_command(), f"-Xmx{self._heap}", "-XX:+UseSerialGC", f"-Dlog4j2.configurationFile={logging}"]
        java += ["-XX:TieredStopAtLevel=1"] if self._brief else []
        java += ["-cp", class_path]
        if not (data / "meta.properties").exists():
            self._format([*java, "kafka.tools.StorageTool", "format", "-t", _new_cluster(), "-c", str(settings)])
        return [*java, "kafka.Kafka", str(settings)]

    @staticmethod
    def _format(command: list[str]) -> None:
        """An empty folder becomes one of a broker."""
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise ConfigError(
                "SERVER_START",
                f"The folder of the server 'kafka' cannot be made: {(done.stderr or done.stdout).strip()}",
            )

    def is_ready(self, port: int, log: str) -> bool:
        return _STARTED in log


def _new_cluster() -> str:
    """An id as Kafka wants it: 16 bytes in URL-safe base 64, which does not begin with a dash.

    >>> len(_new_cluster())
    22
    """
    while (text := urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")).startswith("-"):
        pass
    return text
