"""Writes expressions: names in backticks, operators with blanks, parentheses only where they are needed."""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from penstock.table.dialect import nodes
from penstock.table.dialect.data_type import SqlType

_BINARY: dict[type[exp.Expr], tuple[str, int]] = {
    exp.Or: ("OR", 22),
    exp.And: ("AND", 24),
    exp.EQ: ("=", 30),
    exp.NEQ: ("<>", 30),
    exp.LT: ("<", 30),
    exp.LTE: ("<=", 30),
    exp.GT: (">", 30),
    exp.GTE: (">=", 30),
    exp.NullSafeEQ: ("IS NOT DISTINCT FROM", 30),
    exp.NullSafeNEQ: ("IS DISTINCT FROM", 30),
    exp.Overlaps: ("OVERLAPS", 30),
    exp.Like: ("LIKE", 32),
    exp.ILike: ("ILIKE", 32),
    exp.SimilarTo: ("SIMILAR TO", 32),
    exp.Add: ("+", 40),
    exp.Sub: ("-", 40),
    exp.Mul: ("*", 60),
    exp.Div: ("/", 60),
    exp.Mod: ("%", 60),
    exp.DPipe: ("||", 60),
}
_NOT, _IS, _RANGE, _UNARY, _OPERAND = 26, 28, 32, 80, 100
_TYPE_NAMES = {"INT": "INTEGER"}


def name_text(name: str) -> str:
    """Returns a name in backticks.

    >>> name_text("a`b")
    '`a``b`'
    """
    return f"`{name.replace('`', '``')}`"


def string_text(value: str) -> str:
    """Returns a text in single quotes."""
    return "'" + value.replace("'", "''") + "'"


def type_text(written: SqlType) -> str:
    """Returns the text of a type inside an expression.

    >>> type_text(SqlType("DECIMAL", (5, 2)))
    'DECIMAL(5, 2)'
    """
    name = _TYPE_NAMES.get(written.name, written.name)
    null = " NOT NULL" if written.nullable is False else ""
    if written.name == "ROW":
        fields = ", ".join(f"{name_text(c.name or '')} {type_text(c.type)}" for c in written.children)
        return f"ROW< {fields} >{null}"
    if written.children:
        return f"{name}< {', '.join(type_text(c.type) for c in written.children)} >{null}"
    if written.name == "INTERVAL":
        return f"INTERVAL {written.qualifier}{null}"
    if written.arguments and written.name not in ("USER", "RAW", "STRUCTURED"):
        return f"{name}({', '.join(str(a) for a in written.arguments)}){null}"
    return f"{name}{null}" if not written.arguments else str(written)


