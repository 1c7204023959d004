"""Binds expressions: finds columns and functions, derives types, and inserts implicit casts."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sqlglot import exp

from penstock.errors import SqlValidationError
from penstock.runtime.relational.expressions.tree import Call, Column, Expression, Literal
from penstock.runtime.relational.functions.definition import MISSING, Function, TypeMismatch, Typing
from penstock.runtime.relational.functions.registry import FUNCTIONS
from penstock.table.binder import literals
from penstock.table.binder.api_forms import API_FORMS
from penstock.table.binder.conversions import convert, shown_type
from penstock.table.binder.errors import refused, refused_at
from penstock.table.binder.operators import BINARY_OPERATORS
from penstock.table.binder.scope import Scope
from penstock.table.binder.special_forms import SPECIAL_FORMS
from penstock.table.binder.types import resolve_type
from penstock.table.binder.user_calls import FunctionLookup, bind_user_call, unknown_function, user_function
from penstock.table.dialect import nodes
from penstock.table.dialect.data_type import IntervalQualifier
from penstock.table.dialect.position import Position
from penstock.table.functions.catalogue import closest, find_function, is_aggregate
from penstock.types.logical.kinds import (
    BOOLEAN,
    INTERVALS,
    BooleanType,
    IntegerType,
    LogicalType,
    NullType,
    RowType,
)
from penstock.types.logical.text import summary

Hook = Callable[[exp.Expr], Expression | None]


class ExpressionBinder:
    """Binds the expressions of one scope.

    `hook` sees every node first: the planner binds aggregates, windows and subqueries with it.
    """

    def __init__(
        self, scope: Scope, text: str = "", hook: Hook | None = None, functions: FunctionLookup | None = None
    ) -> None:
        self.scope = scope
        self.text = text
        self._hook = hook
        self.functions = functions

    def bind(self, node: exp.Expr) -> Expression:
        """Returns the typed expression of a node."""
        if self._hook is not None:
            found = self._hook(node)
            if found is not None:
                return found
        name = BINARY_OPERATORS.get(type(node))
        if name is not None:
            return self._binary(name, node)
        method = getattr(self, f"_bind_{type(node).__name__.lower()}", None)
        if method is None:
            form = API_FORMS.get(type(node))
            if form is not None:
                return form(self, node)
            raise self.refuse("SQL_UNSUPPORTED", f"{type(node).__name__} is not allowed here.", node)
        return method(node)  # type: ignore[no-any-return]

    def bind_all(self, parts: Sequence[exp.Expr]) -> list[Expression]:
        """Binds several expressions."""
        return [self.bind(part) for part in parts]

    def condition(self, node: exp.Expr) -> Expression:
        """Binds an expression that must be a boolean."""
        found = self.bind(node)
        if isinstance(found.type, NullType):
            return Literal(None, BOOLEAN)
        if not isinstance(found.type, BooleanType):
            raise self.refuse("SQL_TYPE", f"Expected a boolean type, found {summary(found.type)}.", node)
        return found

    def refuse(self, code: str, message: str, node: exp.Expr) -> SqlValidationError:
        """Returns an error at the place of a node."""
        return refused(code, message, node, self.text)

    # ------------------------------------------------------------------------------------------------- calls

    def call(
        self, name: str, arguments: Sequence[Expression], node: exp.Expr, options: tuple[object, ...] = ()
    ) -> Expression:
        """Types a call of a function of the registry and converts its arguments."""
        return self.typed(FUNCTIONS[name], name, arguments, node, options)

    def typed(
        self,
        function: Function,
        name: str,
        arguments: Sequence[Expression],
        node: exp.Expr,
        options: tuple[object, ...] = (),
    ) -> Expression:
        """The same for a function that was found already."""
        typing = Typing(
            [a.type for a in arguments],
            [a.value if isinstance(a, Literal) else MISSING for a in arguments],
            options,
        )
        try:
            result = function.rule(typing)
        except TypeMismatch as mismatch:
            found = ", ".join(summary(a.type) for a in arguments)
            raise self.refuse(
                "SQL_TYPE", f"Cannot apply '{name}' to ({found}). Expected: {mismatch.expected}.", node
            ) from mismatch
        result = shown_type(function.name, result, arguments)
        converted = [convert(a, typing.casts[i]) if i in typing.casts else a for i, a in enumerate(arguments)]
        return Call(function.name, tuple(converted), result, options)  # type: ignore[arg-type]

    def _bind_call(self, node: nodes.Call) -> Expression:
        name = node.name
        upper = name.upper()
        if node.args.get("path") or upper not in SPECIAL_FORMS:
            user = user_function(self.functions, node)
            if user is not None:
                return bind_user_call(self, user, node)
            if is_aggregate(upper):
                raise self._misplaced_aggregate(node, upper)
            function = find_function(name)
            if function is None and node.args.get("parentheses") is False:
                return self._column([name], node)  # such as USER, which Flink has no function for
            if function is None:
                raise unknown_function(self, node)
            if node.args.get("quantifier"):
                raise self.refuse("SQL_AGGREGATE", f"DISTINCT and ALL are not allowed with the function {upper}.", node)
            for argument in node.expressions:
                if isinstance(argument, exp.Star | nodes.NamedArgument | nodes.TableArgument | nodes.Descriptor):
                    raise self.refuse("SQL_UNSUPPORTED", f"{upper} does not take such an argument.", argument)
            return self.typed(function, upper, self.bind_all(node.expressions), node)
        return SPECIAL_FORMS[upper](self, node)

    def _bind_pythoncall(self, node: nodes.PythonCall) -> Expression:
        return bind_user_call(self, node.this, node)

    def _misplaced_aggregate(self, node: nodes.Call, name: str) -> SqlValidationError:
        return self.refuse(
            "SQL_AGGREGATE",
            f"The aggregate function {name} is not allowed here. Use it in SELECT or HAVING, or with OVER.",
            node,
        )

    # ----------------------------------------------------------------------------------------------- columns

    def _bind_column(self, node: exp.Column) -> Expression:
        if isinstance(node.this, exp.Star):
            raise self.refuse("SQL_UNSUPPORTED", "* is not allowed here.", node)
        parts = [part.name for part in node.parts]
        return self._column(parts, node)

    def _column(self, parts: list[str], node: exp.Expr) -> Expression:
        for length in range(len(parts), 0, -1):
            found = self.scope.matches(parts[:length])
            if len(found) > 1:
                raise self.refuse(
                    "SQL_COLUMN",
                    f"Column '{'.'.join(parts[:length])}' is ambiguous. Write the name of its table in front.",
                    node,
                )
            if found:
                column: Expression = Column(found[0].index, found[0].type, found[0].name)
                for name in parts[length:]:
                    column = self.field(column, name, node)
                return column
        name = ".".join(parts)
        if name.upper() == "PI":  # the only function of the registry that may be written without parentheses
            return self.call("PI", [], node)
        near = closest(name, self.scope.names())
        hint = f" Did you mean '{near}'?" if near else ""
        raise self.refuse(
            "SQL_COLUMN", f"Column '{name}' not found in any table.{hint}", self._unknown_part(parts, node)
        )

    def _unknown_part(self, parts: list[str], node: exp.Expr) -> exp.Expr:
        """The name that is not known: the column, if the table in front of it is known."""
        names = node.parts if isinstance(node, exp.Column) else []
        for length in range(len(names) - 1, 0, -1):
            if any(c.table[-length:] == tuple(parts[:length]) for c in self.scope.columns):
                return names[length]
        return node

    def field(self, value: Expression, name: str, node: exp.Expr) -> Expression:
        """Returns the access to a field of a row."""
        if not isinstance(value.type, RowType):
            raise self.refuse(
                "SQL_COLUMN", f"There is no field '{name}' in a value of type {summary(value.type)}.", node
            )
        index = value.type.index(name)
        if index is None:
            near = closest(name, [f.name for f in value.type.fields])
            hint = f" Did you mean '{near}'?" if near else ""
            raise self.refuse("SQL_COLUMN", f"There is no field '{name}' in {summary(value.type)}.{hint}", node)
        return self.call("FIELD", [value], node, (index,))

    def _bind_dot(self, node: exp.Dot) -> Expression:
        return self.field(self.bind(node.this), node.expression.name, node)

    def _bind_bracket(self, node: exp.Bracket) -> Expression:
        return self.call("ITEM", [self.bind(node.this), self.bind(node.expressions[0])], node)

    # ---------------------------------------------------------------------------------------------- literals

    def _literal(self, build: Callable[[], Literal], node: exp.Expr) -> Literal:
        try:
            return build()
        except literals.BadLiteral as error:
            raise self.refuse("SQL_LITERAL", f"{error}.", node) from error

    def _bind_literal(self, node: exp.Literal) -> Expression:
        if node.is_string:
            return literals.text(node.this)
        return self._literal(lambda: literals.number(node.this), node)

    def _bind_hexstring(self, node: exp.HexString) -> Expression:
        return literals.binary(node.this)

    def _bind_boolean(self, node: exp.Boolean) -> Expression:
        return Literal(bool(node.this), BOOLEAN.with_nullable(False))

    def _bind_null(self, node: exp.Null) -> Expression:
        return Literal(None, NullType())

    def _bind_unknownliteral(self, node: nodes.UnknownLiteral) -> Expression:
        return Literal(None, BOOLEAN)

    def _bind_datetimeliteral(self, node: nodes.DateTimeLiteral) -> Expression:
        return self._literal(lambda: literals.date_time(node.name, node.args["text"]), node)

    def _bind_intervalliteral(self, node: nodes.IntervalLiteral) -> Expression:
        qualifier = node.args["qualifier"]
        return self._literal(lambda: literals.interval(node.this, qualifier, bool(node.args.get("negative"))), node)

    def _bind_intervalexpression(self, node: nodes.IntervalExpression) -> Expression:
        qualifier = node.args["qualifier"]
        inner = node.this
        if isinstance(inner, exp.Paren) and isinstance(inner.this, exp.Sub):
            points = [self.bind(inner.this.this), self.bind(inner.this.expression)]
            return self.call("TIME_DIFFERENCE", points, node, (qualifier.start,))
        amount = self.bind(inner)
        if not isinstance(amount.type, IntegerType):
            raise self.refuse("SQL_TYPE", f"INTERVAL takes an integer, found {summary(amount.type)}.", node)
        return self.interval_of(amount, qualifier.start, node)

    def interval_of(self, amount: Expression, unit: str, node: exp.Expr) -> Expression:
        """Returns a number of units as an interval."""
        return self.call("*", [amount, literals.interval("1", IntervalQualifier(unit))], node)

    # --------------------------------------------------------------------------------------------- operators

    def _bind_paren(self, node: exp.Paren) -> Expression:
        return self.bind(node.this)

    def _bind_neg(self, node: exp.Neg) -> Expression:
        inner = node.this
        if isinstance(inner, exp.Literal) and not inner.is_string:
            return self._literal(lambda: literals.number(inner.this, negative=True), node)
        return self.call("NEGATE", [self.bind(inner)], node)

    def _binary(self, name: str, node: exp.Expr) -> Expression:
        left, right = node.args["this"], node.args["expression"]
        if name in ("=", "<>") and isinstance(left, nodes.RowConstructor) and isinstance(right, nodes.RowConstructor):
            return self._rows(name, left, right, node)
        return self.call(name, [self.bind(left), self.bind(right)], node)

    def _rows(self, name: str, left: nodes.RowConstructor, right: nodes.RowConstructor, node: exp.Expr) -> Expression:
        """Rows are equal if their fields are."""
        if len(left.expressions) != len(right.expressions):
            raise self.refuse("SQL_TYPE", "The rows have different numbers of fields.", node)
        pairs = zip(self.bind_all(left.expressions), self.bind_all(right.expressions), strict=True)
        found: Expression | None = None
        for a, b in pairs:
            equal = self.call("=", [a, b], node)
            found = equal if found is None else self.call("AND", [found, equal], node)
        assert found is not None
        return found if name == "=" else self.call("NOT", [found], node)

    def _bind_not(self, node: exp.Not) -> Expression:
        inner = node.this
        if isinstance(inner, exp.Is):
            return self._is(inner, negative=True)
        return self.call("NOT", [self.bind(inner)], node)

    def _bind_is(self, node: exp.Is) -> Expression:
        return self._is(node, negative=False)

    def _is(self, node: exp.Is, negative: bool) -> Expression:
        test = node.expression
        value = self.bind(node.this)
        word = "NOT_" if negative else ""
        if isinstance(test, exp.Null):
            return self.call(f"IS_{word}NULL", [value], node)
        if isinstance(test, nodes.UnknownLiteral):
            if not isinstance(value.type, BooleanType | NullType):
                raise self.refuse("SQL_TYPE", f"IS UNKNOWN takes a boolean, found {summary(value.type)}.", node)
            return self.call(f"IS_{word}NULL", [value], node)
        if isinstance(test, exp.Boolean):
            return self.call(f"IS_{word}{'TRUE' if test.this else 'FALSE'}", [value], node)
        kind = test.name
        if not kind.startswith("JSON"):
            raise self.refuse("SQL_UNSUPPORTED", f"IS {kind} is not supported.", node)
        found = self.call("IS_JSON", [value], node, (kind.removeprefix("JSON "),))
        return self.call("NOT", [found], node) if negative else found

    def _bind_between(self, node: exp.Between) -> Expression:
        value, low, high = (self.bind(node.args[k]) for k in ("this", "low", "high"))

        def inside(a: Expression, b: Expression) -> Expression:
            return self.call("AND", [self.call(">=", [value, a], node), self.call("<=", [value, b], node)], node)

        if node.args.get("symmetric"):
            return self.call("OR", [inside(low, high), inside(high, low)], node)
        return inside(low, high)

    def _bind_in(self, node: exp.In) -> Expression:
        if node.args.get("query") is not None:
            raise self.refuse("SQL_UNSUPPORTED", "A subquery is not allowed here.", node)
        return self.call("IN", [self.bind(node.this), *self.bind_all(node.expressions)], node)

    def _bind_like(self, node: exp.Like) -> Expression:
        return self.call("LIKE", [self.bind(node.this), self.bind(node.expression)], node)

    def _bind_similarto(self, node: exp.SimilarTo) -> Expression:
        return self.call("SIMILAR", [self.bind(node.this), self.bind(node.expression)], node)

    def _bind_escape(self, node: exp.Escape) -> Expression:
        name = "LIKE" if isinstance(node.this, exp.Like) else "SIMILAR"
        return self.call(name, self.bind_all([node.this.this, node.this.expression, node.expression]), node)

    def _bind_overlaps(self, node: exp.Overlaps) -> Expression:
        sides = [node.this, node.expression]
        if not all(isinstance(s, nodes.RowConstructor) and len(s.expressions) == 2 for s in sides):
            raise self.refuse("SQL_TYPE", "OVERLAPS takes two periods such as (start, end).", node)
        return self.call("OVERLAPS", [self.bind(e) for s in sides for e in s.expressions], node)

    # ------------------------------------------------------------------------------------- composed operands

    def _bind_case(self, node: exp.Case) -> Expression:
        operand = None if node.this is None else self.bind(node.this)
        arguments: list[Expression] = []
        for branch in node.args["ifs"]:
            arguments.append(self._when(operand, branch.this))
            arguments.append(self.bind(branch.args["true"]))
        default = node.args.get("default")
        arguments.append(Literal(None, NullType()) if default is None else self.bind(default))
        return self.case(arguments, node)

    def _when(self, operand: Expression | None, node: exp.Expr) -> Expression:
        if operand is None:
            return self.condition(node)
        values = node.expressions if isinstance(node, nodes.ValueList) else [node]
        found: Expression | None = None
        for value in values:
            equal = self.call("=", [operand, self.bind(value)], node)
            found = equal if found is None else self.call("OR", [found, equal], node)
        assert found is not None
        return found

    def case(self, arguments: list[Expression], node: exp.Expr) -> Expression:
        """Types a CASE: conditions and values in turn, and the default."""
        return self.call("CASE", arguments, node)

    def _bind_cast(self, node: exp.Cast) -> Expression:
        return self._cast("CAST", node)

    def _bind_trycast(self, node: exp.TryCast) -> Expression:
        return self._cast("TRY_CAST", node)

    def _cast(self, name: str, node: exp.Expr) -> Expression:
        written = node.args["to"].this
        target = self._type(written, node)
        value = self.bind(node.args["this"])
        if isinstance(target, INTERVALS) and isinstance(value.type, IntegerType):
            return self.interval_of(value, written.qualifier.end or written.qualifier.start, node)
        if isinstance(value.type, NullType):
            return Literal(None, target.with_nullable(True))
        return self.call(name, [value], node, (target,))

    def _type(self, written: nodes.TypeReference, node: exp.Expr) -> LogicalType:
        try:
            return resolve_type(written)  # type: ignore[arg-type]
        except SqlValidationError as error:
            if not error.line or not error.column:
                raise self.refuse(error.code, error.text, node) from error
            raise refused_at(error.code, error.text, Position(error.line, error.column), self.text) from error

    def _bind_arrayconstructor(self, node: nodes.ArrayConstructor) -> Expression:
        return self._constructor("ARRAY", node)

    def _bind_mapconstructor(self, node: nodes.MapConstructor) -> Expression:
        return self._constructor("MAP", node)

    def _bind_rowconstructor(self, node: nodes.RowConstructor) -> Expression:
        return self._constructor("ROW", node)

    def _constructor(self, name: str, node: exp.Expr) -> Expression:
        if node.args.get("query") is not None:
            raise self.refuse("SQL_UNSUPPORTED", "A subquery is not allowed here.", node)
        return self.call(name, self.bind_all(node.expressions), node)

    def _bind_alias(self, node: exp.Alias) -> Expression:
        return self.bind(node.this)
