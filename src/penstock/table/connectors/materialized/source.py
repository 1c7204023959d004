"""Reads a result as it is when the query starts."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from penstock.atomic_file import write_atomic
from penstock.connectors.checkpoint_file import read_checkpoint_file
from penstock.connectors.source import Chunk, Offset, Source, even_ranges
from penstock.table.connectors.materialized.merging import BUCKETS, present
from penstock.table.connectors.materialized.result import Manifest, Result

_SNAPSHOT = "snapshot.json"


class ResultSource(Source):
    """Reads one version of a result: that of the last batch that was committed before the query started.

    The elements are record batches, one per bucket, and a position is the number of a bucket.
    """

    bounded = True

    def __init__(self, result: Result, names: Sequence[str]) -> None:
        self._result = result
        self._names = tuple(names)
        self._file = ""
        self._snapshot: Manifest | None = None

    def attach(self, folder: str) -> None:
        """Chooses the version once, so that a job that is resumed reads the rest of the same version."""
        self._file = os.path.join(folder, _SNAPSHOT)
        stored = read_checkpoint_file(self._file)
        if stored is None:
            self._store(self._result.manifest())
        else:
            self._snapshot = msgspec.json.decode(stored, type=Manifest)

    def _store(self, snapshot: Manifest) -> None:
        self._snapshot = msgspec.structs.replace(snapshot, replaced=[])
        write_atomic(self._file, msgspec.json.encode(self._snapshot), durable=True)

    def initial(self) -> Offset:
        return {"bucket": 0}

    def latest(self, start: Offset) -> Offset:
        return start if "0" in self.paused else {"bucket": BUCKETS}

    def plan(self, start: Offset, end: Offset, parallelism: int) -> list[Any]:
        assert self._snapshot is not None
        files = [msgspec.to_builtins(file) for file in self._snapshot.files]
        return [(files, *r) for r in even_ranges(start["bucket"], end["bucket"], parallelism, least=1)]

    def read(self, task: Any) -> Iterator[Chunk]:
        files, first, end = task
        found = msgspec.convert({"changes": files}, Manifest)
        for bucket in range(first, end):
            rows = self._result.read(found.files, bucket, self._names)
            rows = present(rows, self._result.key)
            yield Chunk("0", bucket, [rows] if rows.num_rows else [])

    def ended(self, offset: Offset) -> list[str]:
        return ["0"] if offset["bucket"] >= BUCKETS else []

    def waiting(self, end: Offset) -> list[str]:
        return ["0"] if end["bucket"] < BUCKETS else []

    def position(self, offset: Offset) -> Offset:
        return {**offset, "snapshot": msgspec.to_builtins(self._snapshot)}

    def restored(self, position: Offset) -> Offset:
        self._store(msgspec.convert(position["snapshot"], Manifest))
        return {"bucket": position["bucket"]}
