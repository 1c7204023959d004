"""Sinks for tests of recovery; in a module of their own, since executors import them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from penstock.connectors import CollectSink, JsonLinesSink, Sink, SinkWriter, WriteTask


class FailsOnce(Sink):
    """Fails the first time that it is written to, after the slot has written its state."""

    marker: Path

    def writer(self, task: WriteTask) -> SinkWriter:
        if not self.marker.exists():
            self.marker.write_text("failed")
            raise OSError("the sink fails once")
        return super().writer(task)


class CollectFailsOnce(FailsOnce, CollectSink):
    """Collects, but for the first time."""

    def __init__(self, marker: Path) -> None:
        self.marker = marker


class LinesFailOnce(FailsOnce, JsonLinesSink):
    """Writes lines, but for the first time."""

    def __init__(self, folder: Path, marker: Path) -> None:
        super().__init__(folder)
        self.marker = marker


class CommitFailsOnce(CollectSink):
    """Fails when batch 2 is committed, once."""

    def __init__(self, marker: Path) -> None:
        self._marker = marker

    def commit(self, batch: int, prepared: list[Any]) -> list[Any]:
        if batch == 2 and not self._marker.exists():
            self._marker.write_text("failed")
            raise OSError("the commit fails once")
        return super().commit(batch, prepared)
