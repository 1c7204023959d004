"""Simple sinks: JSON lines files, standard output, the user's program, a callable, and a sink that discards everything."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from penstock.connectors.encoder import Encoder
from penstock.connectors.file.sink.bucket_assigner import BucketAssigner
from penstock.connectors.file.sink.rolling_policy import RollingPolicy
from penstock.connectors.file.sink.sink import FileSink
from penstock.connectors.sink import Sink, SinkWriter, WriteTask
from penstock.runtime.loop.records import TAG_NAMES, Tags
from penstock.types import TypeInformation
from penstock.types.flink_text import print_formatter


class JsonLinesSink(FileSink):
    """Writes JSON lines to files in a folder, exactly once. The files of a batch become visible when it is committed.

    Files are named `part-<batch>-<partition>-<sink>.jsonl`. Unfinished files are in a folder whose name starts with a dot.
    """

    def __init__(self, folder: str | Path, *, storage_options: Mapping[str, Any] | None = None) -> None:
        super().__init__(
            folder,
            Encoder.json_lines(),
            rolling=RollingPolicy.on_checkpoint_rolling_policy(),
            buckets=BucketAssigner.base_path_bucket_assigner(),
            storage_options=storage_options,
        )

    def part_name(self, batch: int, partition: int, number: int) -> str:
        """Returns the file name. It starts with the batch, so that files sort by batch."""
        return f"part-{batch:09d}-{partition:05d}-{self.name_in_files}.jsonl"


class CollectSink(Sink):
    """Passes elements to the user's program, each batch in the order of time-rules 1.6."""

    wants_tags = True

    def writer(self, task: WriteTask) -> SinkWriter:
        return _CollectWriter()

    def commit(self, batch: int, prepared: list[Any]) -> list[Any]:
        return sort_by_tags([element for part in prepared for element in part])


def sort_by_tags(elements: list[tuple[tuple[int, ...], Any]]) -> list[Any]:
    """Returns elements sorted by their tags."""
    return [value for _, value in sorted(elements, key=lambda element: element[0])]


class PrintSink(CollectSink):
    """Prints elements to the standard output of the program, as `str` or, if their type is declared, in Flink's format.

    >>> from penstock.types import Types
    >>> pair = Types.TUPLE([Types.STRING(), Types.INT()])
    >>> PrintSink().line(("a", 1)), PrintSink(kind=pair).line(("a", 1))
    ("('a', 1)", '(a,1)')
    """

    def __init__(self, prefix: str = "", kind: TypeInformation | None = None, *, to_stderr: bool = False) -> None:
        self.prefix = prefix
        self.to_stderr = to_stderr  # the standard error instead of the standard output
        self._kind = kind

    def line(self, element: Any) -> str:
        """Returns the printed line of an element."""
        text = str(element) if self._kind is None else print_formatter(self._kind)(element)
        return f"{self.prefix}{text}"


class _CollectWriter(SinkWriter):
    def __init__(self) -> None:
        self._elements: list[tuple[tuple[int, ...], Any]] = []

    def write(self, values: list[Any], timestamps: Any, tags: Tags | None) -> None:
        if tags is None:
            self._elements += [((), v) for v in values]
            return
        rows = np.stack([getattr(tags, name) for name in TAG_NAMES], axis=1).tolist()
        self._elements += [(tuple(row), value) for row, value in zip(rows, values, strict=True)]

    def prepare(self) -> Any:
        return self._elements or None


class CallableSink(Sink):
    """Calls a function with each element, in tasks. Delivery is at-least-once, because a batch may run again."""

    def __init__(self, function: Callable[[Any], Any]) -> None:
        self._function = function

    def in_chain(self) -> CallableSink:
        """Returns a sink that calls the function within the chain, so that elements on which it raises become dead letters."""
        sink = CallableSink(self._function)
        sink.called_in_chain, sink.wants_values = self._function, False
        return sink

    def writer(self, task: WriteTask) -> SinkWriter:
        return _CallableWriter(self._function)


class _CallableWriter(SinkWriter):
    def __init__(self, function: Callable[[Any], Any]) -> None:
        self._function = function

    def write(self, values: list[Any], timestamps: Any, tags: Tags | None) -> None:
        remaining = iter(values)
        try:
            for value in remaining:
                self._function(value)
        except Exception:
            self.failed_on = (values[len(values) - operator.length_hint(remaining) - 1],)
            raise


class DiscardingSink(Sink):
    """Discards all elements."""

    wants_values = False

    def writer(self, task: WriteTask) -> SinkWriter:
        return _DiscardingWriter()


class _DiscardingWriter(SinkWriter):
    def write(self, values: list[Any], timestamps: Any, tags: Tags | None) -> None:
        """Does nothing."""
