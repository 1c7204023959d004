"""OVER: binds calls with their windows, and builds one Over relation per partition and order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp

from penstock.runtime.relational.expressions.tree import Column, Expression, Literal
from penstock.runtime.relational.specs.aggregate_call import SortKey
from penstock.runtime.relational.specs.operators import OverCall
from penstock.table.binder.queries import building
from penstock.table.binder.queries.aggregate_calls import BoundCall, bind_call, written_call
from penstock.table.binder.queries.stage import Stage, resolved
from penstock.table.functions.catalogue import closest
from penstock.table.relations import Over, Relation
from penstock.types.logical.kinds import DayTimeIntervalType, IntegerType, TimestampType
from penstock.types.logical.text import summary

RANKINGS = frozenset(["ROW_NUMBER", "RANK", "DENSE_RANK"])
_Order = tuple[tuple[Expression, bool, bool], ...]


@dataclass(frozen=True)
class _Frame:
    mode: str = "RANGE"
    lower: int | None = None
    upper: int | None = 0


class OverBinder:
    """Collects the OVER calls of a SELECT."""

    def __init__(self, stage: Stage, windows: Sequence[exp.Window]) -> None:
        self._stage = stage
        self._context = stage.context
        self._named: dict[str, exp.Window] = {}
        for window in windows:
            if window.this.name in self._named:
                raise self._context.refuse("SQL_WINDOW", f"Duplicate window name '{window.this.name}'.", window)
            self._named[window.this.name] = window
        self._calls: list[tuple[tuple[Expression, ...], _Order, BoundCall, _Frame, Column]] = []

    def hook(self, node: exp.Expr) -> Expression | None:
        """Binds a call with OVER, and leaves other nodes to the stage."""
        if isinstance(node, exp.Window):
            return self._bind(node)
        return self._stage.hook(node)

    # ------------------------------------------------------------------------------------------------- binding

    def _bind(self, node: exp.Window) -> Column:
        written = written_call(node.this)
        if written is None:
            name = node.this.name if node.this is not None else ""
            raise self._context.refuse(
                "SQL_AGGREGATE", f"{name} is no aggregate function, so that it has no OVER.", node
            )
        binder = self._stage.binder()
        partition_nodes, order_node, spec = self._window(node)
        partition = tuple(binder.bind(part) for part in partition_nodes)
        order = tuple(self._order_key(binder.bind(item.this), item) for item in order_node)
        # Flink's types allow that a frame between offsets is empty, so that its results can be NULL.
        bounds = [] if spec is None else [spec.args["start"], spec.args.get("end")]
        call = bind_call(
            self._context, binder, written, grouped=all(bound is None or isinstance(bound, str) for bound in bounds)
        )
        if not order and call.function in RANKINGS | {"LAG", "LEAD", "NTILE", "CUME_DIST", "PERCENT_RANK"}:
            raise self._context.refuse("SQL_WINDOW", f"{call.function} needs ORDER BY in its OVER clause.", node)
        self._check_order(call, order, node)
        frame = self._frame(spec, order, call, node)
        for known in self._calls:
            if known[:4] == (partition, order, call, frame):
                return known[4]
        slot = self._stage.slots.new(call.shown, call.name)
        self._calls.append((partition, order, call, frame, slot))
        return slot

    def _window(self, node: exp.Window) -> tuple[list[exp.Expr], list[exp.Ordered], exp.WindowSpec | None]:
        """Returns partition, order and frame, with those of the named window that it extends."""
        partition = list(node.args.get("partition_by") or [])
        order = list(node.args["order"].expressions) if node.args.get("order") is not None else []
        spec = node.args.get("spec")
        base = node.args.get("alias")
        if base is not None:
            named = self._named.get(base.name)
            if named is None:
                near = closest(base.name, list(self._named))
                hint = f" Did you mean '{near}'?" if near else ""
                raise self._context.refuse("SQL_WINDOW", f"Window '{base.name}' not found.{hint}", base)
            base_partition, base_order, base_spec = self._window(named)
            if partition or (order and base_order):
                raise self._context.refuse(
                    "SQL_WINDOW", f"PARTITION BY and ORDER BY of the window '{base.name}' cannot be given again.", node
                )
            return base_partition, order or base_order, spec or base_spec
        return partition, order, spec

    @staticmethod
    def _order_key(value: Expression, item: exp.Ordered) -> tuple[Expression, bool, bool]:
        ascending = not item.args.get("desc")
        first = item.args.get("nulls_first")
        return value, ascending, ascending if first is None else bool(first)

    def _check_order(self, call: BoundCall, order: _Order, node: exp.Window) -> None:
        if call.function in RANKINGS or not order or not self._context.settings.streaming:
            return
        first, ascending, _ = order[0]
        if isinstance(first.type, TimestampType) and first.type.attribute and not ascending:
            raise self._context.refuse(
                "SQL_WINDOW",
                "The window can only be ordered in ascending mode (ASC) if it is ordered by a time attribute.",
                node,
            )

    # -------------------------------------------------------------------------------------------------- frames

    def _frame(self, spec: exp.WindowSpec | None, order: _Order, call: BoundCall, node: exp.Window) -> _Frame:
        if spec is None:
            if not order:
                return _Frame("RANGE", None, None)
            # As in Flink, only ROW_NUMBER distinguishes rows that are equal in order; RANK and LAG count from the last of them.
            return _Frame("ROWS" if call.function == "ROW_NUMBER" else "RANGE")
        if call.function in RANKINGS:
            raise self._context.refuse("SQL_WINDOW", f"ROWS and RANGE are not allowed with {call.function}.", node)
        mode = spec.args["kind"]
        lower = self._bound(spec.args["start"], spec.args.get("start_side"), mode, order, -1)
        end = spec.args.get("end")
        upper = 0 if end is None else self._bound(end, spec.args.get("end_side"), mode, order, 1)
        if lower is not None and upper is not None and -lower > upper:
            raise self._context.refuse("SQL_WINDOW", "The frame of the window ends before it starts.", node)
        if mode == "RANGE" and not order:
            raise self._context.refuse("SQL_WINDOW", "RANGE needs ORDER BY in the window.", node)
        return _Frame(mode, lower, upper)

    def _bound(self, bound: str | exp.Expr, side: str | None, mode: str, order: _Order, direction: int) -> int | None:
        """Returns how far a bound is away: before the row for the start of a frame (direction -1), after it for the end."""
        if isinstance(bound, str):
            return 0 if bound == "CURRENT ROW" else None
        value = self._stage.bind(bound)
        sign = 1 if (side == "FOLLOWING") == (direction > 0) else -1
        interval = isinstance(value.type, DayTimeIntervalType)
        by_time = mode == "RANGE" and bool(order) and isinstance(order[0][0].type, TimestampType)
        if not isinstance(value, Literal) or not (interval or isinstance(value.type, IntegerType)):
            raise self._context.refuse("SQL_WINDOW", f"A bound of {mode} must be a constant, found {value}.", bound)
        if (mode == "ROWS" and interval) or (by_time and not interval):
            wanted = "a number of rows" if mode == "ROWS" else "an interval such as INTERVAL '1' HOUR"
            raise self._context.refuse(
                "SQL_WINDOW", f"A bound of {mode} must be {wanted}, found {summary(value.type)}.", bound
            )
        if value.value < 0:
            raise self._context.refuse("SQL_WINDOW", f"A bound of {mode} must not be negative.", bound)
        return sign * int(value.value)

    # ------------------------------------------------------------------------------------------------ building

    def build(self, relation: Relation, positions: dict[int, int]) -> tuple[Relation, dict[int, int]]:
        """Returns the relation with the results behind its columns, and the positions of all slots."""
        groups: dict[tuple[tuple[Expression, ...], _Order], list[tuple[BoundCall, _Frame, Column]]] = {}
        for partition, order, call, frame, slot in self._calls:
            groups.setdefault((partition, order), []).append((call, frame, slot))
        wanted: list[Expression] = []
        for (partition, order), calls in groups.items():
            wanted += [*partition, *(e for e, _, _ in order)]
            for call, _, _ in calls:
                wanted += call.expressions()
        relation, found = building.extend(relation, [resolved(e, positions) for e in wanted])
        place = dict(zip(wanted, found, strict=True))
        for (partition, order), calls in groups.items():
            width = len(relation.row_type.fields)
            over_calls = tuple(
                OverCall(call.over(place.__getitem__), frame.mode, frame.lower, frame.upper)  # type: ignore[arg-type]
                for call, frame, _ in calls
            )
            fields = relation.row_type.fields
            names = [*(f.name for f in fields), *(f"${width + i}" for i in range(len(calls)))]
            relation = Over(
                input=relation,
                partition=tuple(dict.fromkeys(place[p] for p in partition)),
                order=tuple(SortKey(place[e], ascending, first) for e, ascending, first in order),
                calls=over_calls,
                row_type=building.row_type(names, [*(f.type for f in fields), *(slot.type for _, _, slot in calls)]),
                hints=self._context.hints,
            )
            positions.update({slot.index: width + i for i, (_, _, slot) in enumerate(calls)})
        return relation, positions
