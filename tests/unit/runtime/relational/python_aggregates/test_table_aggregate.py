"""Table aggregate functions delete the rows that a group had, and insert those that it has now."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.errors import UserFunctionError
from penstock.runtime.relational.specs.operators import TableAggregateSpec
from penstock.table.user_functions.table_aggregate_function import udtaf
from penstock.types.logical.kinds import BIGINT, INT, STRING, LogicalType
from tests.unit.runtime.relational.driver import Change, RelationalSlot, final_table
from tests.unit.runtime.relational.python_aggregates.functions import TOP2, Top2, python_call

_TYPES: tuple[LogicalType, ...] = (STRING, BIGINT)


def _slot(function: Any = TOP2, keys: tuple[int, ...] = (0,), insert_only: bool = True, **facts: Any) -> RelationalSlot:
    output = (*(_TYPES[k] for k in keys), BIGINT, INT)
    calls = (python_call(function, (1,), _TYPES),)
    return RelationalSlot(
        TableAggregateSpec(
            input_types=_TYPES, keys=keys, calls=calls, output_types=output, insert_only=insert_only, **facts
        )
    )


def test_single_rows_give_the_changelog_of_flink() -> None:
    slot = _slot()
    found: list[Change] = []
    for row in (("a", 1), ("a", 3), ("b", 5), ("a", 2), ("a", 7)):
        found += slot.run([row])
        slot.restart()
    assert found == [
        ("+I", ("a", 1, 0)),
        ("-D", ("a", 1, 0)),
        ("+I", ("a", 3, 0)),
        ("+I", ("a", 1, 1)),
        ("+I", ("b", 5, 0)),
        ("-D", ("a", 3, 0)),
        ("-D", ("a", 1, 1)),
        ("+I", ("a", 3, 0)),
        ("+I", ("a", 2, 1)),
        ("-D", ("a", 3, 0)),
        ("-D", ("a", 2, 1)),
        ("+I", ("a", 7, 0)),
        ("+I", ("a", 3, 1)),
    ]


def test_a_group_without_rows_is_deleted() -> None:
    slot = _slot(keys=(), insert_only=False)
    assert slot.run([("a", 1), ("b", 2)]) == [("+I", (2, 0)), ("+I", (1, 1))]
    assert slot.run([("-D", ("a", 1)), ("-D", ("b", 2))]) == [("-D", (2, 0)), ("-D", (1, 1))]
    assert slot.count_entries() == 0
    assert slot.run([("+I", ("a", 1)), ("-D", ("a", 1))]) == []


@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_batches_give_the_table_of_a_model(data: Any) -> None:
    slot = _slot(insert_only=False)
    alive: list[tuple[str, int]] = []
    found: list[Change] = []
    for _ in range(data.draw(st.integers(1, 6))):
        batch: list[Any] = []
        for _ in range(data.draw(st.integers(0, 6))):
            if alive and data.draw(st.booleans()):
                row = data.draw(st.sampled_from(alive))
                alive.remove(row)
                batch.append(("-D", row))
            else:
                row = (data.draw(st.sampled_from("ab")), data.draw(st.integers(0, 9)))
                alive.append(row)
                batch.append(("+I", row))
        slot.restart()
        found += slot.run(batch)
    expected: dict[Any, int] = {}
    for key in "ab":
        best = sorted((v for k, v in alive if k == key), reverse=True)[:2]
        expected.update({(key, value, place): 1 for place, value in enumerate(best)})
    assert final_table(found) == expected


class _Values(Top2):
    def emit_value(self, accumulator: Any) -> Any:
        return [(value,) for value in accumulator]


def test_rows_with_another_number_of_fields_are_an_error() -> None:
    function = udtaf(_Values(), result_type="ROW<v BIGINT, place INT>", accumulator_type="ARRAY<BIGINT>")
    with pytest.raises(UserFunctionError) as raised:
        _slot(function).run([("a", 1)])
    assert raised.value.code == "PYTHON_FUNCTION_RESULT"
