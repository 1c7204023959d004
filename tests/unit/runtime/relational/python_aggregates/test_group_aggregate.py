"""GROUP BY with Python functions returns the results of the built-in functions that do the same."""

from __future__ import annotations

import decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.errors import UserFunctionError
from penstock.runtime.relational.specs.operators import GroupAggregateSpec
from penstock.table.user_functions.aggregate_function import AggregateFunction, udaf
from penstock.types.logical.kinds import BIGINT, STRING, ArrayType, LogicalType
from tests.unit.runtime.relational.aggregates.aggregate_model import (
    FLAG,
    KEY,
    NUMBER,
    PRICE,
    TEXT,
    TYPES,
    call,
    changelogs,
    cut,
)
from tests.unit.runtime.relational.driver import Change, RelationalSlot, final_table
from tests.unit.runtime.relational.python_aggregates.functions import COUNTED, LISTED, TOTAL, Total, python_call

_PAIRS = [  # each a built-in call, and a Python call with the same results
    (call("SUM", NUMBER), python_call(TOTAL, (NUMBER,), TYPES)),
    (call("SUM", NUMBER, filter=FLAG), python_call(TOTAL, (NUMBER,), TYPES, filter=FLAG)),
    (call("SUM", NUMBER, distinct=True), python_call(TOTAL, (NUMBER,), TYPES, distinct=True)),
    (call("COUNT", TEXT, distinct=True), python_call(COUNTED, (TEXT,), TYPES)),
    (
        call("COUNT", TEXT, distinct=True, filter=FLAG),
        python_call(COUNTED, (TEXT,), TYPES, distinct=True, filter=FLAG),
    ),
]
_INSERTS = [(call("ARRAY_AGG", NUMBER, ignore_nulls=True), python_call(LISTED, (NUMBER,), TYPES))]


def _slot(pairs: list[Any], keys: tuple[int, ...], insert_only: bool) -> RelationalSlot:
    calls = tuple(c for pair in pairs for c in pair)
    output: tuple[LogicalType, ...] = (*(TYPES[i] for i in keys), *(c.type for c in calls))
    return RelationalSlot(
        GroupAggregateSpec(input_types=TYPES, keys=keys, calls=calls, output_types=output, insert_only=insert_only)
    )


def _check(changes: list[Change], keys: tuple[int, ...]) -> None:
    for _, row in changes:
        results = row[len(keys) :]
        assert list(results[::2]) == list(results[1::2]), row


@pytest.mark.parametrize("insert_only", [True, False])
@pytest.mark.parametrize("keys", [(KEY,), ()])
@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_python_functions_equal_built_in_functions(keys: tuple[int, ...], insert_only: bool, data: Any) -> None:
    pairs = data.draw(st.lists(st.sampled_from(_PAIRS + (_INSERTS if insert_only else [])), min_size=1, max_size=3))
    rows = data.draw(changelogs(removals=not insert_only, largest=20))
    single, batches = _slot(pairs, keys, insert_only), _slot(pairs, keys, insert_only)
    one_by_one: list[Change] = []
    for change in rows:
        if data.draw(st.booleans()):
            single.restart()
        one_by_one += single.run([change])
    _check(one_by_one, keys)
    cuts: list[Change] = []
    for batch in cut(data.draw, rows):
        batches.restart()
        cuts += batches.run(batch)
    _check(cuts, keys)
    assert final_table(_hashable(cuts)) == final_table(_hashable(one_by_one))
    assert single.count_entries() == batches.count_entries()


def _hashable(changes: list[Change]) -> list[Change]:
    return [(kind, tuple(map(repr, row))) for kind, row in changes]


def test_only_touched_entries_of_views_are_written() -> None:
    types = (STRING, BIGINT)
    calls = (python_call(LISTED, (1,), types), python_call(COUNTED, (1,), types))
    output = (STRING, ArrayType(BIGINT), BIGINT)
    slot = RelationalSlot(GroupAggregateSpec(input_types=types, keys=(0,), calls=calls, output_types=output))
    assert slot.run([("a", 1), ("a", 2), ("a", 1), ("b", 3)]) == [("+I", ("a", [1, 2, 1], 2)), ("+I", ("b", [3], 1))]
    assert slot.count_entries() == 2 + 4 + 3  # accumulators, elements of lists, keys of maps
    slot.restart()
    assert slot.run([("b", 4)]) == [("-U", ("b", [3], 1)), ("+U", ("b", [3, 4], 2))]
    assert slot.count_entries() == 11


