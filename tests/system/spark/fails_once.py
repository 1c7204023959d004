"""Sinks for recovery tests. They are in a module of their own because executors import them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from penstock.connectors import CollectSink, JsonLinesSink, Sink, SinkWriter, WriteTask


class FailsOnce(Sink):
    """Fails when it is first written to, after the slots have written their state."""

    marker: Path

    def writer(self, task: WriteTask) -> SinkWriter:
        if not self.marker.exists():
            self.marker.write_text("failed")
            raise OSError("the sink fails once")
        return super().writer(task)


class CollectFailsOnce(FailsOnce, CollectSink):
    """Collects elements, and fails once."""

    def __init__(self, marker: Path) -> None:
        self.marker = marker


class LinesFailOnce(FailsOnce, JsonLinesSink):
    """Writes lines, and fails once."""

    def __init__(self, folder: Path, marker: Path) -> None:
        super().__init__(folder)
        self.marker = marker


class CommitFailsOnce(CollectSink):
    """Fails once, when batch 2 is committed."""

    def __init__(self, marker: Path) -> None:
        self._marker = marker

    def commit(self, batch: int, prepared: list[Any]) -> list[Any]:
        if batch == 2 and not self._marker.exists():
            self._marker.write_text("failed")
            raise OSError("the commit fails once")
        return super().commit(batch, prepared)


class TaskSink(CollectSink):
    """Collects the write tasks instead of the elements."""

    def writer(self, task: WriteTask) -> SinkWriter:
        return _TaskWriter(task)

    def commit(self, batch: int, prepared: list[Any]) -> list[Any]:
        return prepared


class _TaskWriter(SinkWriter):
    def __init__(self, task: WriteTask) -> None:
        self._task = task

    def write(self, values: list[Any], timestamps: Any, tags: Any) -> None:
        """Ignores the elements."""

    def prepare(self) -> WriteTask:
        return self._task
