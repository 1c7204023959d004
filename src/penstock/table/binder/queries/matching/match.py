"""MATCH_RECOGNIZE."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sqlglot import exp

from penstock.errors import warn_ignored
from penstock.runtime.relational.expressions.tree import Call, Column, Expression, Literal
from penstock.runtime.relational.specs.aggregate_call import SortKey
from penstock.runtime.relational.specs.match import Definition, Navigation, Previous
from penstock.runtime.relational.specs.pattern_tree import requires, variables
from penstock.table.binder.expressions import ExpressionBinder
from penstock.table.binder.queries import building
from penstock.table.binder.queries.context import Context
from penstock.table.binder.queries.matching.clauses import (
    bind_rows,
    bind_skip,
    bind_subsets,
    bind_within,
    check_exclusions,
)
from penstock.table.binder.queries.matching.match_expressions import (
    PREVIOUS,
    SLOT,
    MatchExpressions,
    Slot,
    beyond_flink,
)
from penstock.table.binder.queries.matching.pattern import bind_pattern, flink_steps
from penstock.table.binder.queries.matching.variables import Variables
from penstock.table.binder.queries.tables import Source, bind_table
from penstock.table.dialect import nodes
from penstock.table.passes.constants import folded
from penstock.table.passes.time_attributes import plain
from penstock.table.relations import Match, Relation
from penstock.types.logical.kinds import BooleanType, LogicalType, TimestampType
from penstock.types.logical.text import summary

_MOST_CONDITIONS = 62  # the conditions that a row fulfils are the bits of a number


def bind_match(context: Context, node: nodes.MatchRecognize) -> Relation:
    """Binds a table with MATCH_RECOGNIZE (...)."""
    return _MatchBinder(context, node).bind()


class _MatchBinder:
    def __init__(self, context: Context, node: nodes.MatchRecognize) -> None:
        self._context = context
        self._node = node
        self._source: Source = bind_table(context, node.this)
        self._wanted: dict[Expression, int] = {}  # what must be a column of the input
        self._previous: list[tuple[Expression, int]] = []  # what PREV reads, and how many rows before
        tree = bind_pattern(context, node.args["pattern"])
        defined = [_name(definition) for definition in node.args["define"]]
        self._variables = Variables(
            tree, defined, bind_rows(node), bind_subsets(context, node, variables(tree), defined)
        )
        self._steps = None if self._is_beyond_flink() else flink_steps(tree)

    def _is_beyond_flink(self) -> bool:
        """Whether the query, apart from the pattern, has what Flink refuses. Then its matches are those of the SQL standard."""
        args = self._node.args
        expressions = [*(args.get("measures") or ()), *args["define"]]
        return (
            self._variables.all_rows is not None
            or bool(self._variables.subsets)
            or any(beyond_flink(expression) for expression in expressions)
        )

    def bind(self) -> Relation:
        node, context = self._node, self._context
        check_exclusions(context, node, self._variables.all_rows)
        partition = [self._plain_column(part, "PARTITION BY") for part in node.args.get("partition_by") or ()]
        order = self._order()
        skip = bind_skip(context, node, self._variables, as_flink=self._steps is not None)
        within = bind_within(context, node, self._source.scope)
        for column in (*partition, *(c for c, _, _ in order)):
            self._place(column)
        definitions = self._definitions(order[0][0])
        measures = self._expressions(None, order[0][0])
        names, values = self._output(measures, partition, [column for column, _, _ in order])
        if not values:
            raise self._unsupported("MATCH_RECOGNIZE without PARTITION BY and MEASURES has no columns.", node)
        self._place_slots(measures.slots)
        for value, _ in self._previous:
            self._place(value)
        bound = [
            Definition(variable, self._resolved(value, True), self._navigations(slots))
            for variable, value, slots in definitions
            if variable in self._variables.pattern
        ]
        expressions = list(self._wanted)
        relation = self._source.relation
        if expressions != building.columns(relation):
            labels = [e.name if isinstance(e, Column) else f"${i}" for i, e in enumerate(expressions)]
            relation = building.project(relation, expressions, labels)
        return Match(
            input=relation,
            partition=tuple(dict.fromkeys(self._wanted[key] for key in partition)),
            order=tuple(SortKey(self._wanted[c], ascending, first) for c, ascending, first in order),
            pattern=self._steps or (),
            definitions=tuple(bound),
            measures=tuple(self._resolved(value, False) for value in values),
            navigations=self._navigations(measures.slots),
            skip=skip,
            within=within,
            tree=None if self._steps else self._variables.tree,
            previous=tuple(Previous(self._wanted[value], before) for value, before in self._previous) or None,
            subsets=self._variables.stored_subsets(),
            all_rows=self._variables.all_rows,
            row_type=building.row_type(names, [self._output_type(value, measures) for value in values]),
            hints=context.hints,
        )

    # -------------------------------------------------------------------------------------------------- output

    def _output(
        self, measures: MatchExpressions, partition: list[Column], order: list[Column]
    ) -> tuple[list[str], list[Expression]]:
        """Returns the names and values of the output: the columns of the partition, and the measures.

        With ALL ROWS PER MATCH, the columns of the order are before the measures, and the other columns of the input behind them.
        """
        kind = "LAST" if self._steps else "ROW"  # an empty match has no last row
        before, after = partition, list[Column]()
        if self._variables.all_rows is not None:
            before = list(dict.fromkeys([*partition, *order]))
            after = [c for c in building.columns(self._source.relation) if c not in before]
        names, values = [], list[Expression]()

        def rows(columns: list[Column]) -> None:
            for column in columns:
                type_ = column.type if self._steps or self._variables.all_rows is None else plain(column.type)
                names.append(column.name)
                values.append(measures.slot(Slot(kind, type_, "", column)))

        rows(before)
        taken = {column.name for column in (*before, *after)}
        for measure in self._node.args.get("measures") or ():
            values.append(measures.bind(measure.this))
            if measure.alias in taken:
                raise self._refuse(
                    "SQL_COLUMN",
                    f"Columns ambiguously defined: '{measure.alias}' is the name of two columns.",
                    measure.this,
                )
            taken.add(measure.alias)
            names.append(measure.alias)
        rows(after)
        return names, values

    def _output_type(self, value: Expression, measures: MatchExpressions) -> LogicalType:
        """The measures of a row that no match has are NULL."""
        rows = self._variables.all_rows
        of_row = isinstance(value, Column) and value.index >= SLOT and measures.slots[value.index - SLOT].kind == "ROW"
        return value.type.with_nullable(True) if rows is not None and rows.unmatched and not of_row else value.type

    # ------------------------------------------------------------------------------------------------- pattern

    # --------------------------------------------------------------------------------------------- expressions

    def _expressions(self, variable: str | None, time: Column) -> MatchExpressions:
        assert isinstance(time.type, TimestampType)
        return MatchExpressions(self._context, self._source.scope, self._variables, time.type, self._previous, variable)

    def _definitions(self, time: Column) -> list[tuple[str, Expression, list[Slot]]]:
        found: list[tuple[str, Expression, list[Slot]]] = []
        for node in self._node.args["define"]:
            name = _name(node)
            if name not in self._variables.pattern:
                warn_ignored(
                    f"DEFINE has a condition for '{name}', which PATTERN does not contain.{self._variables.hint(name)}"
                )
            elif len(found) == _MOST_CONDITIONS:
                raise self._refuse("SQL_PATTERN", f"DEFINE has more than {_MOST_CONDITIONS} conditions.", node)
            if any(name == known for known, _, _ in found):
                raise self._refuse("SQL_PATTERN", f"Pattern variable '{name}' has already been defined.", node)
            expressions = self._expressions(name, time)
            condition = expressions.bind(node.expression)
            if not isinstance(condition.type, BooleanType):
                raise self._refuse(
                    "SQL_TYPE",
                    f"The condition of '{name}' in DEFINE must be a boolean, found {summary(condition.type)}.",
                    node.expression,
                )
            self._check_possible(name, condition, node)
            for part in _columns(condition):
                if part.index < PREVIOUS:
                    self._place(part)
            self._place_slots(expressions.slots)
            found.append((name, condition, expressions.slots))
        return found

    def _check_possible(self, name: str, condition: Expression, node: exp.Expr) -> None:
        always = folded(condition)
        if not isinstance(always, Literal) or always.value is True or not requires(self._variables.tree, [name]):
            return
        message = (
            f"The pattern can never match: each match needs a row of '{name}', whose condition in DEFINE is never true."
        )
        if self._steps is None:
            raise self._refuse("SQL_PATTERN", message, node)
        warn_ignored(message)  # Flink runs the query, which has no result

    def _order(self) -> list[tuple[Column, bool, bool]]:
        node = self._node.args.get("order")
        keys: list[tuple[Column, bool, bool]] = []
        for item in node.expressions if node is not None else ():
            ascending = not item.args.get("desc")
            first = item.args.get("nulls_first")
            keys.append(
                (self._plain_column(item.this, "ORDER BY"), ascending, ascending if first is None else bool(first))
            )
        if not keys or not isinstance(keys[0][0].type, TimestampType) or not keys[0][0].type.attribute:
            raise self._refuse(
                "SQL_PATTERN",
                "You must specify either rowtime or proctime for ORDER BY of MATCH_RECOGNIZE, as the first key: a time "
                "attribute, such as a column with a WATERMARK.",
                self._node if node is None else node,
            )
        if not keys[0][1]:
            raise self._refuse(
                "SQL_PATTERN", "The primary sort order of MATCH_RECOGNIZE must be ascending (ASC) on time.", self._node
            )
        return keys

    def _plain_column(self, node: exp.Expr, clause: str) -> Column:
        found = ExpressionBinder(self._source.scope, self._context.text).bind(node)
        if not isinstance(found, Column):
            raise self._unsupported(f"{clause} of MATCH_RECOGNIZE takes columns, found an expression.", node)
        return found

    # ------------------------------------------------------------------------------------- columns of the input

    def _place(self, expression: Expression) -> int:
        return self._wanted.setdefault(expression, len(self._wanted))

    def _place_slots(self, slots: list[Slot]) -> None:
        for slot in slots:
            for expression in slot.expressions():
                self._place(expression)

    def _navigations(self, slots: list[Slot]) -> tuple[Navigation, ...]:
        found = []
        for slot in slots:
            column = -1 if slot.value is None else self._position(slot.value)
            call = None if slot.call is None else slot.call.over(self._wanted.__getitem__)
            kind: Any = slot.kind
            found.append(Navigation(kind, slot.type, slot.variable, column, slot.offset, call))
        return tuple(found)

    def _position(self, value: Expression) -> int:
        """Returns the position of a value in the columns of a row, behind which are the values of earlier rows."""
        if isinstance(value, Column) and value.index >= PREVIOUS:
            return len(self._wanted) + value.index - PREVIOUS
        return self._wanted[value]

    def _resolved(self, expression: Expression, with_row: bool) -> Expression:
        """Replaces columns by their positions: those of the current row, if there is one, then the slots."""
        width = len(self._wanted) + len(self._previous) if with_row else 0

        def change(column: Column) -> Column:
            place = width + column.index - SLOT if column.index >= SLOT else self._position(column)
            return Column(place, column.type, column.name)

        return _replaced(expression, change)

    # -------------------------------------------------------------------------------------------------- errors

    def _unsupported(self, message: str, node: exp.Expr) -> Exception:
        return self._context.refuse("SQL_UNSUPPORTED", message, node)

    def _refuse(self, code: str, message: str, node: exp.Expr) -> Exception:
        return self._context.refuse(code, message, node)


def _name(node: exp.Expr) -> str:
    name = node.this
    return name if isinstance(name, str) else str(name.name)


def _columns(expression: Expression) -> list[Column]:
    if isinstance(expression, Column):
        return [expression]
    return [c for a in expression.arguments for c in _columns(a)] if isinstance(expression, Call) else []


def _replaced(expression: Expression, change: Callable[[Column], Column]) -> Expression:
    if isinstance(expression, Column):
        return change(expression)
    if isinstance(expression, Call):
        arguments = tuple(_replaced(a, change) for a in expression.arguments)
        return Call(expression.function, arguments, expression.type, expression.options)
    return expression
