"""The rows that an expression is evaluated on."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TypeAlias

import msgspec
import pyarrow as pa

Value: TypeAlias = pa.Array | pa.Scalar  # a scalar is the same value in all rows


class Session(msgspec.Struct, frozen=True):
    """What expressions need to know of the session: its time zone, the database, and a clock in milliseconds.

    `started` fixes CURRENT_TIMESTAMP for a bounded query; a streaming query reads the clock.
    """

    zone: str = "UTC"
    database: str = "default_database"
    started: int | None = None
    clock: Callable[[], int] = lambda: time.time_ns() // 1_000_000

    def now(self) -> int:
        """Returns the current time in milliseconds."""
        return self.clock() if self.started is None else self.started


class Frame:
    """Columns of equal length, and the results of the expressions that were evaluated on them.

    whole, rows: the frame that this one has some rows of, and their positions. Results of that frame need not be computed again.
    """

    def __init__(
        self,
        columns: Sequence[pa.Array],
        length: int,
        session: Session,
        whole: Frame | None = None,
        rows: pa.Array | None = None,
    ) -> None:
        self.columns = columns
        self.length = length
        self.session = session
        self._results: dict[int, Value] = {}
        self._whole = whole
        self._rows = rows
        self._now: int | None = None

    def now(self) -> int:
        """Returns the current time in milliseconds, as it was when it was first asked for."""
        if self._whole is not None:
            return self._whole.now()
        if self._now is None:
            self._now = self.session.now()
        return self._now

    def result(self, number: int, evaluate: Callable[[Frame], Value]) -> Value:
        """Returns the result of an expression that has a number. It is computed once."""
        found = self._known(number)
        if found is None:
            found = self._results[number] = evaluate(self)
        return found

    def _known(self, number: int) -> Value | None:
        found = self._results.get(number)
        if found is not None or self._whole is None:
            return found
        whole = self._whole._known(number)
        if whole is None:
            return None
        found = self._results[number] = whole if isinstance(whole, pa.Scalar) else whole.take(self._rows)
        return found

    def select(self, rows: pa.Array, used: set[int]) -> Frame:
        """Returns the frame of some rows, by position. Only the columns in `used` are there."""
        columns = [c.take(rows) if i in used else c for i, c in enumerate(self.columns)]
        return Frame(columns, len(rows), self.session, self, rows)

    def filled(self, value: Value) -> pa.Array:
        """Returns a value as a column of the frame's length."""
        if isinstance(value, pa.ChunkedArray):
            return value.combine_chunks()
        if isinstance(value, pa.Scalar):
            return pa.repeat(value, self.length) if value.is_valid else pa.nulls(self.length, value.type)
        return value
