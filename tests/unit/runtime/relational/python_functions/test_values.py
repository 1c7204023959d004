"""Arguments and results of Python functions."""

from __future__ import annotations

import datetime
import decimal
import zoneinfo
from array import array
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import ExpressionError
from penstock.row import Row
from penstock.runtime.relational.expressions.values import from_values
from penstock.runtime.relational.python_functions.values import ResultMisfit, column_of, plain_value, python_values
from penstock.types.logical import kinds
from penstock.types.logical.kinds import BIGINT, INT, STRING, LogicalType

DECIMAL = kinds.DecimalType(5, 2)
ROW = kinds.RowType((kinds.Field("a", INT), kinds.Field("b", STRING)))
MAP = kinds.MapType(STRING, INT)
BERLIN = zoneinfo.ZoneInfo("Europe/Berlin")

PAIRS: list[tuple[LogicalType, Any, Any]] = [  # type, plain value, value that a function gets
    (kinds.BOOLEAN, True, True),
    (BIGINT, 7, 7),
    (kinds.DOUBLE, 1.5, 1.5),
    (DECIMAL, decimal.Decimal("1.25"), decimal.Decimal("1.25")),
    (STRING, "a", "a"),
    (kinds.BYTES, b"a", b"a"),
    (kinds.DATE, -1, datetime.date(1969, 12, 31)),
    (kinds.TIME, 1500, datetime.time(0, 0, 1, 500_000)),
    (kinds.TimestampType(3), 1_500_000_000, datetime.datetime(1970, 1, 1, 0, 0, 1, 500_000)),
    (kinds.TimestampType(9), 1_000, datetime.datetime(1970, 1, 1, 0, 0, 0, 1)),
    (kinds.TimestampType(3, local=True), 0, datetime.datetime(1970, 1, 1, 1, tzinfo=BERLIN)),
    (kinds.MILLISECONDS, 1500, datetime.timedelta(seconds=1.5)),
    (kinds.ArrayType(INT), [1, None], [1, None]),
    (MAP, [("a", 1)], {"a": 1}),
    (kinds.MultisetType(STRING), [("a", 2)], {"a": 2}),
    (ROW, (1, "x"), Row(a=1, b="x")),
    (kinds.ArrayType(ROW), [(1, "x"), None], [Row(a=1, b="x"), None]),
    (kinds.ArrayType(kinds.DATE), [0], [datetime.date(1970, 1, 1)]),
]


@pytest.mark.parametrize(("type_", "plain", "value"), PAIRS, ids=lambda part: str(part)[:30])
def test_values_go_to_functions_and_back(type_: LogicalType, plain: Any, value: Any) -> None:
    column = from_values([plain, None], type_)
    assert python_values(column, type_, "Europe/Berlin") == [value, None]
    assert column_of([value, None], type_, "Europe/Berlin") == column


def test_a_column_without_rows() -> None:
    for type_, _, _ in PAIRS:
        assert python_values(from_values([], type_), type_) == []
        assert len(column_of([], type_)) == 0


@pytest.mark.parametrize(
    ("type_", "value", "plain"),
    [
        (BIGINT, np.int32(3), 3),
        (INT, True, 1),
        (kinds.DOUBLE, 3, 3.0),
        (kinds.DOUBLE, np.float32(0.5), 0.5),
        (kinds.BOOLEAN, np.bool_(True), True),
        (DECIMAL, 3, decimal.Decimal("3.00")),
        (DECIMAL, decimal.Decimal("1.235"), decimal.Decimal("1.24")),
        (DECIMAL, decimal.Decimal("123456.7"), None),  # too many digits: NULL, as in Flink
        (kinds.BYTES, bytearray(b"a"), b"a"),
        (kinds.DATE, datetime.datetime(1970, 1, 2, 3), 1),
        (kinds.TimestampType(3), datetime.datetime(1970, 1, 1, 0, 0, 0, 1999), 1_000_000),
        (kinds.TimestampType(3), datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC), 3_600_000_000_000),
        (kinds.TimestampType(3, local=True), datetime.datetime(1970, 1, 1, 1), 0),
        (kinds.ArrayType(INT), (1, 2), [1, 2]),
        (kinds.ArrayType(INT), array("i", [1]), [1]),
        (kinds.ArrayType(kinds.DOUBLE), np.array([1.0]), [1.0]),
        (ROW, (1, "x"), (1, "x")),
        (ROW, [1, "x"], (1, "x")),
        (ROW, {"b": "x", "a": 1}, (1, "x")),
        (ROW, Row(b="x", a=1), (1, "x")),
        (ROW, Row(1, "x"), (1, "x")),
    ],
)
def test_other_classes_that_fit(type_: LogicalType, value: Any, plain: Any) -> None:
    assert plain_value(value, type_, "Europe/Berlin") == plain


