"""GROUP BY: Flink's changelog row by row, and the same final table for any batches and restarts."""

from __future__ import annotations

import decimal
import math
from typing import Any

import pytest

from penstock.errors import ExpressionError
from penstock.runtime.relational.aggregates.registry import aggregate_type
from penstock.runtime.relational.functions.definition import MISSING
from penstock.runtime.relational.specs.aggregate_call import AggregateCall
from penstock.runtime.relational.specs.operators import GroupAggregateSpec
from penstock.types.logical.kinds import BIGINT, BOOLEAN, DOUBLE, INT, STRING, DecimalType, Field, LogicalType, RowType
from tests.unit.runtime.relational.driver import Change, RelationalSlot

D = decimal.Decimal
PRICE = DecimalType(8, 2)
SALES = (STRING, STRING, INT, PRICE, BOOLEAN)  # kind, name, qty, price, price > 2
ROWS: list[tuple[Any, ...]] = [
    ("fruit", "apple", 10, D("1.50"), False),
    ("fruit", "pear", 5, D("2.25"), True),
    ("veg", "leek", 7, D("0.99"), False),
    ("fruit", "apple", 3, D("1.45"), False),
    (None, "salt", 1, D("3.10"), True),
    ("veg", "leek", 7, None, None),
    ("veg", "kale", None, D("4.00"), True),
    (None, "sugar", 2, D("0.01"), False),
    ("fruit", "fig", 10, D("5.55"), True),
]


def call(function: str, *arguments: int, types: tuple[LogicalType, ...] = SALES, **more: Any) -> AggregateCall:
    given = tuple(types[i] for i in arguments)
    typing = aggregate_type(function, given, [MISSING] * len(given), bool(more.get("distinct")))
    return AggregateCall(function, arguments, given, typing.type, **more)


def spec(
    *calls: AggregateCall, types: tuple[LogicalType, ...] = SALES, keys: tuple[int, ...] = (), **more: Any
) -> GroupAggregateSpec:
    output = (*(types[i] for i in keys), *(c.type for c in calls))
    return GroupAggregateSpec(input_types=types, keys=keys, calls=calls, output_types=output, **more)


def row_by_row(of: GroupAggregateSpec, rows: list[Any]) -> list[Change]:
    slot = RelationalSlot(of)
    return [change for row in rows for change in slot.run([row])]


def test_global_aggregate_emits_an_update_per_row() -> None:
    found = row_by_row(spec(call("COUNT"), call("SUM", 3), call("AVG", 3), call("MIN", 1), call("MAX", 1)), ROWS)
    assert found[:3] == [
        ("+I", (1, D("1.50"), D("1.500000"), "apple", "apple")),
        ("-U", (1, D("1.50"), D("1.500000"), "apple", "apple")),
        ("+U", (2, D("3.75"), D("1.875000"), "apple", "pear")),
    ]
    assert found[-1] == ("+U", (9, D("18.85"), D("2.356250"), "apple", "sugar"))
    assert len(found) == 17


def test_one_batch_emits_the_net_change() -> None:
    slot = RelationalSlot(spec(call("COUNT"), call("SUM", 3), keys=(0,)))
    assert slot.run(ROWS[:5]) == [
        ("+I", ("fruit", 3, D("5.20"))),
        ("+I", ("veg", 1, D("0.99"))),
        ("+I", (None, 1, D("3.10"))),
    ]
    slot.restart()
    assert slot.run(ROWS[5:]) == [
        ("-U", ("veg", 1, D("0.99"))),
        ("+U", ("veg", 3, D("4.99"))),
        ("-U", (None, 1, D("3.10"))),
        ("+U", (None, 2, D("3.11"))),
        ("-U", ("fruit", 3, D("5.20"))),
        ("+U", ("fruit", 4, D("10.75"))),
    ]


