"""Trees of expressions: operators, literals, calls, types and positions."""

from __future__ import annotations

import pytest
from sqlglot import exp

from penstock.table.dialect import nodes, parse_expression, position
from penstock.table.dialect.data_type import IntervalQualifier, SqlType
from tests.unit.table.dialect.grouping import grouped

GROUPS = [
    ("a + b * c", "(a + (b * c))"),
    ("a - b - c", "((a - b) - c)"),
    ("a || b + c", "((a || b) + c)"),
    ("a * b || c", "((a * b) || c)"),
    ("a % b / c", "((a % b) / c)"),
    ("-a * b", "((- a) * b)"),
    ("- a[1].b", "(- a[1].b)"),
    ("NOT a = b", "(NOT (a = b))"),
    ("NOT a AND b OR c", "(((NOT a) AND b) OR c)"),
    ("a OR b AND c", "(a OR (b AND c))"),
    ("a = b IS NULL", "((a = b) IS NULL)"),
    ("a IS NULL = b", "((a IS NULL) = b)"),
    ("a + b IS NOT NULL", "(NOT ((a + b) IS NULL))"),
    ("a = b = c", "((a = b) = c)"),
    ("a < b = c", "((a < b) = c)"),
    ("a BETWEEN b AND c AND d", "((a BETWEEN b AND c) AND d)"),
    ("a NOT BETWEEN b + 1 AND c", "(NOT (a BETWEEN (b + 1) AND c))"),
    ("a NOT IN (1, 2) AND b", "((NOT (a IN (1, 2))) AND b)"),
    ("a LIKE b || c", "(a LIKE (b || c))"),
    ("a NOT LIKE 'x' ESCAPE '\\'", "(NOT ((a LIKE 'x') ESCAPE '\\'))"),
    ("a SIMILAR TO b", "(a SIMILARTO b)"),
    ("a IS NOT DISTINCT FROM b + 1", "(a NULLSAFEEQ (b + 1))"),
    ("a IS DISTINCT FROM b LIKE c", "(a NULLSAFENEQ (b LIKE c))"),
    ("a <> b AND a >= b", "((a <> b) AND (a >= b))"),
]


@pytest.mark.parametrize(("text", "expected"), GROUPS)
def test_precedence(text: str, expected: str) -> None:
    assert grouped(parse_expression(text)) == expected


@pytest.mark.parametrize(
    ("text", "kind", "value"),
    [
        ("'it''s'", exp.Literal, "it's"),
        ("'a'\n'b'", exp.Literal, "ab"),
        ("N'a'", exp.Literal, "a"),
        ("_utf8'a'", exp.Literal, "a"),
        ("E'a\\tb\\x41'", exp.Literal, "a\tbA"),
        ("U&'\\0041\\\\b'", exp.Literal, "A\\b"),
        ("U&'!0041' UESCAPE '!'", exp.Literal, "A"),
        ("12", exp.Literal, "12"),
        ("1.5e-3", exp.Literal, "1.5e-3"),
        (".5", exp.Literal, ".5"),
        ("DECIMAL '1.50'", exp.Literal, "1.50"),
        ("x'0aFF'", exp.HexString, "0aFF"),
    ],
)
def test_literals(text: str, kind: type[exp.Expr], value: str) -> None:
    literal = parse_expression(text)
    assert isinstance(literal, kind)
    assert literal.this == value


def test_constants() -> None:
    assert isinstance(parse_expression("NULL"), exp.Null)
    assert isinstance(parse_expression("UNKNOWN"), nodes.UnknownLiteral)
    truth = parse_expression("TRUE")
    assert isinstance(truth, exp.Boolean)
    assert truth.this is True


@pytest.mark.parametrize(
    ("text", "kind", "value"),
    [
        ("DATE '2024-01-31'", "DATE", "2024-01-31"),
        ("TIME '10:00:00.123'", "TIME", "10:00:00.123"),
        ("TIMESTAMP '2024-01-31 10:00:00'", "TIMESTAMP", "2024-01-31 10:00:00"),
        (
            "timestamp with local time zone '2024-01-31 10:00:00'",
            "TIMESTAMP WITH LOCAL TIME ZONE",
            "2024-01-31 10:00:00",
        ),
    ],
)
def test_times(text: str, kind: str, value: str) -> None:
    literal = parse_expression(text)
    assert isinstance(literal, nodes.DateTimeLiteral)
    assert (literal.this, literal.args["text"]) == (kind, value)


