"""Sinks of this package's own: JSON-lines files, the screen, the program itself, a callable, nothing."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from penstock.connectors.encoder import Encoder
from penstock.connectors.file.bucket_assigner import BucketAssigner
from penstock.connectors.file.rolling_policy import RollingPolicy
from penstock.connectors.file.sink import FileSink
from penstock.connectors.sink import Sink, SinkWriter, WriteTask
from penstock.runtime.records import TAG_NAMES, Tags
from penstock.types import TypeInformation
from penstock.types.flink_text import printed_text


class JsonLinesSink(FileSink):
    """JSON lines in files of a folder, exactly once: a batch's files appear when it is committed.

    Readers see `part-<batch>-<partition>-<sink>.jsonl`; what is being written is in a folder that begins with a dot.
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
        """The batch comes first, so that the files are in its order."""
        return f"part-{batch:09d}-{partition:05d}-{self.name_in_files}.jsonl"


class CollectSink(Sink):
    """Brings elements to the program, each batch in the order of time.md 1.6."""

    wants_tags = True

    def writer(self, task: WriteTask) -> SinkWriter:
        return _CollectWriter()

    def commit(self, batch: int, prepared: list[Any]) -> list[Any]:
        return in_order([element for part in prepared for element in part])


def in_order(elements: list[tuple[tuple[int, ...], Any]]) -> list[Any]:
    """Elements with their tags, sorted by them."""
    return [value for _, value in sorted(elements, key=lambda element: element[0])]


class PrintSink(CollectSink):
    """Prints elements to the program's standard output: as Python does, or those of a type as Flink does.

    >>> from penstock.types import Types
    >>> pair = Types.TUPLE([Types.STRING(), Types.INT()])
    >>> PrintSink().line(("a", 1)), PrintSink(kind=pair).line(("a", 1))
    ("('a', 1)", '(a,1)')
    """

    def __init__(self, prefix: str = "", kind: TypeInformation | None = None) -> None:
        self.prefix = prefix
        self._kind = kind

    def line(self, element: Any) -> str:
        """What is printed of an element."""
        text = str(element) if self._kind is None else printed_text(self._kind)(element)
        return f"{self.prefix}{text}"


class _CollectWriter(SinkWriter):
    def __init__(self) -> None:
        self._kept: list[tuple[tuple[int, ...], Any]] = []

    def write(self, values: list[Any], timestamps: Any, tags: Tags | None) -> None:
        if tags is None:
            self._kept += [((), v) for v in values]
            return
        rows = np.stack([getattr(tags, name) for name in TAG_NAMES], axis=1).tolist()
        self._kept += [(tuple(row), value) for row, value in zip(rows, values, strict=True)]

    def prepare(self) -> Any:
        return self._kept or None


class CallableSink(Sink):
    """Calls a function with each element where it was processed. At least once: a batch that runs again calls again."""

    def __init__(self, function: Callable[[Any], Any]) -> None:
        self._function = function

    def in_chain(self) -> CallableSink:
        """The same, called before the batch is written, so that elements on which it raises can be put aside."""
        sink = CallableSink(self._function)
        sink.called_in_chain, sink.wants_values = self._function, False
        return sink

    def writer(self, task: WriteTask) -> SinkWriter:
        return _CallableWriter(self._function)


class _CallableWriter(SinkWriter):
    def __init__(self, function: Callable[[Any], Any]) -> None:
        self._function = function

    def write(self, values: list[Any], timestamps: Any, tags: Tags | None) -> None:
        rest = iter(values)
        try:
            for value in rest:
                self._function(value)
        except Exception:
            self.failed_on = (values[len(values) - operator.length_hint(rest) - 1],)
            raise


class DiscardingSink(Sink):
    """Takes everything and keeps nothing."""

    wants_values = False

    def writer(self, task: WriteTask) -> SinkWriter:
        return _DiscardingWriter()


class _DiscardingWriter(SinkWriter):
    def write(self, values: list[Any], timestamps: Any, tags: Tags | None) -> None:
        """Nothing is kept."""
