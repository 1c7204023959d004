"""The text form of elements in Flink. The expected texts are the output of Flink 2.3."""

from __future__ import annotations

import datetime
from decimal import Decimal
from typing import Any

import pytest

from penstock import Instant, Row, RowKind, Types
from penstock.types import TypeInformation
from penstock.types.flink_text import flink_formatter, print_formatter


@pytest.mark.parametrize(
    ("kind", "value", "text"),
    [
        (Types.STRING(), "a b", "a b"),
        (Types.BOOLEAN(), False, "false"),
        (Types.LONG(), -5, "-5"),
        (Types.DOUBLE(), 100.0, "100.0"),
        (Types.DOUBLE(), 1e-5, "1.0E-5"),
        (Types.DOUBLE(), 123456789.0, "1.23456789E8"),
        (Types.DOUBLE(), float("nan"), "NaN"),
        (Types.DOUBLE(), float("-inf"), "-Infinity"),
        (Types.FLOAT(), 110.0999984741211, "110.1"),
        (Types.BIG_DEC(), Decimal("1.50"), "1.50"),
        (Types.SQL_DATE(), datetime.date(2024, 2, 3), "2024-02-03"),
        (Types.SQL_TIME(), datetime.time(4, 5, 6), "04:05:06"),
        (Types.SQL_TIME(), datetime.time(4, 5, 6, 123000), "04:05:06"),
        (Types.SQL_TIMESTAMP(), datetime.datetime(2024, 2, 3, 4, 5, 6), "2024-02-03 04:05:06.0"),
        (Types.INSTANT(), Instant(1, 0), "1970-01-01T00:00:01Z"),
        (Types.LIST(Types.INT()), [1, 2], "[1, 2]"),
        (Types.MAP(Types.STRING(), Types.BOOLEAN()), {"a": True, "b": None}, "{a=true, b=null}"),
        (Types.TUPLE([Types.STRING(), Types.TUPLE([Types.INT()]), Types.INT()]), ("a", (1,), None), "(a,(1),null)"),
        (Types.ROW([Types.STRING(), Types.INT()]), Row.of_kind(RowKind.DELETE, "a", 1), "-D[a, 1]"),
        (Types.INT(), None, "null"),
    ],
)
def test_as_text(kind: TypeInformation, value: Any, text: str) -> None:
    assert flink_formatter(kind)(value) == text


def test_printed_rows_use_python_literals() -> None:
    row = Types.ROW_NAMED(["a", "b", "c"], [Types.STRING(), Types.BOOLEAN(), Types.INT()])
    assert print_formatter(row)(row.convert(("x", True, None))) == "+I[x,True,None]"
    assert print_formatter(Types.BOOLEAN())(True) == "true"