@pytest.mark.parametrize(
    ("text", "value", "negative", "qualifier"),
    [
        ("INTERVAL '1' DAY", "1", False, IntervalQualifier("DAY")),
        ("INTERVAL '10' MINUTES", "10", False, IntervalQualifier("MINUTE")),
        ("INTERVAL -'1-2' YEAR(4) TO MONTH", "1-2", True, IntervalQualifier("YEAR", "MONTH", 4)),
        ("INTERVAL '1 2:3:4.5' DAY TO SECOND(3)", "1 2:3:4.5", False, IntervalQualifier("DAY", "SECOND", None, 3)),
        ("INTERVAL '1.5' SECOND(2, 1)", "1.5", False, IntervalQualifier("SECOND", None, 2, 1)),
    ],
)
def test_intervals(text: str, value: str, negative: bool, qualifier: IntervalQualifier) -> None:
    literal = parse_expression(text)
    assert isinstance(literal, nodes.IntervalLiteral)
    assert (literal.this, literal.args["negative"], literal.args["qualifier"]) == (value, negative, qualifier)


def test_intervals_of_expressions() -> None:
    for text in ("INTERVAL a.b DAY", "INTERVAL (1 + a) HOUR", "INTERVAL 3 MONTH", "(a - b) DAY"):
        assert isinstance(parse_expression(text), nodes.IntervalExpression), text


@pytest.mark.parametrize(
    "text",
    [
        "DECIMAL(10, 2)",
        "VARCHAR(3)",
        "STRING",
        "TIMESTAMP_LTZ(3)",
        "INTERVAL DAY(3) TO SECOND(6)",
        "ARRAY<MAP<STRING, INT NOT NULL>>",
        "ROW<`a` INT NOT NULL, `b` ROW<`c` BYTES>>",
        "RAW('a.B', 'x==')",
        "MULTISET<DOUBLE>",
    ],
)
def test_types(text: str) -> None:
    cast = parse_expression(f"TRY_CAST(x AS {text})")
    assert isinstance(cast, exp.TryCast)
    assert str(cast.args["to"].this) == text


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("INTEGER", "INT"),
        ("NUMERIC(3)", "DECIMAL(3)"),
        ("CHARACTER VARYING(2)", "VARCHAR(2)"),
        ("BINARY VARYING(2)", "VARBINARY(2)"),
        ("DOUBLE PRECISION", "DOUBLE"),
        ("TIMESTAMP(2) WITH LOCAL TIME ZONE", "TIMESTAMP_LTZ(2)"),
        ("TIMESTAMP WITHOUT TIME ZONE", "TIMESTAMP"),
        ("INT ARRAY MULTISET", "MULTISET<ARRAY<INT>>"),
        ("ROW(a INT, b STRING)", "ROW<`a` INT, `b` STRING>"),
        ("ROW<>", "ROW<>"),
        ("my.`Type`", "`my`.`Type`"),
    ],
)
def test_other_names_of_types(text: str, name: str) -> None:
    to = parse_expression(f"CAST(x AS {text})").args["to"].this
    assert isinstance(to, SqlType)
    assert str(to) == name


def _call(text: str) -> nodes.Call:
    call = parse_expression(text)
    assert isinstance(call, nodes.Call)
    return call


def test_calls_keep_the_name_as_written() -> None:
    assert _call("toTimestamp(a, 'x')").this == "toTimestamp"
    assert _call("Upper(a)").this == "Upper"
    call = _call("c.d.`my f`(1)")
    assert (call.this, call.args["path"]) == ("my f", ["c", "d"])
    assert _call("IF(a, b, c)").this == "IF"
    assert _call("current_date").args["parentheses"] is False
    assert len(_call("NOW()").expressions) == 0
    assert isinstance(_call("COUNT(*)").expressions[0], exp.Star)
    assert _call("SUM(DISTINCT a)").args["quantifier"] == "DISTINCT"


@pytest.mark.parametrize(
    ("text", "arguments", "clause", "value"),
    [
        ("EXTRACT(DAY FROM a)", ["a"], "unit", "DAY"),
        ("FLOOR(a TO HOUR)", ["a"], "unit", "HOUR"),
        ("CEIL(a)", ["a"], "unit", None),
        ("TIMESTAMPADD(MINUTE, 1, a)", ["1", "a"], "unit", "MINUTE"),
        ("TIMESTAMPDIFF(SQL_TSI_DAY, a, b)", ["a", "b"], "unit", "DAY"),
        ("POSITION('x' IN a)", ["'x'", "a"], "unit", None),
        ("TRIM(a)", ["a"], "flag", "BOTH"),
        ("TRIM(LEADING 'x' FROM a)", ["a", "'x'"], "flag", "LEADING"),
        ("TRIM(TRAILING FROM a)", ["a"], "flag", "TRAILING"),
        ("OVERLAY(a PLACING b FROM 1 FOR 2)", ["a", "b", "1", "2"], "flag", None),
        ("SUBSTRING(a FROM 2 FOR 3)", ["a", "2", "3"], "flag", None),
        ("SUBSTRING(a, 2)", ["a", "2"], "flag", None),
    ],
)
def test_calls_with_their_own_syntax(text: str, arguments: list[str], clause: str, value: str | None) -> None:
    call = _call(text)
    assert [grouped(argument) for argument in call.expressions] == arguments
    assert call.args.get(clause) == value


