"""Functions of single rows give what the kernels of columns give."""

from __future__ import annotations

import decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.runtime.relational.expressions.compiler import Projection
from penstock.runtime.relational.expressions.tree import Call, Column, Expression, Literal
from penstock.runtime.relational.expressions.values import from_values, to_values
from penstock.runtime.relational.matching.navigations import Aggregation
from penstock.runtime.relational.matching.row_functions import aggregate_function, row_function
from penstock.runtime.relational.specs.aggregate_call import AggregateCall
from penstock.runtime.relational.specs.match import Navigation
from penstock.types.logical.kinds import BIGINT, BOOLEAN, DOUBLE, INT, STRING, CharType, DecimalType, LogicalType

_WIDE = DecimalType(20, 3)
_TYPES: list[LogicalType] = [INT, INT, STRING, BOOLEAN, DecimalType(8, 2)]
_A, _B, _S, _F, _D = (Column(i, t) for i, t in enumerate(_TYPES))
_NUMBERS = st.none() | st.integers(-(2**31), 2**31 - 1) | st.integers(-3, 3)


def _call(name: str, *arguments: Expression, type_: LogicalType = BOOLEAN) -> Call:
    return Call(name, arguments, type_)


_EXPRESSIONS = [
    *(_call(name, _A, _B) for name in ("=", "<>", "<", "<=", ">", ">=")),
    *(_call("<", _call(name, _A, _B, type_=INT), Literal(2, INT)) for name in ("+", "-", "*")),
    _call("AND", _F, _call("<", _A, _B)),
    _call("OR", _F, _call("IS_NULL", _A), _call("=", _A, Literal(1, INT))),
    _call("NOT", _call("IS_NOT_NULL", _S)),
    _call("<", _S, Literal("b\u00e9", STRING)),
    _call("=", _call("CAST", Literal("b", CharType(1, False)), type_=STRING), _S),
    _call(">=", _call("CAST", _A, type_=_WIDE), _call("CAST", _D, type_=_WIDE)),
    _call(">", _call("CAST", _A, type_=BIGINT), _call("CAST", _B, type_=BIGINT)),
    _call(">", _call("CAST", _A, type_=DOUBLE), Literal(0.5, DOUBLE)),
]


@settings(deadline=None, max_examples=60)
@given(
    st.tuples(
        _NUMBERS,
        _NUMBERS,
        st.none() | st.text("ab\u00e9\U0001f600", max_size=3),
        st.none() | st.booleans(),
        st.none() | st.decimals(-3, 3, places=2).map(lambda d: d.quantize(decimal.Decimal("0.01"))),
    )
)
def test_expressions(row: tuple[Any, ...]) -> None:
    columns = [from_values([value], type_) for value, type_ in zip(row, _TYPES, strict=True)]
    wanted = [to_values(found, BOOLEAN)[0] for found in Projection(_EXPRESSIONS)(columns, 1)]
    functions = [row_function(expression) for expression in _EXPRESSIONS]
    assert [f is not None and f(row) for f in functions] == wanted


@pytest.mark.parametrize(
    "expression",
    [
        _call("UPPER", _S, type_=STRING),
        _call("<", _call("UPPER", _S, type_=STRING), _S),
        _call("/", _A, _B, type_=INT),
        _call("CAST", _S, type_=INT),
        _call("CAST", _A, type_=DecimalType(5, 2)),
    ],
)
def test_the_kernels_compute_the_rest(expression: Expression) -> None:
    assert row_function(expression) is None


@settings(deadline=None, max_examples=40)
@given(st.lists(st.tuples(_NUMBERS), max_size=5))
def test_aggregates(rows: list[tuple[int | None]]) -> None:
    calls = [AggregateCall("COUNT", (), (), BIGINT), AggregateCall("COUNT", (0,), (INT,), BIGINT)]
    calls += [AggregateCall(name, (0,), (INT,), INT) for name in ("SUM", "AVG", "MIN", "MAX")]
    for call in calls:
        function = aggregate_function(call)
        assert function is not None
        wanted = Aggregation(Navigation("CALL", call.type, call=call), [INT]).results([rows])
        assert [function(rows)] == to_values(wanted, call.type), call.function


def test_other_aggregates_are_left_to_the_kernels() -> None:
    assert aggregate_function(AggregateCall("SUM", (0,), (DOUBLE,), DOUBLE)) is None
    assert aggregate_function(AggregateCall("SUM", (0,), (INT,), INT, distinct=True)) is None
    assert aggregate_function(AggregateCall("LISTAGG", (0,), (STRING,), STRING)) is None
