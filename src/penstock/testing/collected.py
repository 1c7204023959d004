"""Collects the elements of a stream for a test, batch by batch."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from penstock.connectors.scripted import At
from penstock.connectors.sink import Sink, SinkWriter, WriteTask
from penstock.runtime.loop.records import TAG_NAMES, Tags


class Collected(list[Any]):
    """A list of all elements of a stream so far, which also has them by batch and with timestamps.

    Within a batch, elements are in the defined output order (time-rules 1.6).

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
        """Adds the elements of a batch. The harness calls it after each batch."""
        new = list(records)
        self.records += new
        self.batches.append([r.value for r in new])
        self += self.batches[-1]

    def take(self) -> list[Any]:
        """Returns the elements added since the last call."""
        new = self[self._taken :]
        self._taken = len(self)
        return new


class HarnessSink(Sink):
    """A sink that returns elements, their timestamps and their order to the harness."""

    wants_tags = True
    wants_timestamps = True
    stands_in = True  # for a sink of the pipeline

    def writer(self, task: WriteTask) -> SinkWriter:
        return _Writer()

    def commit(self, batch: int, prepared: list[Any]) -> list[Any]:
        rows = sorted((row for part in prepared for row in part), key=lambda row: row[0])
        return [At(value, timestamp) for _, value, timestamp in rows]


class _Writer(SinkWriter):
    def __init__(self) -> None:
        self._rows: list[tuple[list[int], Any, int]] = []

    def write(self, values: list[Any], timestamps: Any, tags: Tags | None) -> None:
        assert tags is not None
        rows = np.stack([getattr(tags, name) for name in TAG_NAMES], axis=1).tolist()
        self._rows += zip(rows, values, timestamps.tolist(), strict=True)

    def prepare(self) -> Any:
        return self._rows
