"""Filters rows and computes columns."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.runtime.relational.changes import Changes
from penstock.runtime.relational.column_step import Rows, StepContext, StepResult
from penstock.runtime.relational.expressions.compiler import Compiler, Condition, Projection
from penstock.runtime.relational.expressions.frame import Frame, Session
from penstock.runtime.relational.expressions.tree import Column, Expression, columns_of
from penstock.types.logical.arrow import arrow_type
from penstock.types.logical.kinds import LogicalType

_NO_WATERMARK = -(2**63)


class CalcStep:
    """Keeps the rows that fulfil a condition, then computes the output columns from them.

    An expression that is just a column costs nothing. `started` fixes the time of CURRENT_TIMESTAMP in bounded queries.
    """

    def __init__(
        self,
        projections: Sequence[Expression],
        condition: Expression | None = None,
        zone: str = "UTC",
        database: str = "default_database",
        started: int | None = None,
        watermark_type: LogicalType | None = None,
    ) -> None:
        self.projections = tuple(projections)
        self.condition = condition
        self._session = (zone, database, started)
        self._filter: Condition | None = None
        self._computed: Projection
        self._watermark_type = watermark_type  # the watermark before each row is the last column of the input, if set

    def __getstate__(self) -> dict[str, object]:
        state = dict(self.__dict__)
        state.pop("_computed", None)
        return state | {"_filter": None}

    def open(self) -> None:
        zone, database, started = self._session
        session = Session(zone=zone, database=database, started=started)
        compiler = Compiler()  # the columns use results of the condition
        if self.condition is not None:
            self._filter = Condition(self.condition, session, compiler)
        computed = [e for e in self.projections if not isinstance(e, Column)]
        self._computed = Projection(computed, session, compiler)
        self._used = columns_of(*self.projections)

    def run(self, rows: Rows, context: StepContext) -> StepResult:
        assert isinstance(rows, Changes)
        origins = None
        if self._watermark_type is not None:
            rows = _with_watermark(rows, context, arrow_type(self._watermark_type))
        frame, kinds = Frame(rows.columns, rows.length, self._computed.session), rows.kinds
        if self._filter is not None:
            keep = self._filter.on(frame)
            if pc.all(keep, min_count=0).as_py() is not True:
                origins = pc.indices_nonzero(keep).to_numpy().astype(np.int64)
                frame = frame.select(pa.array(origins), self._used)
                kinds = None if kinds is None else kinds[origins]
        computed = iter(self._computed.on(frame))
        columns = [frame.columns[e.index] if isinstance(e, Column) else next(computed) for e in self.projections]
        return StepResult(Changes(columns, frame.length, kinds), origins)


def _with_watermark(rows: Changes, context: StepContext, type_: pa.DataType) -> Changes:
    """Adds the watermark before each row as the last column. It is NULL before the first watermark."""
    marks = context.watermarks()
    column = pa.array(marks, pa.int64(), mask=marks == _NO_WATERMARK).cast(type_)
    return Changes([*rows.columns, column], rows.length, rows.kinds)
