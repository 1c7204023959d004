"""Accumulators: merging and removing rows leads to the same results as adding the rows that remain."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.runtime.relational.aggregates.accumulators import Accumulators, AggregateSet
from penstock.runtime.relational.expressions.values import to_values
from penstock.runtime.relational.specs.aggregate_call import AggregateCall
from penstock.runtime.relational.state.row_codec import pack, unpack
from penstock.types.logical.kinds import BIGINT, BOOLEAN, INT, STRING, LogicalType
from tests.unit.runtime.relational.aggregates.aggregate_model import CALLS, FLOAT, TYPES, changelogs, comparable, cut
from tests.unit.runtime.relational.driver import Row, to_changes

# Floating-point sums depend on the order of additions, so they are left out where rows are added in another order.
EXACT = tuple(c for c in CALLS if c.arguments[:1] != (FLOAT,) or c.function == "MAX")


def _results(aggregates: AggregateSet, groups: Accumulators, calls: tuple[AggregateCall, ...]) -> list[Row]:
    columns = [to_values(column, c.type) for column, c in zip(aggregates.results(groups), calls, strict=True)]
    return [comparable(row) for row in zip(*columns, strict=True)]


def _stored(aggregates: AggregateSet, groups: Accumulators) -> Accumulators:
    """Sends accumulators through their bytes in state."""
    return aggregates.load([unpack(pack(row)) for row in aggregates.dump(groups)])


@pytest.mark.parametrize("insert_only", [True, False])
@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_merged_slices_equal_all_rows(insert_only: bool, data: Any) -> None:
    aggregates = AggregateSet(EXACT, TYPES, insert_only)
    rows = data.draw(changelogs(removals=not insert_only, largest=12))
    every, merged = aggregates.create(1), aggregates.create(1)
    aggregates.accumulate(every, np.zeros(len(rows), np.int64), to_changes(rows, TYPES))
    batches = cut(data.draw, rows)
    slices = aggregates.create(len(batches))
    for number, batch in enumerate(batches):
        aggregates.accumulate(slices, np.full(len(batch), number), to_changes(batch, TYPES))
    if data.draw(st.booleans()):
        slices, merged = _stored(aggregates, slices), _stored(aggregates, merged)
    before = aggregates.dump(aggregates.take(slices, np.arange(len(batches))))
    aggregates.merge(merged, np.zeros(len(batches), np.int64), slices)
    assert aggregates.dump(slices) == before  # merging changes only its first argument
    if insert_only:
        assert _results(aggregates, merged, EXACT) == _results(aggregates, every, EXACT)
    else:
        unordered = tuple(c.function not in _ORDERED for c in EXACT)
        found, wanted = _results(aggregates, merged, EXACT)[0], _results(aggregates, every, EXACT)[0]
        assert _some(found, unordered) == _some(wanted, unordered)


_ORDERED = ("LISTAGG", "ARRAY_AGG", "JSON_ARRAYAGG", "FIRST_VALUE", "LAST_VALUE")


def _some(row: Row, keep: tuple[bool, ...]) -> list[Any]:
    return [value for value, kept in zip(row, keep, strict=True) if kept]


@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_retracting_rows_leaves_the_others(data: Any) -> None:
    calls = tuple(c for c in EXACT if not c.distinct or c.function not in _ORDERED)
    aggregates = AggregateSet(calls, TYPES, insert_only=False)
    rows = data.draw(changelogs(removals=False, largest=12))
    count = data.draw(st.integers(0, len(rows)))
    groups, rest = aggregates.create(1), aggregates.create(1)
    aggregates.accumulate(groups, np.zeros(len(rows), np.int64), to_changes(rows, TYPES))
    aggregates.retract(groups, np.zeros(count, np.int64), to_changes(rows[:count], TYPES))
    aggregates.accumulate(rest, np.zeros(len(rows) - count, np.int64), to_changes(rows[count:], TYPES))
    assert _results(aggregates, groups, calls) == _results(aggregates, rest, calls)


def test_results_do_not_change_when_accumulators_do() -> None:
    aggregates = AggregateSet(CALLS, TYPES)
    groups = aggregates.create(1)
    row = to_changes([("a", 1, 0.5, None, "x", True)], TYPES)
    aggregates.accumulate(groups, np.zeros(1, np.int64), row)
    first = aggregates.results(groups)
    kept = [column.to_pylist() for column in first]
    aggregates.accumulate(groups, np.zeros(1, np.int64), row)
    assert [column.to_pylist() for column in first] == kept


@pytest.mark.parametrize("insert_only", [True, False])
@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_filters_share_the_values_of_distinct(insert_only: bool, data: Any) -> None:
    types: list[LogicalType] = [INT, STRING, BOOLEAN, BOOLEAN]
    calls = tuple(
        AggregateCall(function, (0,), (INT,), BIGINT, filter=filter_, distinct=True)
        for function in ("COUNT", "SUM")
        for filter_ in (None, 2, 3)
    )
    if data.draw(st.booleans()):
        calls = tuple(c for c in calls if c.filter is not None)
    listed = AggregateCall("LISTAGG", (1,), (STRING,), STRING, filter=2, distinct=True)
    calls = (*calls, listed, AggregateCall("LISTAGG", (1,), (STRING,), STRING, distinct=True))
    flags = st.sampled_from([True, False, None])
    row = st.tuples(st.integers(0, 3), st.sampled_from("abc"), flags, flags)
    rows = [("+I", values) for values in data.draw(st.lists(row, max_size=15))]
    aggregates = AggregateSet(calls, types, insert_only)
    every, merged = aggregates.create(1), aggregates.create(1)
    batches = cut(data.draw, rows)
    slices = aggregates.create(len(batches))
    for number, batch in enumerate(batches):
        every = _stored(aggregates, every)
        aggregates.accumulate(every, np.zeros(len(batch), np.int64), to_changes(batch, types))
        aggregates.accumulate(slices, np.full(len(batch), number), to_changes(batch, types))
    aggregates.merge(merged, np.zeros(len(batches), np.int64), slices)
    expected = []
    for call in calls:
        seen = [v[call.arguments[0]] for _, v in rows if call.filter is None or v[call.filter] is True]
        values = list(dict.fromkeys(seen))
        results = {"COUNT": len(values), "SUM": sum(values) if call.function == "SUM" and values else None}
        expected.append(results.get(call.function, ",".join(map(str, values)) if values else None))
    assert _results(aggregates, every, calls) == [tuple(expected)]
    if insert_only:
        assert _results(aggregates, merged, calls) == [tuple(expected)]
