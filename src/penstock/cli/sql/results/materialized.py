"""The rows of a result after all changes so far."""

from __future__ import annotations

from collections.abc import Sequence


class MaterializedRows:
    """Applies changes to rows. An updated row stays where it was. If there are too many rows, the oldest are dropped.

    >>> rows = MaterializedRows(10)
    >>> for kind, row in [("+I", ["a", "1"]), ("+I", ["b", "1"]), ("-U", ["a", "1"]), ("+U", ["a", "2"])]:
    ...     rows.apply(kind, row)
    >>> rows.rows()
    [('a', '2'), ('b', '1')]
    """

    def __init__(self, max_rows: int) -> None:
        self._max_rows = max_rows
        self._rows: dict[int, tuple[str, ...] | None] = {}  # by number, in order; None: waits for +U
        self._places: dict[tuple[str, ...], list[int]] = {}
        self._next = 0
        self._updated: int | None = None  # the place of the row of the last -U
        self.dropped = 0

    def __len__(self) -> int:
        return len(self._rows) - (self._updated is not None)

    def apply(self, kind: str, row: Sequence[str]) -> None:
        """Applies a change."""
        texts = tuple(row)
        if kind == "+U" and self._updated is not None:
            self._put(self._updated, texts)
            self._updated = None
            return
        self._forget_update()
        if kind in ("+I", "+U"):
            self._put(self._next, texts)
            self._next += 1
            if len(self._rows) > self._max_rows:
                self._drop_oldest()
        else:
            self._remove(texts, keep_place=kind == "-U")

    def rows(self, last: int | None = None) -> list[tuple[str, ...]]:
        """Returns all rows, or the last ones."""
        found = [row for row in list(self._rows.values()) if row is not None]
        return found if last is None else found[-last:] if last else []

    def _put(self, place: int, row: tuple[str, ...]) -> None:
        self._rows[place] = row
        self._places.setdefault(row, []).append(place)

    def _remove(self, row: tuple[str, ...], keep_place: bool) -> None:
        places = self._places.get(row)
        if not places:
            return  # it was dropped
        place = places.pop()
        if not places:
            del self._places[row]
        if keep_place:
            self._rows[place] = None
            self._updated = place
        else:
            del self._rows[place]

    def _forget_update(self) -> None:
        if self._updated is not None:
            del self._rows[self._updated]
            self._updated = None

    def _drop_oldest(self) -> None:
        place, row = next(iter(self._rows.items()))
        del self._rows[place]
        assert row is not None
        places = self._places[row]
        places.remove(place)
        if not places:
            del self._places[row]
        self.dropped += 1