class ExpressionText:
    """Writes expressions. `query` writes the subqueries in them; without it they are not possible.

    `resolve` returns the full name of a column. If `resolved`, functions are looked up before they are written.

    >>> from penstock.table.dialect import parse_expression
    >>> ExpressionText().text(parse_expression("upper(a) || 'x' = (b + 1) * 2"))
    "UPPER(`a`) || 'x' = (`b` + 1) * 2"
    >>> ExpressionText(resolved=False).text(parse_expression("upper(to_date(a))"))
    'UPPER(`to_date`(`a`))'
    """

    def __init__(
        self,
        query: Callable[[exp.Expr], str] | None = None,
        resolve: Callable[[list[str]], list[str]] | None = None,
        resolved: bool = True,
    ) -> None:
        self._query = query
        self.resolved = resolved
        self._resolve = resolve

    def text(self, node: exp.Expr) -> str:
        """Returns the text of an expression."""
        return self._write(node)[0]

    def texts(self, parts: list[exp.Expr]) -> str:
        """Returns expressions with commas between them."""
        return ", ".join(self.text(part) for part in parts)

    def operand(self, node: exp.Expr, precedence: int) -> str:
        """Returns the text of an operand, in parentheses if it binds less tightly than `precedence`."""
        text, own = self._write(node)
        return text if own >= precedence else f"({text})"

    def _write(self, node: exp.Expr) -> tuple[str, int]:
        binary = _BINARY.get(type(node))
        if binary is not None:
            symbol, precedence = binary
            left = self.operand(node.args["this"], precedence)
            right = self.operand(node.args["expression"], precedence + 1)
            return f"{left} {symbol} {right}", precedence
        method = getattr(self, f"_write_{type(node).__name__.lower()}", None)
        if method is None:
            raise NotImplementedError(type(node).__name__)
        found = method(node)
        return found if isinstance(found, tuple) else (found, _OPERAND)

    # -- operators

    def _write_paren(self, node: exp.Paren) -> tuple[str, int]:
        return self._write(node.this)

    def _write_not(self, node: exp.Not) -> tuple[str, int]:
        inner = node.this
        if isinstance(inner, exp.Is):
            return self._is(inner, "NOT ")
        if isinstance(inner, exp.Between):
            return self._between(inner, "NOT ")
        if isinstance(inner, exp.In):
            return self._in(inner, "NOT ")
        if isinstance(inner, exp.Like | exp.SimilarTo | exp.Escape):
            return self._like(inner, "NOT ")
        return f"NOT {self.operand(inner, _NOT)}", _NOT

    def _write_is(self, node: exp.Is) -> tuple[str, int]:
        return self._is(node, "")

    def _is(self, node: exp.Is, negation: str) -> tuple[str, int]:
        test = node.expression
        word = test.name if isinstance(test, exp.Var) else "UNKNOWN"
        if isinstance(test, exp.Null):
            word = "NULL"
        elif isinstance(test, exp.Boolean):
            word = "TRUE" if test.this else "FALSE"
        return f"{self.operand(node.this, _IS)} IS {negation}{word}", _IS

    def _write_between(self, node: exp.Between) -> tuple[str, int]:
        return self._between(node, "")

    def _between(self, node: exp.Between, negation: str) -> tuple[str, int]:
        symmetry = "SYMMETRIC" if node.args.get("symmetric") else "ASYMMETRIC"
        value, low, high = (self.operand(node.args[k], _RANGE) for k in ("this", "low", "high"))
        return f"{value} {negation}BETWEEN {symmetry} {low} AND {high}", _RANGE

    def _write_in(self, node: exp.In) -> tuple[str, int]:
        return self._in(node, "")

    def _in(self, node: exp.In, negation: str) -> tuple[str, int]:
        query = node.args.get("query")
        inner = self.texts(node.expressions) if query is None else self.subquery(query)
        return f"{self.operand(node.this, _RANGE)} {negation}IN ({inner})", _RANGE

    def _write_escape(self, node: exp.Escape) -> tuple[str, int]:
        return self._like(node, "")

    def _like(self, node: exp.Expr, negation: str) -> tuple[str, int]:
        match, escape = (
            (node.this, f" ESCAPE {self.text(node.expression)}") if isinstance(node, exp.Escape) else (node, "")
        )
        word = _BINARY[type(match)][0]
        left, right = self.operand(match.this, _RANGE), self.operand(match.expression, _RANGE + 1)
        return f"{left} {negation}{word} {right}{escape}", _RANGE

    def _write_neg(self, node: exp.Neg) -> tuple[str, int]:
        inner = node.this
        if isinstance(inner, exp.Literal) and not inner.is_string:
            return f"-{self.text(inner)}", _OPERAND
        return f"- {self.operand(inner, _UNARY)}", _UNARY

    def _write_case(self, node: exp.Case) -> str:
        parts = []
        for branch in node.args["ifs"]:
            when = branch.this if node.this is None else _equal(node.this, branch.this)
            parts.append(f"WHEN {self.text(when)} THEN {self.text(branch.args['true'])}")
        default = node.args.get("default")
        return f"CASE {' '.join(parts)} ELSE {'NULL' if default is None else self.text(default)} END"

    def _write_cast(self, node: exp.Cast) -> str:
        return f"CAST({self.text(node.this)} AS {type_text(node.args['to'].this)})"

    def _write_trycast(self, node: exp.TryCast) -> str:
        return f"TRY_CAST({self.text(node.this)} AS {type_text(node.args['to'].this)})"

    # -- operands

    def _write_column(self, node: exp.Column) -> str:
        if any(isinstance(part, exp.Star) for part in node.parts):
            raise NotImplementedError("a star")
        parts = [part.name for part in node.parts]
        return ".".join(name_text(part) for part in (self._resolve(parts) if self._resolve else parts))

    def _write_identifier(self, node: exp.Identifier) -> str:
        return name_text(node.name)

    def _write_dot(self, node: exp.Dot) -> str:
        inner = node.this
        text = self.text(inner)
        return f"{text if isinstance(inner, exp.Column | exp.Dot) else f'({text})'}.{name_text(node.expression.name)}"

    def _write_bracket(self, node: exp.Bracket) -> str:
        return f"{self.operand(node.this, _OPERAND)}[{self.text(node.expressions[0])}]"

    def _write_star(self, node: exp.Star) -> str:
        return "*"

    def _write_alias(self, node: exp.Alias) -> str:
        return f"{self.text(node.this)} AS {name_text(node.alias)}"

    def _write_literal(self, node: exp.Literal) -> str:
        return string_text(node.this) if node.is_string else node.this.upper()

    def _write_hexstring(self, node: exp.HexString) -> str:
        return f"X'{node.this.upper()}'"

    def _write_boolean(self, node: exp.Boolean) -> str:
        return "TRUE" if node.this else "FALSE"

    def _write_null(self, node: exp.Null) -> str:
        return "NULL"

    def _write_unknownliteral(self, node: nodes.UnknownLiteral) -> str:
        return "UNKNOWN"

    def _write_datetimeliteral(self, node: nodes.DateTimeLiteral) -> str:
        return f"{node.this} {string_text(node.args['text'])}"

    def _write_intervalliteral(self, node: nodes.IntervalLiteral) -> str:
        sign = "-" if node.args.get("negative") else ""
        return f"INTERVAL {sign}{string_text(node.this)} {node.args['qualifier']}"

    def _write_intervalexpression(self, node: nodes.IntervalExpression) -> str:
        inner = node.this
        if isinstance(inner, exp.Paren):
            return f"({self.text(inner)}) {node.args['qualifier']}"
        return f"INTERVAL ({self.text(inner)}) {node.args['qualifier']}"

    def _write_arrayconstructor(self, node: nodes.ArrayConstructor) -> str:
        return self._constructor("ARRAY", node)

    def _write_mapconstructor(self, node: nodes.MapConstructor) -> str:
        return self._constructor("MAP", node)

    def _write_multisetconstructor(self, node: nodes.MultisetConstructor) -> str:
        return self._constructor("MULTISET", node)

    def _constructor(self, word: str, node: exp.Expr) -> str:
        query = node.args.get("query")
        return f"{word}[{self.texts(node.expressions)}]" if query is None else f"{word}({self.subquery(query)})"

    def _write_rowconstructor(self, node: nodes.RowConstructor) -> str:
        periods = isinstance(node.parent, exp.Overlaps)
        return f"{'' if periods else 'ROW'}({self.texts(node.expressions)})"

    def _write_tuple(self, node: exp.Tuple) -> str:
        return f"ROW({self.texts(node.expressions)})"

    def _write_placeholder(self, node: exp.Placeholder) -> str:
        return "?"

    # -- subqueries

    def subquery(self, node: exp.Expr) -> str:
        """Returns the text of a query inside the expression."""
        if self._query is None:
            raise NotImplementedError("a subquery")
        return self._query(node.this if isinstance(node, exp.Subquery) else node)

    def _write_subquery(self, node: exp.Subquery) -> str:
        return f"((({self.subquery(node)})))"  # Flink writes three pairs of parentheses around a scalar query

    def _write_exists(self, node: exp.Exists) -> str:
        return f"EXISTS ({self.subquery(node.this)})"

    def _write_quantified(self, node: nodes.Quantified) -> str:
        query = node.args.get("query")
        inner = self.texts(node.expressions) if query is None else self.subquery(query)
        return f"{node.this} ({inner})"

    # -- calls

    def _write_call(self, node: nodes.Call) -> str:
        from penstock.table.catalog.sql_text.calls import call_text  # calls have operands, which are written here

        return call_text(self, node)

    def _write_filter(self, node: exp.Filter) -> str:
        return f"{self.text(node.this)} FILTER (WHERE {self.text(node.expression.this)})"

    def _write_withingroup(self, node: exp.WithinGroup) -> str:
        return f"{self.text(node.this)} WITHIN GROUP ({self.order(node.expression)})"

    def order(self, node: exp.Order) -> str:
        """Returns ORDER BY with its items."""
        return f"ORDER BY {', '.join(self.ordered(item) for item in node.expressions)}"

    def ordered(self, item: exp.Ordered) -> str:
        """Returns an item of ORDER BY."""
        nulls = {None: "", True: " NULLS FIRST", False: " NULLS LAST"}[item.args.get("nulls_first")]
        return f"{self.text(item.this)}{' DESC' if item.args.get('desc') else ''}{nulls}"

    def _write_window(self, node: exp.Window) -> str:
        alias = node.args.get("alias")
        parts = self.window_parts(node)
        if alias is not None and not parts:
            return f"{self.text(node.this)} OVER {name_text(alias.name)}"
        base = f"{name_text(alias.name)} " if alias is not None else ""
        return f"{self.text(node.this)} OVER ({base}{parts})"

    def window_parts(self, node: exp.Window) -> str:
        """Returns PARTITION BY, ORDER BY and the frame of a window."""
        parts = []
        if node.args.get("partition_by"):
            parts.append(f"PARTITION BY {self.texts(node.args['partition_by'])}")
        if node.args.get("order") is not None:
            parts.append(self.order(node.args["order"]))
        spec = node.args.get("spec")
        if spec is not None:
            start, end = self._bound(spec, "start"), self._bound(spec, "end")
            parts.append(f"{spec.args['kind']} {f'BETWEEN {start} AND {end}' if end else start}")
        return " ".join(parts)

    def _bound(self, spec: exp.WindowSpec, end: str) -> str:
        value, side = spec.args.get(end), spec.args.get(f"{end}_side")
        if value is None:
            return ""
        text = value if isinstance(value, str) else self.text(value)
        return f"{text} {side}" if side else text


def _equal(operand: exp.Expr, value: exp.Expr) -> exp.Expr:
    """CASE a WHEN b is a = b, and WHEN b, c is a IN (b, c)."""
    if isinstance(value, nodes.ValueList):
        return exp.In(this=operand.copy(), expressions=[v.copy() for v in value.expressions])
    return exp.EQ(this=operand.copy(), expression=value.copy())
