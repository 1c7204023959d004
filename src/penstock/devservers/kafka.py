"""A Kafka broker in KRaft mode on the loopback interface."""

from __future__ import annotations

import subprocess
import uuid
from base64 import urlsafe_b64encode
from collections.abc import Mapping
from pathlib import Path

from penstock.devservers.jars import get_jars
from penstock.devservers.java import check_java, java_command
from penstock.devservers.server import HOST, ProgressCallback, free_port
from penstock.devservers.versions import chosen_versions
from penstock.errors import ConfigError

_STARTED = "Kafka Server started"

# There is one broker, so internal topics have one replica, and consumer groups do not wait for more members.
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


# A killed broker can register again after its session has timed out. The default of nine seconds is long for tests.
_BRIEF_SETTINGS = {"broker.heartbeat.interval.ms": "500", "broker.session.timeout.ms": "4000"}


class KafkaServer:
    """The broker of `penstock dev up kafka`.

    `brief` is for servers that run for minutes, as in tests. They start faster but have less throughput.
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

    def prepare(self, folder: Path, port: int, on_progress: ProgressCallback) -> list[str]:
        check_java()
        class_path = get_jars("kafka-server", self._overrides, on_progress).class_path
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
        """Formats the storage folder of the broker."""
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise ConfigError(
                "SERVER_START",
                f"The storage of the server 'kafka' cannot be formatted: {(done.stderr or done.stdout).strip()}",
            )

    def is_ready(self, port: int, log: str) -> bool:
        return _STARTED in log


def _new_cluster() -> str:
    """A cluster id for Kafka: 16 bytes in URL-safe base 64 that do not begin with a dash.

    >>> len(_new_cluster())
    22
    """
    while (text := urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")).startswith("-"):
        pass
    return text