def test_entries_of_views_go_with_their_group() -> None:
    types = (STRING, BIGINT)
    spec = GroupAggregateSpec(
        input_types=types,
        keys=(0,),
        calls=(python_call(COUNTED, (1,), types),),
        output_types=(STRING, BIGINT),
        insert_only=False,
    )
    slot = RelationalSlot(spec)
    slot.run([("a", 1), ("a", 2)])
    slot.restart()
    assert slot.run([("-D", ("a", 1)), ("-D", ("a", 2))]) == [("-D", ("a", 2))]
    assert slot.count_entries() == 0
    assert slot.run([("+I", ("a", 1)), ("-D", ("a", 1)), ("+I", ("a", 2))]) == [("+I", ("a", 1))]
    assert slot.count_entries() == 2


def test_entries_of_views_expire_with_their_group() -> None:
    types = (STRING, BIGINT)
    calls = (python_call(COUNTED, (1,), types),)
    slot = RelationalSlot(
        GroupAggregateSpec(input_types=types, keys=(0,), calls=calls, output_types=(STRING, BIGINT), ttl=100)
    )
    slot.run([("a", 1), ("a", 2)], now=0)
    assert slot.run([("a", 7)], now=500) == [("+I", ("a", 1))]
    assert slot.count_entries() == 2


class _Failing(Total):
    def accumulate(self, accumulator: Any, value: Any) -> None:
        accumulator[0] += 10 / value


class _Texts(Total):
    def get_value(self, accumulator: Any) -> Any:
        return f"{accumulator[0]}"


def _one_call(function: AggregateFunction[Any, Any]) -> RelationalSlot:
    types = (STRING, BIGINT)
    wrapper = udaf(function, result_type="BIGINT", accumulator_type="ROW<a BIGINT, b BIGINT>", name="f")
    calls = (python_call(wrapper, (1,), types),)
    return RelationalSlot(GroupAggregateSpec(input_types=types, keys=(0,), calls=calls, output_types=(STRING, BIGINT)))


def test_a_function_that_raises_shows_accumulator_arguments_and_line() -> None:
    with pytest.raises(UserFunctionError) as raised:
        _one_call(_Failing()).run([("a", 5), ("a", 0)])
    text = str(raised.value)
    assert raised.value.code == "PYTHON_FUNCTION_FAILED"
    assert "accumulate() of the aggregate function 'f' raised ZeroDivisionError" in text
    assert "test_group_aggregate.py:" in text
    assert "accumulator <Row(2.0, 0)>, called with (0,)" in text


def test_a_result_of_another_type_is_an_error() -> None:
    with pytest.raises(UserFunctionError, match="BIGINT") as raised:
        _one_call(_Texts()).run([("a", 5)])
    assert raised.value.code == "PYTHON_FUNCTION_RESULT"


class _Cents(AggregateFunction[Any, Any]):
    """Keeps what it gets in a map."""

    def create_accumulator(self) -> Any:
        return {}

    def accumulate(self, accumulator: Any, price: Any, key: Any) -> None:
        accumulator[key] = price

    def get_value(self, accumulator: Any) -> Any:
        return int(accumulator["k"] * 100) if accumulator else None


def test_arguments_are_values_of_python() -> None:
    wrapper = udaf(_Cents(), result_type="BIGINT", accumulator_type="MAP<STRING, DECIMAL(8, 2)>")
    spec = GroupAggregateSpec(
        input_types=TYPES, calls=(python_call(wrapper, (PRICE, KEY), TYPES),), output_types=(BIGINT,)
    )
    row = ("k", 1, 1.0, decimal.Decimal("1.50"), "t", True)
    assert RelationalSlot(spec).run([row]) == [("+I", (150,))]