def test_distinct_and_filter() -> None:
    calls = (
        call("COUNT", 1, distinct=True),
        call("SUM", 2, distinct=True),
        call("COUNT", filter=4),
        call("COUNT", 1, distinct=True, filter=4),
    )
    found = row_by_row(spec(*calls, keys=(0,)), ROWS)
    assert found == [
        ("+I", ("fruit", 1, 10, 0, 0)),
        ("-U", ("fruit", 1, 10, 0, 0)),
        ("+U", ("fruit", 2, 15, 1, 1)),
        ("+I", ("veg", 1, 7, 0, 0)),
        ("-U", ("fruit", 2, 15, 1, 1)),
        ("+U", ("fruit", 2, 18, 1, 1)),
        ("+I", (None, 1, 1, 1, 1)),
        ("-U", ("veg", 1, 7, 0, 0)),
        ("+U", ("veg", 2, 7, 1, 1)),
        ("-U", (None, 1, 1, 1, 1)),
        ("+U", (None, 2, 3, 1, 1)),
        ("-U", ("fruit", 2, 18, 1, 1)),
        ("+U", ("fruit", 3, 18, 2, 2)),
    ]


def test_nothing_is_emitted_if_the_result_is_the_same_unless_state_expires() -> None:
    rows = [("a", 3), ("a", None), ("a", 3)]
    types = (STRING, INT)
    calls = (call("MAX", 1, types=types),)
    assert row_by_row(spec(*calls, types=types, keys=(0,)), rows) == [("+I", ("a", 3))]
    updates = [("-U", ("a", 3)), ("+U", ("a", 3))]
    assert row_by_row(spec(*calls, types=types, keys=(0,), ttl=3_600_000), rows) == [
        ("+I", ("a", 3)),
        *updates,
        *updates,
    ]


def test_update_before_can_be_left_out() -> None:
    found = row_by_row(spec(call("COUNT"), keys=(0,), update_before=False), ROWS[:2])
    assert found == [("+I", ("fruit", 1)), ("+U", ("fruit", 2))]


def test_select_distinct_has_no_calls() -> None:
    assert row_by_row(spec(keys=(0,)), ROWS) == [("+I", ("fruit",)), ("+I", ("veg",)), ("+I", (None,))]
    of = spec(types=(STRING,), keys=(0,), insert_only=False)
    assert row_by_row(of, [("a",), ("a",), ("-D", ("a",)), ("-D", ("a",))]) == [
        ("+I", ("a",)),
        ("-D", ("a",)),
    ]


def test_two_levels_are_flinks_changelog() -> None:
    inner = row_by_row(spec(call("COUNT"), keys=(0,)), ROWS)
    outer = spec(call("COUNT"), types=(STRING, BIGINT), keys=(1,), insert_only=False)
    assert row_by_row(outer, inner) == [
        ("+I", (1, 1)),
        ("-D", (1, 1)),
        ("+I", (2, 1)),
        ("+I", (1, 1)),
        ("-D", (2, 1)),
        ("+I", (3, 1)),
        ("-U", (1, 1)),
        ("+U", (1, 2)),
        ("-U", (1, 2)),
        ("+U", (1, 1)),
        ("+I", (2, 1)),
        ("-D", (2, 1)),
        ("-U", (3, 1)),
        ("+U", (3, 2)),
        ("-D", (1, 1)),
        ("+I", (2, 1)),
        ("-U", (3, 2)),
        ("+U", (3, 1)),
        ("+I", (4, 1)),
    ]


def test_minimum_and_maximum_of_a_changelog_of_texts() -> None:
    inner = row_by_row(spec(call("MAX", 1), keys=(0,)), ROWS)
    types = (STRING, STRING)
    largest = call("MAX", 1, types=types, ignores_removals=True)  # a maximum only grows
    outer = spec(call("MIN", 1, types=types), largest, types=types, insert_only=False)
    assert row_by_row(outer, inner) == [
        ("+I", ("apple", "apple")),
        ("-D", ("apple", "apple")),
        ("+I", ("pear", "pear")),
        ("-U", ("pear", "pear")),
        ("+U", ("leek", "pear")),
        ("-U", ("leek", "pear")),
        ("+U", ("leek", "salt")),
        ("-U", ("leek", "salt")),
        ("+U", ("leek", "sugar")),
    ]


def test_deviations_of_a_changelog_of_integers() -> None:
    inner = row_by_row(spec(call("SUM", 2), keys=(0,)), ROWS)
    types = (STRING, INT)
    outer = spec(call("STDDEV_POP", 1, types=types), call("VAR_SAMP", 1, types=types), types=types, insert_only=False)
    found = [row for kind, row in row_by_row(outer, inner) if kind in ("+I", "+U")]
    assert found == [
        (0, None),
        (0, None),
        (4, 32),
        (0, None),
        (5, 60),
        (7, 74),
        (8, 144),
        (7, 79),
        (2, 8),
        (6, 60),
        (5, 60),
        (10, 157),
    ]


