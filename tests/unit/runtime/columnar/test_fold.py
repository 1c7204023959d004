"""Folding columns returns the results of the aggregate function, for values of any type."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.functions.named_aggregates import AGGREGATE_KINDS, NamedAggregate
from penstock.runtime.columnar.accumulators import Accumulators
from penstock.runtime.columnar.column_block import ColumnBlock, combine
from penstock.runtime.columnar.fold import as_list, fold
from penstock.runtime.columnar.slices import Grid
from penstock.runtime.loop.records import column
from penstock.time import MIN_WATERMARK
from tests.unit.runtime.columnar.jobs import Job, Step, at

VALUES: dict[str, list[Any]] = {
    "large": [3, -1, 7, 2**62, 2**62, 5],
    "huge": [2**70, 1, -(2**70), 4, 5, 6],
    "nan": [0.5, float("nan"), 2.5, -1.0, float("nan"), 3.0],
    "mixed": [1, 2.5, True, 3, 4, 5],
    "decimals": [Decimal("0.1"), Decimal("0.2"), Decimal("-3"), Decimal("4"), Decimal("5.5"), Decimal("6")],
    "strings": ["b", "a", "d", "c", "f", "e"],  # they have no average
}
CASES = [(k, n) for k in AGGREGATE_KINDS for n in VALUES if (k, n) != ("avg", "strings")]


@pytest.mark.parametrize(("kind", "name"), CASES)
def test_results_for_any_values(kind: str, name: str) -> None:
    values = VALUES[name]
    aggregate: NamedAggregate[Any] = NamedAggregate(kind)
    accumulators = Accumulators(aggregate)
    codes = column([0, 1, 0, 1, 0, 1])
    never = column([MIN_WATERMARK] * 6)
    block = ColumnBlock(["a", "b"], codes, column(range(6)), never, None, None, accumulators.read(values))
    combined = combine(block, Grid(10, 10, 0), accumulators)
    expected: dict[int, Any] = {}
    for code, value in zip(codes.tolist(), values, strict=True):
        expected[code] = aggregate.add(value, expected.get(code))
    assert combined.counts is not None
    results = accumulators.results(combined.counts.tolist(), combined.columns)
    assert [repr(r) for r in results] == [repr(aggregate.get_result(a)) for a in expected.values()]


@pytest.mark.parametrize(("kind", "name"), CASES)
def test_results_for_any_stored_values(kind: str, name: str) -> None:
    """Each value is in its own batch, so that everything is written and read in between."""
    from penstock.windows import EventTimeSessionWindows, TumblingEventTimeWindows

    steps = [Step({"s0": [at("a", 1, value)]}, clock=n) for n, value in enumerate(VALUES[name])]
    steps.append(Step(clock=9, end=True))
    for assigner in (TumblingEventTimeWindows.of(10), EventTimeSessionWindows.with_gap(5)):
        job = Job(assigner, NamedAggregate(kind, "value"), steps, function=None, known=("s0",))
        columnar, elementwise = job.run(True), job.run(False)
        assert repr(columnar.comparable()) == repr(elementwise.comparable())
        assert columnar.outputs[-1]


@given(values=st.lists(st.floats(), min_size=1), data=st.data(), kind=st.sampled_from(["min", "max"]))
def test_extremes_do_not_depend_on_order(values: list[float], data: st.DataObject, kind: str) -> None:
    def extreme(order: list[float]) -> float:
        result: float = as_list(fold(kind, column([0] * len(order)), 1, order))[0]
        return result

    one, other = extreme(values), extreme(data.draw(st.permutations(values)))
    assert one == other or (one != one and other != other)


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(-(2**63), 2**63)), min_size=1))
def test_integer_sums_are_exact(pairs: list[tuple[int, int]]) -> None:
    groups = column([g for g, _ in pairs])
    sums = as_list(fold("sum", groups, 4, [v for _, v in pairs]))
    for group in set(groups.tolist()):
        assert sums[group] == sum(v for g, v in pairs if g == group)


def test_many_keys_and_distant_slices() -> None:
    keys = [f"k{n}" for n in range(3000)]
    stamps = column([n * 1_000_000 for n in range(3000)])
    codes = np.arange(3000, dtype=np.int64)
    twice, again = np.concatenate([codes, codes]), np.concatenate([stamps, stamps])
    block = ColumnBlock(keys, twice, again, np.full(6000, MIN_WATERMARK, np.int64), None, None, [])
    combined = combine(block, Grid(10, 10, 0), Accumulators(NamedAggregate("count")))
    assert combined.codes.tolist() == list(range(3000))
    assert combined.counts is not None
    assert set(combined.counts.tolist()) == {2}