@pytest.mark.parametrize(
    ("type_", "value"),
    [
        (INT, 1.0),
        (INT, "1"),
        (INT, 2**31),
        (kinds.TINYINT, -129),
        (kinds.DOUBLE, "1"),
        (kinds.BOOLEAN, 1),
        (DECIMAL, 1.5),
        (DECIMAL, decimal.Decimal("NaN")),
        (STRING, 1),
        (STRING, b"a"),
        (kinds.BYTES, "a"),
        (kinds.DATE, "2024-01-01"),
        (kinds.TIME, 1),
        (kinds.TimestampType(3), datetime.date(2024, 1, 1)),
        (kinds.MILLISECONDS, 5),
        (kinds.ArrayType(INT), "12"),
        (kinds.ArrayType(INT), ["x"]),
        (MAP, [("a", 1)]),
        (MAP, {1: 1}),
        (ROW, 5),
        (ROW, (1,)),
        (INT.with_nullable(False), None),
    ],
)
def test_values_that_do_not_fit(type_: LogicalType, value: Any) -> None:
    with pytest.raises(ResultMisfit) as raised:
        column_of([value], type_)
    assert raised.value.index == 0


def test_rows_that_are_missing_and_fields_that_must_not_be() -> None:
    type_ = kinds.RowType((kinds.Field("a", INT.with_nullable(False)), kinds.Field("b", STRING)))
    assert column_of([(1, None), None], type_).to_pylist() == [{"a": 1, "b": None}, None]
    with pytest.raises(ResultMisfit) as raised:
        column_of([(1, None), None, (None, "x")], type_)
    assert raised.value.index == 2


def test_a_timestamp_that_python_does_not_have() -> None:
    column = from_values([253_402_300_800_000_000_000], kinds.TimestampType(3))  # the year 10000
    with pytest.raises(ExpressionError, match="years 1 to 9999"):
        python_values(column, kinds.TimestampType(3))


@given(
    st.lists(
        st.none() | st.lists(st.none() | st.integers(-5, 5), max_size=3) | st.tuples(st.integers(-5, 5)), max_size=5
    )
)
def test_arrays(values: list[Any]) -> None:
    wanted = [None if v is None else list(v) for v in values]
    assert column_of(values, kinds.ArrayType(INT)).to_pylist() == wanted


@given(st.lists(st.none() | st.datetimes(datetime.datetime(1900, 1, 1), datetime.datetime(2100, 1, 1)), max_size=5))
def test_timestamps(values: list[Any]) -> None:
    for precision in (0, 3, 6, 9):
        type_ = kinds.TimestampType(precision)
        wanted = from_values([plain_value(v, type_) for v in values], type_)
        assert column_of(values, type_) == wanted


def test_the_position_of_a_misfit() -> None:
    with pytest.raises(ResultMisfit) as raised:
        column_of([1, 2, "x", 3], INT)
    assert raised.value.index == 2


@given(st.lists(st.none() | st.integers(-(2**63), 2**63 - 1)))
def test_integers(values: list[int | None]) -> None:
    assert column_of(values, BIGINT).to_pylist() == values
