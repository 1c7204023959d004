"""Windows of the Table API: group windows, and windows of rows around each row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlglot import exp

from penstock.errors import PlanError
from penstock.table.dialect import nodes
from penstock.table.expressions.columns import UNBOUNDED_RANGE
from penstock.table.expressions.expression import Expression
from penstock.table.expressions.function import identifier

Any_ = Expression[Any]


class GroupWindow:
    """A window that groups rows by time or by their number, with a name. `Tumble`, `Slide` and `Session` create it.

    kind: TUMBLE, HOP or SESSION.
    """

    def __init__(self, kind: str, time: Any_, sizes: Sequence[Any_], alias: str) -> None:
        self.kind = kind
        self.time = time
        self.sizes = tuple(sizes)  # as in SQL: HOP has the slide first
        self.alias = alias

    @property
    def by_rows(self) -> bool:
        """Whether the window has a number of rows, and not a length of time."""
        return any(isinstance(size.node, nodes.RowInterval) for size in self.sizes)

    @property
    def node(self) -> nodes.Call:
        """The window as SQL has it in GROUP BY: TUMBLE(time, size), HOP(time, slide, size) or SESSION(time, gap)."""
        return nodes.Call(this=self.kind, expressions=[self.time.node, *(size.node for size in self.sizes)])

    def resolve(self, node: exp.Expr) -> exp.Expr:
        """Replaces the properties of this window, such as `col("w").start`, in a node with TUMBLE_START(...) and the like."""
        return node.transform(self._resolved)

    def _resolved(self, node: exp.Expr) -> exp.Expr:
        if isinstance(node, nodes.WindowProperty) and node.this.name == self.alias:
            call = self.node
            call.set("this", f"{self.kind}_{node.args['kind']}")
            return call
        return node


class Tumble:
    """Creates windows of one size that follow each other.

    >>> from penstock.table.expressions import col, lit
    >>> Tumble.over(lit(10).minutes).on(col("rowtime")).alias("w").kind
    'TUMBLE'
    """

    @classmethod
    def over(cls, size: Any_) -> TumbleWithSize:
        """Sets the size: a length of time, or `row_interval`."""
        return TumbleWithSize("TUMBLE", [size])


class Session:
    """Creates windows that end after a gap without rows."""

    @classmethod
    def with_gap(cls, gap: Any_) -> SessionWithGap:
        """Sets the length of the gap."""
        return SessionWithGap("SESSION", [gap])


class Slide:
    """Creates windows of one size that begin in equal distances and can overlap."""

    @classmethod
    def over(cls, size: Any_) -> SlideWithSize:
        """Sets the size: a length of time, or `row_interval`."""
        return SlideWithSize(size)


class SlideWithSize:
    """A sliding window without a distance."""

    def __init__(self, size: Any_) -> None:
        self._size = size

    def every(self, slide: Any_) -> SlideWithSizeAndSlide:
        """Sets the distance between the starts of two windows."""
        return SlideWithSizeAndSlide("HOP", [slide, self._size])


class _Sized:
    """A window without a time attribute."""

    def __init__(self, kind: str, sizes: Sequence[Any_]) -> None:
        self._kind = kind
        self._sizes = sizes


class _Timed(_Sized):
    """A window without a name."""

    def __init__(self, kind: str, sizes: Sequence[Any_], time: Any_) -> None:
        super().__init__(kind, sizes)
        self._time = time

    def alias(self, alias: str) -> GroupWindow:
        """Names the window, so that `group_by` and `select` can refer to it."""
        return GroupWindow(self._kind, self._time, self._sizes, alias)


class TumbleWithSizeOnTime(_Timed):
    """A tumbling window without a name."""


class SessionWithGapOnTime(_Timed):
    """A session window without a name."""


class SlideWithSizeAndSlideOnTime(_Timed):
    """A sliding window without a name."""


class TumbleWithSize(_Sized):
    """A tumbling window without a time attribute."""

    def on(self, time_field: Any_) -> TumbleWithSizeOnTime:
        """Sets the time attribute that the rows are grouped by."""
        return TumbleWithSizeOnTime(self._kind, self._sizes, time_field)


class SessionWithGap(_Sized):
    """A session window without a time attribute."""

    def on(self, time_field: Any_) -> SessionWithGapOnTime:
        """Sets the time attribute that the rows are grouped by."""
        return SessionWithGapOnTime(self._kind, self._sizes, time_field)


class SlideWithSizeAndSlide(_Sized):
    """A sliding window without a time attribute."""

    def on(self, time_field: Any_) -> SlideWithSizeAndSlideOnTime:
        """Sets the time attribute that the rows are grouped by."""
        return SlideWithSizeAndSlideOnTime(self._kind, self._sizes, time_field)


class OverWindow:
    """A window of rows around each row, with a name. `Over` creates it."""

    def __init__(
        self,
        alias: str,
        partition_by: Sequence[Any_],
        order_by: Any_,
        preceding: Any_ = UNBOUNDED_RANGE,
        following: Any_ | None = None,
    ) -> None:
        self.alias = alias
        self.partition_by = tuple(partition_by)
        self.order_by = order_by
        self.preceding = preceding
        self.following = following

    @property
    def node(self) -> exp.Window:
        """The window as SQL has it: WINDOW name AS (PARTITION BY ... ORDER BY ... ROWS BETWEEN ... AND ...)."""
        order = self.order_by.node
        if not isinstance(order, exp.Ordered):
            order = exp.Ordered(this=order, desc=False, nulls_first=None)
        window = exp.Window(this=identifier(self.alias), order=exp.Order(expressions=[order]), spec=self._frame())
        if self.partition_by:
            window.set("partition_by", [part.node for part in self.partition_by])
        return window

    def _frame(self) -> exp.WindowSpec:
        rows = _by_rows(self.preceding)
        if self.following is not None and _by_rows(self.following) != rows:
            raise PlanError(
                "TABLE_EXPRESSION",
                f"The window '{self.alias}' has a number of rows on one side and a length of time on the other one. Use "
                "row_interval, UNBOUNDED_ROW and CURRENT_ROW, or lengths of time, UNBOUNDED_RANGE and CURRENT_RANGE.",
            )
        start = _bound(self.preceding)
        end = "CURRENT ROW" if self.following is None else _bound(self.following)
        return exp.WindowSpec(
            kind="ROWS" if rows else "RANGE", start=start, start_side="PRECEDING", end=end, end_side="FOLLOWING"
        )


def _by_rows(bound: Any_) -> bool:
    node = bound.node
    return isinstance(node, nodes.RowInterval) or (isinstance(node, nodes.FrameBound) and node.name.endswith("_ROW"))


def _bound(bound: Any_) -> str | exp.Expr:
    node = bound.node
    if isinstance(node, nodes.FrameBound):
        return "UNBOUNDED" if node.name.startswith("UNBOUNDED") else "CURRENT ROW"
    return exp.Literal.number(node.this) if isinstance(node, nodes.RowInterval) else node


class Over:
    """Creates windows of rows around each row.

    >>> from penstock.table.expressions import UNBOUNDED_RANGE, col
    >>> Over.partition_by(col("a")).order_by(col("rowtime")).preceding(UNBOUNDED_RANGE).alias("w").alias
    'w'
    """

    @classmethod
    def order_by(cls, order_by: Any_) -> OverWindowPartitionedOrdered:
        """Sets the time attribute that the rows are ordered by."""
        return OverWindowPartitionedOrdered((), order_by)

    @classmethod
    def partition_by(cls, *partition_by: Any_) -> OverWindowPartitioned:
        """Computes the windows for each key."""
        return OverWindowPartitioned(partition_by)


class OverWindowPartitioned:
    """A window without an order."""

    def __init__(self, partition_by: Sequence[Any_]) -> None:
        self._partition_by = partition_by

    def order_by(self, order_by: Any_) -> OverWindowPartitionedOrdered:
        """Sets the time attribute that the rows are ordered by."""
        return OverWindowPartitionedOrdered(self._partition_by, order_by)


class OverWindowPartitionedOrdered:
    """A window with an order, and without a start."""

    def __init__(self, partition_by: Sequence[Any_], order_by: Any_) -> None:
        self._partition_by = partition_by
        self._order_by = order_by

    def preceding(self, preceding: Any_) -> OverWindowPartitionedOrderedPreceding:
        """Sets the start: a length of time, `row_interval`, UNBOUNDED_ROW or UNBOUNDED_RANGE."""
        return OverWindowPartitionedOrderedPreceding(self._partition_by, self._order_by, preceding)

    def alias(self, alias: str) -> OverWindow:
        """Names the window, so that `over` can refer to it."""
        return OverWindow(alias, self._partition_by, self._order_by)


class OverWindowPartitionedOrderedPreceding(OverWindowPartitionedOrdered):
    """A window with an order and a start."""

    def __init__(
        self, partition_by: Sequence[Any_], order_by: Any_, preceding: Any_, following: Any_ | None = None
    ) -> None:
        super().__init__(partition_by, order_by)
        self._preceding = preceding
        self._following = following

    def following(self, following: Any_) -> OverWindowPartitionedOrderedPreceding:
        """Sets the end, which is the current row if none is given."""
        return OverWindowPartitionedOrderedPreceding(self._partition_by, self._order_by, self._preceding, following)

    def alias(self, alias: str) -> OverWindow:
        """Names the window, so that `over` can refer to it."""
        return OverWindow(alias, self._partition_by, self._order_by, self._preceding, self._following)
