"""A sink for tests of recovery; in a module of its own, since executors import it."""

from __future__ import annotations

from pathlib import Path

from penstock.connectors import CollectSink, SinkWriter, WriteTask


class FailsOnce(CollectSink):
    """Fails the first time that it is written to, after the slot has written its state."""

    def __init__(self, marker: Path) -> None:
        self._marker = marker

    def writer(self, task: WriteTask) -> SinkWriter:
        if not self._marker.exists():
            self._marker.write_text("failed")
            raise OSError("the sink fails once")
        return super().writer(task)