def test_json_functions() -> None:
    value = _call("JSON_VALUE(j, '$.a' RETURNING INT DEFAULT 5 ON EMPTY ERROR ON ERROR)")
    assert str(value.args["returning"].this) == "INT"
    assert value.args["on_empty"].this == "DEFAULT"
    assert value.args["on_empty"].expression.this == "5"
    assert value.args["on_error"].this == "ERROR"
    query = _call(
        "JSON_QUERY(j, 'lax $.a' RETURNING ARRAY<STRING> WITH CONDITIONAL ARRAY WRAPPER EMPTY ARRAY ON EMPTY)"
    )
    assert (query.args["wrapper"], query.args["on_empty"].this) == ("WITH CONDITIONAL", "EMPTY ARRAY")
    assert _call("JSON_EXISTS(j, '$.a' TRUE ON ERROR)").args["on_error"].this == "TRUE"
    made = _call("JSON_OBJECT(KEY 'a' VALUE 1, 'b' VALUE NULL, 'c': x ABSENT ON NULL)")
    assert (len(made.expressions), made.args["on_null"]) == (3, "ABSENT")
    assert _call("JSON_ARRAY(1, NULL NULL ON NULL)").args["on_null"] == "NULL"
    assert _call("JSON_OBJECTAGG(KEY k VALUE v)").expressions[0].this.name == "k"
    assert isinstance(parse_expression("j IS NOT JSON OBJECT"), exp.Not)


def test_aggregate_and_window_clauses() -> None:
    window = parse_expression(
        "LAST_VALUE(a) IGNORE NULLS FILTER (WHERE b > 1) OVER (w PARTITION BY c ORDER BY d DESC NULLS LAST "
        "RANGE BETWEEN INTERVAL '1' HOUR PRECEDING AND CURRENT ROW)"
    )
    assert isinstance(window, exp.Window)
    assert isinstance(window.this, exp.Filter)
    assert window.this.this.args["nulls"] == "IGNORE"
    assert window.args["alias"].name == "w"
    spec = window.args["spec"]
    assert (spec.args["kind"], spec.args["start_side"], spec.args["end"]) == ("RANGE", "PRECEDING", "CURRENT ROW")
    (order,) = window.args["order"].expressions
    assert (order.args["desc"], order.args["nulls_first"]) == (True, False)
    grouped_call = parse_expression("LISTAGG(a, ',') WITHIN GROUP (ORDER BY b)")
    assert isinstance(grouped_call, exp.WithinGroup)


def test_constructors() -> None:
    assert isinstance(parse_expression("ARRAY[1, ARRAY[]]"), nodes.ArrayConstructor)
    assert isinstance(parse_expression("MAP['a', 1]"), nodes.MapConstructor)
    assert isinstance(parse_expression("ROW(1, 'a')"), nodes.RowConstructor)
    assert isinstance(parse_expression("(1, 'a')"), nodes.RowConstructor)
    assert isinstance(parse_expression("(1)"), exp.Paren)


def test_subqueries() -> None:
    inside = parse_expression("a IN (SELECT b FROM t)")
    assert isinstance(inside, exp.In)
    assert isinstance(inside.args["query"], exp.Subquery)
    assert isinstance(parse_expression("EXISTS (SELECT 1)"), exp.Exists)
    assert isinstance(parse_expression("(SELECT 1) + 2"), exp.Add)
    assert isinstance(parse_expression("((SELECT 1) UNION (SELECT 2))"), exp.Subquery)
    compared = parse_expression("a > ALL (SELECT b FROM t)")
    assert isinstance(compared.expression, nodes.Quantified)


def test_columns() -> None:
    column = parse_expression("c.d.t.`my column`")
    assert isinstance(column, exp.Column)
    assert [part.name for part in column.parts] == ["c", "d", "t", "my column"]
    nested = parse_expression("a.b.c.d.e.f")
    assert isinstance(nested, exp.Dot)
    assert nested.expression.name == "f"
    assert isinstance(parse_expression("f(x).y[1]"), exp.Bracket)
    assert isinstance(parse_expression("`time`"), exp.Column)


def test_case() -> None:
    case = parse_expression("CASE a WHEN 1, 2 THEN 'x' ELSE 'y' END")
    assert isinstance(case, exp.Case)
    assert isinstance(case.args["ifs"][0].this, nodes.ValueList)
    searched = parse_expression("CASE WHEN a THEN 1 WHEN b THEN 2 END")
    assert searched.this is None
    assert searched.args.get("default") is None


def test_positions_of_columns_functions_and_literals() -> None:
    tree = parse_expression("a +\n  f(b,\n 'x', 1.5)")
    (call,) = tree.find_all(nodes.Call)
    columns = [position(column) for column in tree.find_all(exp.Column)]
    literals = [position(literal) for literal in tree.find_all(exp.Literal)]
    assert position(call) == (2, 3)
    assert sorted(columns) == [(1, 1), (2, 5)]
    assert sorted(literals) == [(3, 2), (3, 7)]
    assert position(tree) == (1, 1)