def test_sum_becomes_null_again() -> None:
    types = (INT,)
    of = spec(call("COUNT"), call("SUM", 0, types=types), types=types, insert_only=False)
    assert row_by_row(of, [(7,), (None,), ("-U", (7,)), ("+U", (None,))]) == [
        ("+I", (1, 7)),
        ("-U", (1, 7)),
        ("+U", (2, 7)),
        ("-U", (2, 7)),
        ("+U", (1, None)),
        ("-U", (1, None)),
        ("+U", (2, None)),
    ]


def test_a_removal_from_an_absent_group_is_ignored() -> None:
    of = spec(call("COUNT"), types=(STRING,), keys=(0,), insert_only=False)
    rows = [("-D", ("a",)), ("+I", ("a",))]
    assert row_by_row(of, rows) == [("+I", ("a", 1))]
    assert RelationalSlot(of).run(rows) == [("+I", ("a", 1))]


def test_a_group_that_was_empty_starts_again() -> None:
    types = (DOUBLE,)
    of = spec(
        call("SUM", 0, types=types),
        call("MAX", 0, types=types),
        call("COUNT", 0, types=types, distinct=True),
        types=types,
        insert_only=False,
    )
    rows = [(0.1,), (0.2,), ("-D", (0.1,)), ("-D", (0.2,)), (0.3,)]
    assert row_by_row(of, rows)[-1] == ("+I", (0.3, 0.3, 1))
    slot = RelationalSlot(of)
    slot.run(rows[:2])
    assert slot.run(rows[2:])[-1] == ("+U", (0.3, 0.3, 1))
    assert slot.run([("-D", (0.3,))]) == [("-D", (0.3, 0.3, 1))]
    assert slot.count_entries() == 0


def test_groups_expire() -> None:
    types = (STRING, INT)
    of = spec(call("COUNT", 1, types=types, distinct=True), types=types, keys=(0,), ttl=100)
    slot = RelationalSlot(of)
    assert slot.run([("a", 1), ("b", 1)], now=0) == [("+I", ("a", 1)), ("+I", ("b", 1))]
    assert slot.run([("a", 2)], now=60) == [("-U", ("a", 1)), ("+U", ("a", 2))]
    assert slot.run([("b", 1)], now=120) == [("+I", ("b", 1))]
    assert slot.run([], now=300) == []
    assert slot.count_entries() == 0


def test_watermarks_are_those_of_the_last_row() -> None:
    slot = RelationalSlot(spec(call("COUNT"), keys=(0,)))
    found = slot.run_marked(ROWS[:3], watermarks=[5, 6, 9], watermark=20)
    assert [mark for _, mark in found] == [9, 9]


def test_empty_input_has_a_result_in_batch_mode_only() -> None:
    of = spec(call("COUNT"), call("SUM", 2))
    assert RelationalSlot(of).run([]) == []
    assert RelationalSlot(of, in_batch_mode=True).run([]) == [("+I", (0, None))]
    assert RelationalSlot(spec(call("COUNT"), keys=(0,)), in_batch_mode=True).run([]) == []


def test_single_value_refuses_a_second_row() -> None:
    types = (INT,)
    of = spec(call("SINGLE_VALUE", 0, types=types), types=types, insert_only=False)
    slot = RelationalSlot(of)
    assert slot.run([(1,)]) == [("+I", (1,))]
    assert slot.run([("-U", (1,)), ("+U", (2,))]) == [("-U", (1,)), ("+U", (2,))]
    with pytest.raises(ExpressionError, match="more than one row"):
        slot.run([(3,)])


def test_rows_and_nan_are_removed_from_arrays_after_a_restart() -> None:
    pair = RowType((Field("a", INT), Field("b", STRING)))
    types = (pair, DOUBLE)
    calls = [call(name, i, types=types) for name in ("ARRAY_AGG", "LAST_VALUE", "COLLECT") for i in (0, 1)]
    slot = RelationalSlot(spec(call("COUNT"), *calls, types=types, insert_only=False))
    slot.run([((1, "x"), 1.5), ((2, "y"), math.nan)])
    slot.restart()
    _, (kind, row) = slot.run([("-D", ((2, "y"), math.nan))])
    assert (kind, row) == ("+U", (1, [(1, "x")], [1.5], (1, "x"), 1.5, [((1, "x"), 1)], [(1.5, 1)]))
