"""What changes in the output of a Top-N when the rows of a key change."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from penstock.runtime.relational.changes import DELETE, INSERT, UPDATE_AFTER, UPDATE_BEFORE
from penstock.runtime.relational.state.emitted_rows import EmittedRows, Row

SEQUENCE = 8  # the last bytes of a sub key: the number of the row among those of its key


class RankedRow(NamedTuple):
    """A row at its place: the sub key orders the rows of a key, and identifies them."""

    sub_key: bytes
    row: Row  # bytes from state, or the position in the batch if the row is new


def with_ranks(rows: Iterable[RankedRow], function: str, end: int) -> Iterator[tuple[RankedRow, int]]:
    """Yields rows in order, each with its rank, as long as the rank is not above `end`."""
    rank, last = 0, None
    for number, row in enumerate(rows, 1):
        tie = row.sub_key[:-SEQUENCE]
        if function == "ROW_NUMBER":
            rank = number
        elif tie != last:
            rank = number if function == "RANK" else rank + 1
        last = tie
        if rank > end:
            return
        yield row, rank


class RankChanges:
    """Writes the changes of a key to the output.

    With one changed row they are Flink's: shifted ranks are pairs of -U and +U, without ranks the row that leaves is deleted and
    then the new one is inserted, and a Top-1 that cannot lose its row is updated.
    """

    def __init__(
        self,
        emitted: EmittedRows,
        ranks: list[int],
        *,
        start: int,
        numbered: bool,
        updates_top: bool,
        update_before: bool,
    ) -> None:
        self._emitted = emitted
        self._ranks = ranks
        self._start = start
        self._numbered = numbered
        self._updates_top = updates_top
        self._update_before = update_before
        self._cause = 0

    def row_numbers(
        self, old: list[RankedRow], new: list[RankedRow], replaced: dict[int, bytes], cause: int, is_top_1: bool
    ) -> None:
        """Emits the changes from one list of rows to another; their ranks are their places.

        replaced: by position of a new row, the sub key of the stored row with the same upsert key.
        """
        self._cause = cause
        if self._numbered or (is_top_1 and self._updates_top):
            self._shift(old, new, replaced)
        else:
            self._exchange(old, new, replaced)

    def _shift(self, old: list[RankedRow], new: list[RankedRow], replaced: dict[int, bytes]) -> None:
        before = len(old)
        places = {row.sub_key: place for place, row in enumerate(old)} if replaced else {}
        retracted: set[int] = set()
        for place in range(max(before, len(new))):
            rank = place + 1
            if place >= len(new):
                self._add(DELETE, old[place].row, rank)
                continue
            row = new[place]
            if place >= before:
                self._add(INSERT, row.row, rank)
                continue
            if row == old[place]:
                continue
            if place not in retracted:
                self._add(UPDATE_BEFORE, old[place].row, rank)
            if replaced and isinstance(row.row, int):  # the old row with the same key leaves before the new one comes
                left = places.get(replaced.get(row.row, b""), -1)
                if left > place:
                    retracted.add(left)
                    self._add(UPDATE_BEFORE, old[left].row, left + 1)
            self._add(UPDATE_AFTER, row.row, rank)

    def _exchange(self, old: list[RankedRow], new: list[RankedRow], replaced: dict[int, bytes]) -> None:
        kept, known = set(new), {row.sub_key: row for row in old}
        updated: list[tuple[RankedRow, RankedRow]] = []
        for row in new if replaced else ():
            before = known.get(replaced.get(row.row, b"")) if isinstance(row.row, int) else None
            if before is not None:
                updated.append((before, row))
        done_old, done_new = {a for a, _ in updated}, {b for _, b in updated}
        for row in old:
            if row not in kept and row not in done_old:
                self._add(DELETE, row.row, 0)
        for before, row in updated:
            self._add(UPDATE_BEFORE, before.row, 0)
            self._add(UPDATE_AFTER, row.row, 0)
        stored = set(old)
        for row in new:
            if row not in stored and row not in done_new:
                self._add(INSERT, row.row, 0)

    def ranks(self, old: list[tuple[RankedRow, int]], new: list[tuple[RankedRow, int]], cause: int) -> None:
        """Emits the changes between rows with ranks that several rows can share."""
        self._cause = cause
        before = {row.sub_key: (row, rank) for row, rank in old if rank >= self._start}
        after = {row.sub_key: (row, rank) for row, rank in new if rank >= self._start}
        for sub_key, (row, rank) in before.items():
            if sub_key not in after:
                self._add(DELETE, row.row, rank)
        for sub_key, (row, rank) in after.items():
            known = before.get(sub_key)
            if known is None:
                self._add(INSERT, row.row, rank)
            elif known[0] != row or (known[1] != rank and self._numbered):
                self._add(UPDATE_BEFORE, known[0].row, known[1])
                self._add(UPDATE_AFTER, row.row, rank)

    def _add(self, kind: int, row: Row, rank: int) -> None:
        if rank and rank < self._start:
            return
        if kind == UPDATE_BEFORE and not self._update_before:
            return
        self._emitted.add(kind, row, self._cause)
        self._ranks.append(rank)
