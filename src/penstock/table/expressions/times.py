"""Methods of points in time, and lengths of time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlglot import exp

from penstock.table.dialect import nodes
from penstock.table.expressions.base import ExpressionBase, call_text
from penstock.table.expressions.types import type_reference
from penstock.table.expressions.unit_calls import with_unit
from penstock.table.expressions.units import TimeIntervalUnit
from penstock.types.logical.kinds import DATE, MILLISECONDS, MONTHS, TIME, TIMESTAMP_3, LogicalType
from penstock.types.logical.text import summary

if TYPE_CHECKING:
    from penstock.table.expressions.expression import Expression

_SECOND = 1000
_DAY = 86_400 * _SECOND


class Times(ExpressionBase):
    """Points in time, lengths of time such as `lit(5).minutes`, and the properties of windows."""

    @property
    def to_date(self) -> Expression[Any]:
        """The day of text such as 2024-01-31."""
        return self._converted(DATE)

    @property
    def to_time(self) -> Expression[Any]:
        """The time of day of text such as 23:59:59."""
        return self._converted(TIME)

    @property
    def to_timestamp(self) -> Expression[Any]:
        """The timestamp of text such as 2024-01-31 23:59:59.123."""
        return self._converted(TIMESTAMP_3)

    def _converted(self, type_: LogicalType) -> Expression[Any]:
        return self._new(exp.Cast(this=self.node, to=type_reference(type_)), f"cast({self}, {summary(type_)})")

    def extract(self, time_interval_unit: TimeIntervalUnit) -> Expression[int]:
        """A part of a point in time or of a length of time, such as its year."""
        node = with_unit("EXTRACT", time_interval_unit, self.node)
        return self._new(node, call_text("extract", time_interval_unit, self))

    # --------------------------------------------------------------------------------------- time attributes

    @property
    def start(self) -> Expression[Any]:
        """The start of a group window."""
        return self._property("START", "start")

    @property
    def end(self) -> Expression[Any]:
        """The end of a group window, which does not belong to it."""
        return self._property("END", "end")

    @property
    def rowtime(self) -> Expression[Any]:
        """The event time of a group window; in a schema, the column with the event time."""
        return self._property("ROWTIME", "rowtime")

    @property
    def proctime(self) -> Expression[Any]:
        """The processing time of a group window; in a schema, a new column with the processing time."""
        return self._property("PROCTIME", "proctime")

    def _property(self, kind: str, text: str) -> Expression[Any]:
        return self._new(nodes.WindowProperty(this=self.node, kind=kind), call_text(text, self))

    # ------------------------------------------------------------------------------------------------ lengths

    @property
    def year(self) -> Expression[Any]:
        """A number of years."""
        return self._length(12, MONTHS)

    @property
    def quarter(self) -> Expression[Any]:
        """A number of quarters."""
        return self._length(3, MONTHS)

    @property
    def month(self) -> Expression[Any]:
        """A number of months."""
        return self._length(1, MONTHS)

    @property
    def week(self) -> Expression[Any]:
        """A number of weeks."""
        return self._length(7 * _DAY, MILLISECONDS)

    @property
    def day(self) -> Expression[Any]:
        """A number of days."""
        return self._length(_DAY, MILLISECONDS)

    @property
    def hour(self) -> Expression[Any]:
        """A number of hours."""
        return self._length(3600 * _SECOND, MILLISECONDS)

    @property
    def minute(self) -> Expression[Any]:
        """A number of minutes."""
        return self._length(60 * _SECOND, MILLISECONDS)

    @property
    def second(self) -> Expression[Any]:
        """A number of seconds."""
        return self._length(_SECOND, MILLISECONDS)

    @property
    def milli(self) -> Expression[Any]:
        """A number of milliseconds."""
        return self._length(1, MILLISECONDS)

    years, quarters, months, weeks, days = year, quarter, month, week, day
    hours, minutes, seconds, millis = hour, minute, second, milli

    def _length(self, factor: int, type_: LogicalType) -> Expression[Any]:
        fixed = type_.with_nullable(False)
        number = _whole_number(self._node)
        if number is not None:
            return self._new(nodes.TypedLiteral(this=number * factor, to=fixed), str(number * factor))
        node = exp.Mul(this=self.node, expression=nodes.TypedLiteral(this=factor, to=fixed))
        return self._new(node, f"times(cast({self}, {summary(fixed)}), {factor})")


def _whole_number(node: exp.Expr) -> int | None:
    """Returns the value of a literal that is an integer, or None."""
    if isinstance(node, exp.Neg):
        inner = _whole_number(node.this)
        return None if inner is None else -inner
    if isinstance(node, exp.Literal) and not node.is_string and str(node.this).isdigit():
        return int(node.this)
    if isinstance(node, nodes.TypedLiteral) and isinstance(node.this, int) and not isinstance(node.this, bool):
        return node.this
    return None
