"""Binds the expressions of MATCH_RECOGNIZE: columns of variables, FIRST, LAST, and aggregates over the rows of a match.

What an expression reads besides the current row is a slot: a column behind all others, until the input of the match is known.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from sqlglot import exp

from penstock.runtime.relational.expressions.tree import Column, Expression, Literal
from penstock.table.binder.expressions import ExpressionBinder
from penstock.table.binder.queries.aggregate_calls import BoundCall, bind_call, written_call
from penstock.table.binder.queries.context import Context
from penstock.table.binder.queries.matching.variables import Variables
from penstock.table.binder.scope import Scope
from penstock.table.dialect import nodes
from penstock.table.functions.catalogue import closest
from penstock.table.passes.time_attributes import plain
from penstock.types.logical.kinds import BIGINT, STRING, LogicalType, TimestampType

SLOT = 1 << 28  # the position of the first slot
PREVIOUS = 1 << 27  # the position of the first value of an earlier row
_BEYOND_FLINK = ("PREV", "CLASSIFIER", "MATCH_NUMBER")
_NAVIGATIONS = ("FIRST", "LAST", "PREV", "NEXT")


def beyond_flink(node: exp.Expr) -> bool:
    """Whether an expression has functions that Flink refuses."""
    return any(call.name.upper() in _BEYOND_FLINK and not call.args.get("path") for call in node.find_all(nodes.Call))


@dataclass(frozen=True)
class Slot:
    """A value of a match: see `Navigation`. `value` is an expression over one row, or a column of earlier rows."""

    kind: str
    type: LogicalType
    variable: str = ""
    value: Expression | None = None
    offset: int = 0
    call: BoundCall | None = None

    def expressions(self) -> list[Expression]:
        """Returns what must be a column of the input."""
        found = self.call.expressions() if self.call is not None else [] if self.value is None else [self.value]
        return [value for value in found if not isinstance(value, Column) or value.index < PREVIOUS]


@dataclass
class MatchExpressions:
    """Binds MEASURES (variable is None), or the condition of a variable. previous: the values of PREV, for all of them."""

    context: Context
    scope: Scope
    variables: Variables
    time: TimestampType
    previous: list[tuple[Expression, int]]
    variable: str | None = None
    slots: list[Slot] = field(default_factory=list)

    def bind(self, node: exp.Expr) -> Expression:
        """Returns an expression over the current row and the slots."""
        return ExpressionBinder(self.scope, self.context.text, self._hook, self.context.lookup).bind(node)

    def slot(self, slot: Slot) -> Column:
        """Returns the column of a slot."""
        if slot not in self.slots:
            self.slots.append(slot)
        return Column(SLOT + self.slots.index(slot), slot.type, slot.kind)

    def _hook(self, node: exp.Expr) -> Expression | None:
        if isinstance(node, exp.Column):
            return self._column(node)
        if isinstance(node, exp.Subquery | exp.Exists) or (isinstance(node, exp.In) and node.args.get("query")):
            raise self._refuse("SQL_UNSUPPORTED", "A subquery is not allowed in MATCH_RECOGNIZE.", node)
        if isinstance(node, nodes.Call) and not node.args.get("path"):
            name = node.name.upper()
            if name == "NEXT":
                raise self._refuse(
                    "SQL_UNSUPPORTED",
                    "NEXT reads rows that arrive later, which is not supported. Add a variable for the next row to PATTERN, and "
                    "compare it with PREV.",
                    node,
                )
            if name in ("FIRST", "LAST"):
                return self._navigation(name, node)
            if name == "PREV":
                return self._previous(node)
            if name == "CLASSIFIER":
                return self._classifier(node, 0, node)
            if name in ("MATCH_NUMBER", "MATCH_ROWTIME", "MATCH_PROCTIME"):
                return self._of_match(name, node)
            if node.args.get("flag") in ("RUNNING", "FINAL") and written_call(node) is None:
                raise self._refuse(
                    "SQL_FUNCTION",
                    f"{node.args['flag']} takes FIRST, LAST, CLASSIFIER or an aggregate, found {name}.",
                    node,
                )
        written = written_call(node)
        if written is None:
            return None
        if written.call.args.get("quantifier") == "DISTINCT":
            raise self._refuse("SQL_AGGREGATE", "DISTINCT aggregates are not supported in MATCH_RECOGNIZE.", node)
        if written.order is not None:
            raise self._refuse("SQL_AGGREGATE", "ORDER BY in an aggregate is not supported in MATCH_RECOGNIZE.", node)
        inside = _Inside(self)
        call = bind_call(self.context, inside.binder(), written, grouped=False)
        return self.slot(Slot(self._kind("CALL", written.call), call.shown, inside.variable or "", call=call))

    def _column(self, node: exp.Column) -> Expression | None:
        if isinstance(node.this, exp.Star):
            return None
        variable, value = self.of_variable(node)
        if self.variables.is_current(variable, self.variable):
            return value
        return self.slot(Slot("LAST", self._type(value.type, "LAST", variable), variable, value))

    def _kind(self, kind: str, node: exp.Expr) -> str:
        """Returns the kind of a navigation with RUNNING or FINAL. They differ only if a match has more than one row."""
        final = node.args.get("flag") == "FINAL"
        if final and self.variable is not None:
            raise self._refuse(
                "SQL_FUNCTION", "FINAL is allowed in MEASURES only: a condition sees no later rows.", node
            )
        return f"FINAL {kind}" if final and self.variables.all_rows is not None else kind

    def _type(self, type_: LogicalType, kind: str, variable: str, offset: int = 0) -> LogicalType:
        """A row that may not exist has no value. (In Flink its value is -1 or another default, if the column is NOT NULL.)"""
        certain = self.variables.certain(variable, self.variable, final=kind.startswith("FINAL "))
        return type_ if certain and not offset else type_.with_nullable(True)

    def of_variable(self, node: exp.Column) -> tuple[str, Expression]:
        """Returns the variable of a column ("" without one), and the column of a row."""
        parts = [part.name for part in node.parts]
        binder = ExpressionBinder(self.scope, self.context.text)
        if len(parts) == 1:
            return "", binder._column(parts, node)
        names = self.variables.names
        if parts[0] in names:
            return parts[0], binder._column(parts[1:], node)
        if self.scope.matches(parts[:1]):
            return "", binder._column(parts, node)  # a field of a row
        near = closest(parts[0], names)
        hint = f" Did you mean '{near}'?" if near else ""
        raise self._refuse(
            "SQL_COLUMN",
            f"Table '{parts[0]}' not found: the pattern has no variable '{parts[0]}'. "
            f"Its variables are {', '.join(names)}.{hint}",
            node,
        )

    def _navigation(self, name: str, node: nodes.Call) -> Expression:
        arguments = node.expressions
        if arguments and isinstance(arguments[0], nodes.Call) and arguments[0].name.upper() == "CLASSIFIER":
            if name == "FIRST":
                raise self._refuse("SQL_UNSUPPORTED", "FIRST(CLASSIFIER()) is not supported. LAST is.", node)
            return self._classifier(arguments[0], self._offset(name, node), node)
        variable, value, offset = self._row_value(name, node)
        if name == "LAST" and not offset and self.variables.is_current(variable, self.variable):
            self._kind(name, node)
            return value
        kind = self._kind(name, node)
        return self.slot(Slot(kind, self._type(value.type, kind, variable, offset), variable, value, offset))

    def _row_value(self, name: str, node: nodes.Call) -> tuple[str, Expression, int]:
        """Returns the variable, the value and the number of rows of FIRST and LAST."""
        offset = self._offset(name, node)
        inside = _Inside(self)
        value = inside.binder().bind(node.expressions[0])
        return inside.variable or "", value, offset

    def _offset(self, name: str, node: nodes.Call, default: int = 0) -> int:
        if not 1 <= len(node.expressions) <= 2:
            raise self._refuse("SQL_FUNCTION", f"{name} takes a value and a number of rows.", node)
        if len(node.expressions) == 1:
            return default
        bound = self.bind(node.expressions[1])
        number = bound.value if isinstance(bound, Literal) else None
        if not isinstance(number, int) or number < 0:
            raise self._refuse(
                "SQL_FUNCTION", f"The number of rows of {name} must be a constant that is not negative.", node
            )
        return number

    def _previous(self, node: nodes.Call) -> Expression:
        """PREV reads a row of the partition, which need not be one of the match."""
        before = self._offset("PREV", node, 1)
        inner = node.expressions[0]
        called = inner.name.upper() if isinstance(inner, nodes.Call) and not inner.args.get("path") else ""
        if called == "CLASSIFIER":
            raise self._refuse(
                "SQL_UNSUPPORTED",
                "PREV(CLASSIFIER()) is not supported. Use LAST(CLASSIFIER(), 1), which stays in the match.",
                node,
            )
        if called in ("FIRST", "LAST"):
            name, flagged = called, inner
            variable, value, offset = self._row_value(called, inner)
        else:
            inside = _Inside(self)
            value = inside.binder().bind(inner)
            name, flagged, variable, offset = "LAST", node, inside.variable or "", 0
        kind, earlier = self._kind(name, flagged), (value, before)
        if earlier not in self.previous:
            self.previous.append(earlier)
        column = Column(PREVIOUS + self.previous.index(earlier), plain(value.type).with_nullable(True), "PREV")
        if name == "LAST" and not offset and self.variables.is_current(variable, self.variable):
            return column
        return self.slot(Slot(kind, column.type, variable, column, offset))

    def _classifier(self, node: nodes.Call, offset: int, flagged: nodes.Call) -> Expression:
        """CLASSIFIER() or CLASSIFIER(S)."""
        names = [part.this for part in node.expressions]
        known = all(isinstance(n, exp.Identifier) and n.name in self.variables.names for n in names)
        if len(names) > 1 or not known:
            raise self._refuse(
                "SQL_FUNCTION", "CLASSIFIER takes no argument, or one variable or subset of the pattern.", node
            )
        variable = names[0].name if names else ""
        kind = self._kind("CLASSIFIER", flagged)
        return self.slot(Slot(kind, self._type(STRING, kind, variable, offset), variable, offset=offset))

    def _of_match(self, name: str, node: nodes.Call) -> Expression:
        if self.variable is not None:
            raise self._refuse("SQL_FUNCTION", f"{name} is allowed in MEASURES only.", node)
        if name == "MATCH_NUMBER":
            if node.expressions:
                raise self._refuse("SQL_FUNCTION", "MATCH_NUMBER takes no arguments.", node)
            return self.slot(Slot("NUMBER", BIGINT.with_nullable(False)))
        if name == "MATCH_PROCTIME":
            return self.slot(Slot("PROCTIME", TimestampType(3, True, "PROCTIME", nullable=False)))
        local = False
        if node.expressions:
            argument = ExpressionBinder(self.scope, self.context.text).bind(node.expressions[0])
            if not isinstance(argument.type, TimestampType) or argument.type.attribute != "ROWTIME":
                raise self._refuse("SQL_FUNCTION", "MATCH_ROWTIME takes a rowtime attribute as its argument.", node)
            local = argument.type.local
        if self.time.attribute != "ROWTIME":
            raise self._refuse(
                "SQL_FUNCTION", "MATCH_ROWTIME needs ORDER BY a rowtime attribute. Use MATCH_PROCTIME().", node
            )
        return self.slot(Slot("ROWTIME", TimestampType(3, local, "ROWTIME", nullable=False)))

    def _refuse(self, code: str, message: str, node: exp.Expr) -> Exception:
        return self.context.refuse(code, message, node)


class _Inside:
    """Binds the arguments of FIRST, LAST and aggregates, which are expressions over the rows of one variable."""

    def __init__(self, outer: MatchExpressions) -> None:
        self._outer = outer
        self.variable: str | None = None

    def binder(self) -> ExpressionBinder:
        context = self._outer.context
        return ExpressionBinder(self._outer.scope, context.text, self._hook, context.lookup)

    def _hook(self, node: exp.Expr) -> Expression | None:
        refuse = self._outer.context.refuse
        if isinstance(node, exp.Column) and not isinstance(node.this, exp.Star):
            variable, value = self._outer.of_variable(node)
            if self.variable not in (None, variable):
                raise refuse(
                    "SQL_AGGREGATE",
                    "Aggregation must be applied to a single pattern variable, and so must FIRST and LAST: found "
                    f"'{self.variable or 'all rows'}' and '{variable or 'all rows'}'.",
                    node,
                )
            self.variable = variable
            return value
        called = node.name.upper() if isinstance(node, nodes.Call) and not node.args.get("path") else ""
        if called in _BEYOND_FLINK and called not in _NAVIGATIONS:
            raise refuse("SQL_AGGREGATE", f"{called} cannot be an argument of FIRST, LAST, PREV or an aggregate.", node)
        if called in _NAVIGATIONS or written_call(node) is not None:
            raise refuse(
                "SQL_AGGREGATE",
                "FIRST, LAST and aggregates cannot be nested in MATCH_RECOGNIZE. PREV takes FIRST and LAST.",
                node,
            )
        return None
