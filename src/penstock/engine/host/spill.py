"""Elements of one operator and share that are too many to be held: sorted runs on disk, given back in order, some at a time."""

from __future__ import annotations

import pickle
import tempfile
from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from penstock.engine.body import pack_body, unpack_body
from penstock.engine.frames import pack_tags, unpack_tags
from penstock.errors import JobError
from penstock.runtime.records import Column, Records, Tags, column


@dataclass(slots=True)
class _Run:
    """One sorted run: where its pieces stand in the file, and what of the piece at hand is left."""

    places: list[int]
    ranks: Column
    records: Records

    def place(self, at: int) -> tuple[int, ...]:
        """Where an element stands in the order of a batch loop."""
        records, tags = self.records, self.records.tags
        number = 0 if records.inputs is None else records.inputs[at]
        origin = (tags.phase[at], tags.origin[at], tags.position[at], tags.emitter[at], tags.count[at])
        return (int(self.ranks[at]), int(records.timestamps[at]), number, *map(int, origin))


class SpilledRecords:
    """Takes records in any order, as much as fits at a time; gives all of them back in the order of a batch loop."""

    piece = 20_000  # elements that are read at once from each run

    def __init__(self, arrange: Callable[[Records], Column], hash_of: Callable[[Any], int]) -> None:
        self._arrange = arrange
        self._hash_of = hash_of
        self._file = tempfile.TemporaryFile(prefix="penstock-spill-")  # noqa: SIM115 - closed by `close`
        self._runs: list[list[int]] = []
        self._keys: dict[int, Any] = {}

    def add(self, records: Records) -> None:
        """Writes one more sorted run."""
        self._arrange(records)
        ranks = column([self._hash_of(key) for key in records.keys or ()])
        places = []
        for start in range(0, len(records.values), self.piece):
            at = slice(start, start + self.piece)
            body = pack_body(None if records.keys is None else records.keys[at], records.values[at])
            inputs = None if records.inputs is None else records.inputs[at]
            tags = pack_tags(records.tags.take(at))
            places.append(self._file.tell())
            pickle.dump((ranks[at].tobytes(), records.timestamps[at].tobytes(), tags, inputs, body), self._file, 5)
        if places:
            self._runs.append(places)

    def blocks(self) -> Iterator[tuple[Records, bool]]:
        """All elements in order, a part at a time, and whether the last key of a part may go on in the next one."""
        runs = [self._opened(places) for places in self._runs]
        while runs:
            unread = [run for run in runs if run.places]
            until = min((run.place(len(run.ranks) - 1) for run in unread), default=None)
            taken, left = [], []
            for run in runs:
                n = len(run.ranks)
                cut = n if until is None else bisect_right(range(n), until, key=run.place)
                taken.append((run.ranks[:cut], _part(run.records, slice(0, cut))))
                if cut < n:
                    left.append(_Run(run.places, run.ranks[cut:], _part(run.records, slice(cut, n))))
                elif run.places:
                    left.append(self._opened(run.places))
            runs = left
            self._check([(ranks, records.keys) for ranks, records in taken])
            yield _joined([records for _, records in taken]), bool(runs)

    def close(self) -> None:
        """Gives the file back."""
        self._file.close()

    def _check(self, taken: list[tuple[Column, list[Any] | None]]) -> None:
        """Keys are told apart by their hashes alone."""
        for ranks, keys in taken:
            for rank, key in zip(ranks.tolist(), keys or (), strict=True):
                if self._keys.setdefault(rank, key) != key:
                    raise JobError(
                        "KEYS_OF_ONE_HASH",
                        f"Keys {self._keys[rank]!r} and {key!r} have the same hash, and there are too many elements of them to be "
                        "sorted in memory. Change one of the keys, or run the job in STREAMING mode.",
                    )
        last = max(self._keys)
        self._keys = {last: self._keys[last]}  # only the last one may go on

    def _opened(self, places: list[int]) -> _Run:
        self._file.seek(places[0])
        ranks, timestamps, tags, inputs, body = pickle.load(self._file)
        keys, values = unpack_body(body)
        records = Records(values, keys, inputs, np.frombuffer(timestamps, np.int64), unpack_tags(tags))
        return _Run(places[1:], np.frombuffer(ranks, np.int64), records)


def _part(records: Records, at: slice) -> Records:
    keys, inputs = records.keys, records.inputs
    return Records(
        records.values[at],
        None if keys is None else keys[at],
        None if inputs is None else inputs[at],
        records.timestamps[at],
        records.tags.take(at),
    )


def _joined(parts: list[Records]) -> Records:
    """Parts of several runs as one; some may be of one input alone."""
    values = [value for records in parts for value in records.values]
    keys = [key for records in parts for key in records.keys or ()]
    several = any(records.inputs is not None for records in parts)
    inputs = [i for records in parts for i in records.inputs or [0] * len(records.values)] if several else None
    stamps = np.concatenate([records.timestamps for records in parts])
    return Records(values, keys, inputs, stamps, Tags.concatenate([records.tags for records in parts]))
