"""GROUP BY: binds keys and aggregate calls, and builds Aggregate and Expand."""

from __future__ import annotations

import itertools

from sqlglot import exp

from penstock.runtime.relational.expressions.tree import Call, Column, Expression, Literal
from penstock.table.binder.expressions import ExpressionBinder
from penstock.table.binder.queries import building
from penstock.table.binder.queries.aggregate_calls import (
    GROUPING,
    OVER_ONLY,
    BoundCall,
    WrittenCall,
    bind_call,
    has_aggregate,
    written_call,
)
from penstock.table.binder.queries.context import Context, has_outer
from penstock.table.binder.queries.group_windows import GroupWindow, auxiliary, bind_group_window, is_group_window
from penstock.table.binder.queries.stage import Stage, resolved
from penstock.table.binder.queries.subqueries import has_subquery
from penstock.table.dialect import nodes
from penstock.table.passes.recognition import recognise
from penstock.table.passes.rewriting import substituted
from penstock.table.passes.window_columns import window_columns
from penstock.table.relations import Aggregate, Expand, Relation
from penstock.types.logical.kinds import BIGINT, BOOLEAN, LogicalType

_COUNT = BIGINT.with_nullable(False)


class GroupedStage(Stage):
    """Binds expressions over the groups of an input."""

    def __init__(self, context: Context, below: Stage, group: exp.Group | None) -> None:
        super().__init__(context, below.relation, below.scope, below.slots)
        self._input = below
        self._keys: list[Expression] = []
        self._key_slots: list[Column] = []
        self._calls: list[tuple[BoundCall, Column]] = []
        self._window: GroupWindow | None = None
        self._properties: dict[str, Column] = {}
        self._sets: list[tuple[int, ...]] | None = None
        self._grouping: dict[tuple[str, tuple[int, ...]], Column] = {}
        if group is not None:
            self._bind_groups(group)
        # As in Flink, results of the grouping set () are typed as if there were rows.
        self._grouped = bool(self._keys or self._window)
        self._group = group
        for i, key in enumerate(self._keys):
            optional = self._sets is not None and not all(i in s for s in self._sets)
            type_ = key.type.with_nullable(key.type.nullable or optional)
            self._key_slots.append(self.slots.new(type_, key.name if isinstance(key, Column) else ""))

    # ---------------------------------------------------------------------------------------------------- keys

    def _bind_groups(self, group: exp.Group) -> None:
        alternatives: list[list[tuple[int, ...]]] = []
        for node in group.expressions:
            alternatives.append(self._alternatives(node))
        if any(len(a) > 1 for a in alternatives) or any(
            isinstance(n, exp.GroupingSets | exp.Cube | exp.Rollup) for n in group.expressions
        ):
            combined = [tuple(sorted(set(itertools.chain(*parts)))) for parts in itertools.product(*alternatives)]
            # Sets that occur several times differ in GROUP_ID only, and the first is enough for GROUP BY DISTINCT as well.
            self._sets = combined
            if len(combined) == 1 and set(combined[0]) == set(range(len(self._keys))):
                self._sets = None

    def _alternatives(self, node: exp.Expr) -> list[tuple[int, ...]]:
        if isinstance(node, exp.GroupingSets):
            return [s for part in node.expressions for s in self._alternatives(part)]
        if isinstance(node, exp.Cube | exp.Rollup):
            parts = [self._columns(part) for part in node.expressions]
            if isinstance(node, exp.Rollup):
                return [tuple(itertools.chain(*parts[:n])) for n in range(len(parts), -1, -1)]
            chosen = itertools.product((True, False), repeat=len(parts))
            return [tuple(itertools.chain(*(p for p, c in zip(parts, c_, strict=True) if c))) for c_ in chosen]
        return [self._columns(node)]

    def _columns(self, node: exp.Expr) -> tuple[int, ...]:
        if isinstance(node, nodes.RowConstructor) and not node.args.get("explicit"):
            return tuple(itertools.chain(*(self._columns(part) for part in node.expressions)))
        while isinstance(node, exp.Paren):
            node = node.this
        if is_group_window(node):
            if self._window is not None:
                raise self.context.refuse("SQL_WINDOW", "Only one window function may be used in GROUP BY.", node)
            self._window = bind_group_window(self.context, self._input, node)  # type: ignore[arg-type]
            return ()
        if has_aggregate(node):
            raise self.context.refuse("SQL_AGGREGATE", "Aggregate expression is illegal in GROUP BY clause.", node)
        key = self._input.bind(node)
        if has_outer(key):
            raise self.context.refuse("SQL_SUBQUERY", "A name of the outer query is not supported in GROUP BY.", node)
        if key not in self._keys:
            self._keys.append(key)
        return (self._keys.index(key),)

    def add_key(self, key: Expression) -> Column:
        """Groups by one more expression, which the query does not show. For correlated subqueries."""
        self._keys.append(key)
        self._grouped = True
        slot = self.slots.new(key.type)
        self._key_slots.append(slot)
        return slot

    def without_rows(self, expression: Expression) -> Expression:
        """Returns the value of an expression for a group without rows: counts are 0, and other aggregates NULL."""
        zero = {"COUNT": 0, "SUM0": 0, "APPROX_COUNT_DISTINCT": 0}
        values = {slot.index: Literal(zero.get(call.function), slot.type) for call, slot in self._calls}
        return substituted(expression, lambda c: values.get(c.index, Literal(None, c.type)))

    # ------------------------------------------------------------------------------------------------- binding

    def hook(self, node: exp.Expr) -> Expression | None:
        written = written_call(node)
        if written is not None:
            return self._aggregate(written)
        if isinstance(node, nodes.Call) and auxiliary(node):
            return self._auxiliary(node)
        if is_group_window(node):
            raise self.context.refuse(
                "SQL_WINDOW", f"Group function '{node.name.upper()}' can only appear in GROUP BY clause.", node
            )
        if isinstance(node, exp.Column):
            return self._column(node)
        if self._keys and _may_be_key(node):
            found = self._key(self._input.bind(node))
            if found is not None:
                return found
        return super().hook(node)

    def _key(self, expression: Expression) -> Column | None:
        for key, slot in zip(self._keys, self._key_slots, strict=True):
            if key == expression:
                return slot
        return None

    def _column(self, node: exp.Column) -> Expression | None:
        outer = self.outer_column(node)
        if outer is not None:
            return outer
        name = ".".join(part.name for part in node.parts)
        return self.grouped(self._input.bind(node), name, node)

    def outer_value(self, column: Column, node: exp.Expr) -> Expression:
        return self.grouped(column, column.name, node)

    def grouped(self, expression: Expression, name: str, node: exp.Expr) -> Expression:
        """Returns an expression over the input as one over the groups. Raises an error if it needs columns that are no keys."""
        found = self._grouped_parts(expression)
        if found is None:
            raise self.context.refuse(
                "SQL_GROUP",
                f"Expression '{name}' is not being grouped. Add it to GROUP BY, or use it in an aggregate function.",
                node,
            )
        return found

    def _grouped_parts(self, expression: Expression) -> Expression | None:
        """Returns an expression over the keys, or None if it needs other columns."""
        key = self._key(expression)
        if key is not None:
            return key
        if isinstance(expression, Column):
            return None
        if isinstance(expression, Call):
            arguments = [self._grouped_parts(a) for a in expression.arguments]
            if any(a is None for a in arguments):
                return None
            return Call(expression.function, tuple(a for a in arguments if a), expression.type, expression.options)
        return expression

    def _aggregate(self, written: WrittenCall) -> Expression:
        name = written.name
        if name in GROUPING:
            return self._grouping_call(written)
        if name in OVER_ONLY:
            raise self.context.refuse(
                "SQL_AGGREGATE", f"OVER clause is necessary for the function {name}.", written.call
            )
        call = bind_call(self.context, self._arguments_binder(name), written, grouped=self._grouped)
        for expression in call.expressions():
            if has_outer(expression):
                raise self.context.refuse(
                    "SQL_SUBQUERY", "A name of the outer query is not supported in an aggregate function.", written.call
                )
        for known, slot in self._calls:
            if known == call:
                return slot
        slot = self.slots.new(call.shown, call.name)
        self._calls.append((call, slot))
        return slot

    def _arguments_binder(self, name: str) -> ExpressionBinder:
        def hook(node: exp.Expr) -> Expression | None:
            if written_call(node) is not None:
                raise self.context.refuse("SQL_AGGREGATE", "Aggregate expressions cannot be nested.", node)
            if isinstance(node, exp.Window):
                raise self.context.refuse("SQL_AGGREGATE", f"OVER is not allowed in an argument of {name}.", node)
            return self._input.hook(node)

        return self._input.binder(hook)

    def _grouping_call(self, written: WrittenCall) -> Expression:
        name = written.name
        positions = []
        for node in written.call.expressions:
            bound = self._input.bind(node)
            if bound not in self._keys:
                raise self.context.refuse("SQL_GROUP", f"The argument of {name} must be a grouped expression.", node)
            positions.append(self._keys.index(bound))
        if (name == "GROUP_ID" and positions) or (name != "GROUP_ID" and not positions):
            raise self.context.refuse("SQL_TYPE", f"Invalid number of arguments to function '{name}'.", written.call)
        if self._sets is None:
            return Literal(0, _COUNT)
        key = (name, tuple(positions))
        if key not in self._grouping:
            self._grouping[key] = self.slots.new(_COUNT, name)
        return self._grouping[key]

    def _auxiliary(self, node: nodes.Call) -> Expression:
        kind, property_ = auxiliary(node)  # type: ignore[misc]
        window = self._window
        if window is None or not window.matches(self.context, self._input, kind, node):
            raise self.context.refuse(
                "SQL_WINDOW",
                f"Call to auxiliary group function '{node.name.upper()}' must have matching call to group function "
                f"'{kind}' in GROUP BY clause.",
                node,
            )
        if property_ == "time" and not window.window.event_time:
            raise self.context.refuse(
                "SQL_WINDOW", f"{node.name.upper()} needs a window over a rowtime. Use {kind}_PROCTIME.", node
            )
        if property_ not in self._properties:
            type_ = window.property_type(property_)
            if node.args.get("nullable"):  # in the Table API, in which Flink does not know better
                type_ = type_.with_nullable(True)
            self._properties[property_] = self.slots.new(type_, f"window_{property_}")
        return self._properties[property_]

    # ------------------------------------------------------------------------------------------------ building

    def base(self) -> tuple[Relation, dict[int, int]]:
        below, positions = self._input.build()
        expressions: list[Expression] = [*self._keys]
        for call, _ in self._calls:
            expressions += call.expressions()
        if self._window is not None:
            expressions.append(self._window.time)
        values = {e: resolved(e, positions) for e in expressions}
        relation, found = building.needed(below, list(values.values()))
        place = dict(zip(values, found, strict=True))
        keys = tuple(place[k] for k in self._keys)
        self._check_slides(relation, keys)
        if self._sets is not None:
            return self._expanded(relation, place, keys)
        window = None if self._window is None else self._window.at(place[self._window.time])
        return self._aggregate_relation(relation, place, keys, window)

    def _check_slides(self, relation: Relation, keys: tuple[int, ...]) -> None:
        found = window_columns(recognise(relation)) if keys else None
        if found is None or found.window.kind != "HOP" or not {found.start, found.end} <= set(keys):
            return
        if found.window.size % found.window.slide:
            assert self._group is not None
            raise self.context.refuse(
                "SQL_WINDOW",
                "An aggregate over HOP requires that the size is an integral multiple of the slide, but got size "
                f"{found.window.size} ms and slide {found.window.slide} ms.",
                self._group,
            )

    def _aggregate_relation(
        self, relation: Relation, place: dict[Expression, int], keys: tuple[int, ...], window: object
    ) -> tuple[Relation, dict[int, int]]:
        calls = tuple(call.over(place.__getitem__) for call, _ in self._calls)
        slots = [*self._key_slots, *(slot for _, slot in self._calls), *self._properties.values()]
        names = [self._name(slot, i) for i, slot in enumerate(slots)]
        aggregate = Aggregate(
            input=relation,
            keys=keys,
            calls=calls,
            group_window=window,  # type: ignore[arg-type]
            properties=tuple(self._properties),  # type: ignore[arg-type]
            row_type=building.row_type(names, [s.type for s in slots]),
            hints=self.context.hints,
        )
        return aggregate, {slot.index: i for i, slot in enumerate(slots)}

    @staticmethod
    def _name(slot: Column, position: int) -> str:
        return slot.name or f"${position}"

    def _expanded(
        self, relation: Relation, place: dict[Expression, int], keys: tuple[int, ...]
    ) -> tuple[Relation, dict[int, int]]:
        """Grouping sets: each row once per set, then an Aggregate by the keys and the number of the set."""
        assert self._sets is not None
        if self._window is not None:
            window = self._window.at(place[self._window.time])
        else:
            window = None
        # Aggregates read the values as they were before the sets removed them, so that keys are copied.
        used = {place[e] for call, _ in self._calls for e in call.expressions()}
        copies: list[Expression] = [Column(k, relation.row_type.fields[k].type) for k in keys if k in used]
        width = len(relation.row_type.fields)
        if copies:
            own: list[Expression] = [*building.columns(relation), *copies]
            names = [*(f.name for f in relation.row_type.fields), *(f"${width + i}" for i in range(len(copies)))]
            relation = building.project(relation, own, names)
            moved = {k: width + i for i, k in enumerate(k for k in keys if k in used)}
            call_place = {e: moved.get(p, p) for e, p in place.items()}
        else:
            call_place = place
        ids = [sum(1 << (len(keys) - 1 - i) for i in range(len(keys)) if i not in s) for s in self._sets]
        numbers = _set_numbers(self._sets)
        fields = list(relation.row_type.fields)
        types: list[LogicalType] = [f.type for f in fields]
        for k in keys:
            types[k] = types[k].with_nullable(True)
        expand = Expand(
            input=relation,
            grouped=keys,
            sets=tuple(tuple(keys[i] for i in s) for s in self._sets),
            ids=tuple(i + (n << len(keys)) for i, n in zip(ids, numbers, strict=True)),
            row_type=building.row_type([*(f.name for f in fields), "expand_id"], [*types, _COUNT]),
        )
        id_column = len(fields)
        calls = tuple(call.over(call_place.__getitem__) for call, _ in self._calls)
        slots = [*self._key_slots, *(slot for _, slot in self._calls), *self._properties.values()]
        key_count = len(keys)
        output = [*self._key_slots, Column(0, _COUNT, "expand_id"), *slots[key_count:]]
        aggregate: Relation = Aggregate(
            input=expand,
            keys=(*keys, id_column),
            calls=calls,
            group_window=window,
            properties=tuple(self._properties),  # type: ignore[arg-type]
            row_type=building.row_type([self._name(s, i) for i, s in enumerate(output)], [s.type for s in output]),
            hints=self.context.hints,
        )
        positions = {s.index: i if i < key_count else i + 1 for i, s in enumerate(slots)}
        return self._with_grouping(aggregate, positions, key_count)

    def _with_grouping(
        self, aggregate: Relation, positions: dict[int, int], key_count: int
    ) -> tuple[Relation, dict[int, int]]:
        if not self._grouping:
            return aggregate, positions
        assert self._sets is not None
        expand_id: Expression = Column(key_count, _COUNT, "expand_id")
        added = []
        for (name, asked), slot in self._grouping.items():
            added.append(self._grouping_value(name, asked, expand_id, key_count))
            positions[slot.index] = len(aggregate.row_type.fields) + len(added) - 1
        names = [f.name for f in aggregate.row_type.fields]
        names += [f"${len(names) + i}" for i in range(len(added))]
        return building.project(aggregate, [*building.columns(aggregate), *added], names), positions

    def _grouping_value(self, name: str, asked: tuple[int, ...], expand_id: Expression, key_count: int) -> Expression:
        """The value as a CASE over the ids of the sets, which are few."""
        assert self._sets is not None
        numbers = _set_numbers(self._sets)
        arguments: list[Expression] = []
        for members, number in zip(self._sets, numbers, strict=True):
            bits = sum(1 << (key_count - 1 - i) for i in range(key_count) if i not in members) + (number << key_count)
            value = number
            if name != "GROUP_ID":
                value = sum(1 << (len(asked) - 1 - n) for n, i in enumerate(asked) if i not in members)
            arguments += [
                Call("=", (expand_id, Literal(bits, _COUNT)), BOOLEAN.with_nullable(False)),
                Literal(value, _COUNT),
            ]
        return Call("CASE", (*arguments, Literal(0, _COUNT)), _COUNT)


def _may_be_key(node: exp.Expr) -> bool:
    """Whether a node can be bound over the rows of the input, so that it can be compared with the keys."""
    if isinstance(node, exp.Literal) or has_aggregate(node) or has_subquery(node):
        return False
    return not any(isinstance(n, exp.Window) or (isinstance(n, nodes.Call) and auxiliary(n)) for n in node.walk())


def _set_numbers(sets: list[tuple[int, ...]]) -> list[int]:
    """Returns for each set how often it occurred before: GROUP_ID."""
    seen: dict[tuple[int, ...], int] = {}
    found = []
    for members in sets:
        found.append(seen.get(members, 0))
        seen[members] = found[-1] + 1
    return found
