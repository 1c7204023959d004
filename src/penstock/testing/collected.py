"""What a test looks at: the elements of one stream, batch by batch."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from penstock.connectors.scripted import At
from penstock.connectors.sink import Sink, SinkWriter, WriteTask
from penstock.runtime.records import TAG_NAMES, Tags


class Collected(list[Any]):
    """All elements of a stream so far, in the order of time.md 1.6; a list that also knows batches and timestamps.

    >>> out = Collected()
    >>> out.append_batch([At("a", 5)]); out.append_batch([At("b", 7)])
    >>> out, out.take(), out.take()
    (['a', 'b'], ['a', 'b'], [])
    """

    def __init__(self) -> None:
        super().__init__()
        self.batches: list[list[Any]] = []  # the elements of each batch
        self.records: list[At] = []  # the elements with their timestamps
        self._taken = 0

    def append_batch(self, records: Iterable[At]) -> None:
        """Called by the harness after each batch."""
        new = list(records)
        self.records += new
        self.batches.append([r.value for r in new])
        self += self.batches[-1]

    def take(self) -> list[Any]:
        """The elements that came since the last call."""
        new = self[self._taken :]
        self._taken = len(self)
        return new


class HarnessSink(Sink):
    """Brings elements, their timestamps and their order to the harness."""

    wants_tags = True
    wants_timestamps = True

    def writer(self, task: WriteTask) -> SinkWriter:
        return _Writer()

    def commit(self, batch: int, prepared: list[Any]) -> list[Any]:
        kept = sorted((row for part in prepared for row in part), key=lambda row: row[0])
        return [At(value, timestamp) for _, value, timestamp in kept]


class _Writer(SinkWriter):
    def __init__(self) -> None:
        self._kept: list[tuple[list[int], Any, int]] = []

    def write(self, values: list[Any], timestamps: Any, tags: Tags | None) -> None:
        assert tags is not None
        rows = np.stack([getattr(tags, name) for name in TAG_NAMES], axis=1).tolist()
        self._kept += zip(rows, values, timestamps.tolist(), strict=True)

    def prepare(self) -> Any:
        return self._kept
