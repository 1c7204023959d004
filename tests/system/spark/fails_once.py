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


class TellsTask(CollectSink):
    """Collects who wrote, not what."""

    def writer(self, task: WriteTask) -> SinkWriter:
        return _TellsTask(task)

    def commit(self, batch: int, prepared: list[Any]) -> list[Any]:
        return prepared


class _TellsTask(SinkWriter):
    def __init__(self, task: WriteTask) -> None:
        self._task = task

    def write(self, values: list[Any], timestamps: Any, tags: Any) -> None:
        """Only the task is of interest."""

    def prepare(self) -> WriteTask:
        return self._task
