"""Flink's Java helpers for tests, in Python."""

from __future__ import annotations

from typing import Any

from penstock import MapFunction, RuntimeContext
from penstock.time import WatermarkGenerator


class PartitionCustomTestMapFunction(MapFunction):
    """Fails when an element is not in the subtask that its second field names."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.subtask = runtime_context.get_index_of_this_subtask()
        self.subtasks = runtime_context.get_number_of_parallel_subtasks()

    def map(self, value: Any) -> Any:
        expected = value[1] % self.subtasks
        if expected != self.subtask:
            raise RuntimeError(
                f"the data: {value} was sent to the wrong partition[{self.subtask}], expected is [{expected}]"
            )
        return value


class PerElementWatermarkGenerator(WatermarkGenerator):
    """A watermark at every element's own time."""

    def __init__(self) -> None:
        self.most = -(2**63)

    def on_event(self, event: Any, event_timestamp: int, output: Any) -> None:
        if event_timestamp > self.most:
            self.most = event_timestamp
            output.emit_watermark(event_timestamp)

    def on_periodic_emit(self, output: Any) -> None:
        """Nothing: every element has its own."""
