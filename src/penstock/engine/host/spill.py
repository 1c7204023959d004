"""Spills elements that do not fit into memory: writes sorted runs to disk and merges them, some elements at a time."""

from __future__ import annotations

import pickle
import tempfile
from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from penstock.engine.wire.body import pack_body, unpack_body
from penstock.engine.wire.frames import pack_tags, unpack_tags
from penstock.errors import JobError
from penstock.runtime.loop.records import Column, Records, Tags, column


@dataclass(slots=True)
class _Run:
    """A sorted run: file offsets of its unread chunks, and the unread elements of the current chunk."""

    offsets: list[int]
    ranks: Column
    records: Records

    def sort_key(self, at: int) -> tuple[int, ...]:
        """The position of an element in the order of a batch loop."""
        records, tags = self.records, self.records.tags
        number = 0 if records.inputs is None else records.inputs[at]
        origin = (tags.phase[at], tags.origin[at], tags.position[at], tags.emitter[at], tags.count[at])
        return (int(self.ranks[at]), int(records.timestamps[at]), number, *map(int, origin))


class SpilledRecords:
    """Collects records in any order and returns them in the order of a batch loop."""

    chunk_size = 20_000  # elements that are read at once from each run

    def __init__(self, sort: Callable[[Records], Column], hash_of: Callable[[Any], int]) -> None:
        self._sort = sort
        self._hash_of = hash_of
        self._file = tempfile.TemporaryFile(prefix="penstock-spill-")  # noqa: SIM115 - closed by `close`
        self._runs: list[list[int]] = []
        self._keys: dict[int, Any] = {}

    def add(self, records: Records) -> None:
        """Writes a sorted run."""
        self._sort(records)
        ranks = column([self._hash_of(key) for key in records.keys or ()])
        offsets = []
        for start in range(0, len(records.values), self.chunk_size):
            at = slice(start, start + self.chunk_size)
            body = pack_body(None if records.keys is None else records.keys[at], records.values[at])
            inputs = None if records.inputs is None else records.inputs[at]
            tags = pack_tags(records.tags.take(at))
            offsets.append(self._file.tell())
            pickle.dump((ranks[at].tobytes(), records.timestamps[at].tobytes(), tags, inputs, body), self._file, 5)
        if offsets:
            self._runs.append(offsets)

    def read_sorted(self) -> Iterator[tuple[Records, bool]]:
        """All elements in order, part by part, and whether the last key of a part may continue in the next part."""
        runs = [self._read_chunk(offsets) for offsets in self._runs]
        while runs:
            unread = [run for run in runs if run.offsets]
            limit = min((run.sort_key(len(run.ranks) - 1) for run in unread), default=None)
            parts, remaining = [], []
            for run in runs:
                n = len(run.ranks)
                cut = n if limit is None else bisect_right(range(n), limit, key=run.sort_key)
                parts.append((run.ranks[:cut], _slice(run.records, slice(0, cut))))
                if cut < n:
                    remaining.append(_Run(run.offsets, run.ranks[cut:], _slice(run.records, slice(cut, n))))
                elif run.offsets:
                    remaining.append(self._read_chunk(run.offsets))
            runs = remaining
            self._check_hashes([(ranks, records.keys) for ranks, records in parts])
            yield _concatenate([records for _, records in parts]), bool(runs)

    def close(self) -> None:
        """Deletes the file."""
        self._file.close()

    def _check_hashes(self, parts: list[tuple[Column, list[Any] | None]]) -> None:
        """Raises if two keys have the same hash, because the runs are sorted by hash."""
        for ranks, keys in parts:
            for rank, key in zip(ranks.tolist(), keys or (), strict=True):
                if self._keys.setdefault(rank, key) != key:
                    raise JobError(
                        "KEYS_OF_ONE_HASH",
                        f"Keys {self._keys[rank]!r} and {key!r} have the same hash, and they have too many elements to sort them "
                        "in memory. Change one of the keys, or run the job in STREAMING mode.",
                    )
        last = max(self._keys)
        self._keys = {last: self._keys[last]}  # only the last key may continue

    def _read_chunk(self, offsets: list[int]) -> _Run:
        self._file.seek(offsets[0])
        ranks, timestamps, tags, inputs, body = pickle.load(self._file)
        keys, values = unpack_body(body)
        records = Records(values, keys, inputs, np.frombuffer(timestamps, np.int64), unpack_tags(tags))
        return _Run(offsets[1:], np.frombuffer(ranks, np.int64), records)


def _slice(records: Records, at: slice) -> Records:
    keys, inputs = records.keys, records.inputs
    return Records(
        records.values[at],
        None if keys is None else keys[at],
        None if inputs is None else inputs[at],
        records.timestamps[at],
        records.tags.take(at),
    )


def _concatenate(parts: list[Records]) -> Records:
    """Concatenates parts of several runs. A part without input numbers belongs to the first input."""
    values = [value for records in parts for value in records.values]
    keys = [key for records in parts for key in records.keys or ()]
    several = any(records.inputs is not None for records in parts)
    inputs = [i for records in parts for i in records.inputs or [0] * len(records.values)] if several else None
    stamps = np.concatenate([records.timestamps for records in parts])
    return Records(values, keys, inputs, stamps, Tags.concatenate([records.tags for records in parts]))
