"""The binder: names, implicit casts, errors with a position and the closest name."""

from __future__ import annotations

import pytest

from penstock.errors import SqlValidationError
from penstock.runtime.relational.expressions.tree import Call, Column, Literal, columns_of
from penstock.table.binder.expressions import ExpressionBinder
from penstock.table.binder.scope import Scope, ScopeColumn
from penstock.table.dialect import parse_expression
from penstock.types.logical.kinds import BIGINT, INT, LogicalType
from penstock.types.logical.text import parse_type, summary

SCOPE = Scope.of(
    [
        ("price", parse_type("DECIMAL(10, 2)")),
        ("Name", parse_type("STRING")),
        ("r", parse_type("ROW<id INT NOT NULL, tags ARRAY<STRING>>")),
    ],
    "bids",
)


def bind(text: str, scope: Scope = SCOPE) -> Column | Literal | Call:
    return ExpressionBinder(scope, text).bind(parse_expression(text))


def type_of(text: str) -> str:
    return summary(bind(text).type)


def error(text: str, scope: Scope = SCOPE) -> SqlValidationError:
    with pytest.raises(SqlValidationError) as caught:
        bind(text, scope)
    return caught.value


def test_columns_by_name_table_and_field() -> None:
    assert bind("price") == Column(0, parse_type("DECIMAL(10, 2)"), "price")
    assert bind("bids.price") == bind("price")
    assert type_of("bids.r.id") == "INT"  # the row may be null
    assert type_of("r.tags[1]") == "STRING"
    assert columns_of(bind("r.id + price")) == {0, 2}


def test_names_of_columns_are_case_sensitive() -> None:
    found = error("1 +\n  name")
    assert (found.code, found.line, found.column) == ("SQL_COLUMN", 2, 3)
    assert "Did you mean 'Name'?" in str(found)
    assert "  name\n    ^" in str(found)


def test_unknown_function_and_field() -> None:
    assert "Did you mean UPPER?" in str(error("UPER(Name)"))
    assert "Did you mean 'tags'?" in str(error("r.tag"))


def test_an_ambiguous_column_needs_its_table() -> None:
    scope = Scope([ScopeColumn("id", INT, 0, ("a",)), ScopeColumn("id", BIGINT, 1, ("b",))])
    assert "ambiguous" in str(error("id", scope))
    assert isinstance(bind("b.id", scope), Column)


def test_operands_are_cast_to_a_common_type() -> None:
    found = bind("price = 1")
    assert isinstance(found, Call)
    assert summary(found.arguments[1].type) == "DECIMAL(12, 2) NOT NULL"


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("Name + 1", "SQL_TYPE"),
        ("COUNT(price)", "SQL_AGGREGATE"),
        ("CASE WHEN price THEN 1 END", "SQL_TYPE"),
        ("UPPER()", "SQL_TYPE"),
        ("DATE '2023-02-29'", "SQL_LITERAL"),
        ("CAST(1 AS DECIMAL(50, 2))", "SQL_TYPE"),
        ("EXTRACT(FORTNIGHT FROM DATE '2024-01-01')", "SQL_TYPE"),
        ("price IN (SELECT 1)", "SQL_UNSUPPORTED"),
    ],
)
def test_refused_before_anything_runs(text: str, code: str) -> None:
    assert error(text).code == code


def test_the_hook_binds_what_belongs_to_the_planner() -> None:
    sum_of_prices: LogicalType = parse_type("DECIMAL(38, 2)")
    binder = ExpressionBinder(SCOPE, hook=lambda node: Column(7, sum_of_prices, "sum") if node.name == "SUM" else None)
    assert summary(binder.bind(parse_expression("SUM(price) + 1")).type) == "DECIMAL(38, 2)"
