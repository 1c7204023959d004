"""Folding by columns gives what the aggregate function gives, whatever the values are."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.functions.named_aggregates import KINDS, NamedAggregate
from penstock.runtime.records import column
from penstock.runtime.vector.blocks import Block, combined
from penstock.runtime.vector.fold import as_list, fold
from penstock.runtime.vector.grid import Grid
from penstock.runtime.vector.measures import Measures
from penstock.time import MIN_WATERMARK
from tests.vector.jobs import Job, Step, at

VALUES: dict[str, list[Any]] = {
    "large": [3, -1, 7, 2**62, 2**62, 5],
    "huge": [2**70, 1, -(2**70), 4, 5, 6],
    "nan": [0.5, float("nan"), 2.5, -1.0, float("nan"), 3.0],
    "mixed": [1, 2.5, True, 3, 4, 5],
    "decimals": [Decimal("0.1"), Decimal("0.2"), Decimal("-3"), Decimal("4"), Decimal("5.5"), Decimal("6")],
    "strings": ["b", "a", "d", "c", "f", "e"],  # they have no average
}
CASES = [(k, n) for k in KINDS for n in VALUES if (k, n) != ("avg", "strings")]


@pytest.mark.parametrize(("kind", "name"), CASES)
def test_any_values(kind: str, name: str) -> None:
    values = VALUES[name]
    aggregate: NamedAggregate[Any] = NamedAggregate(kind)
    measures = Measures(aggregate)
    codes = column([0, 1, 0, 1, 0, 1])
    never = column([MIN_WATERMARK] * 6)
    came = Block(["a", "b"], codes, column(range(6)), never, None, None, measures.read(values))
    made = combined(came, Grid(10, 10, 0), measures)
    expected: dict[int, Any] = {}
    for code, value in zip(codes.tolist(), values, strict=True):
        expected[code] = aggregate.add(value, expected.get(code))
    assert made.counts is not None
    results = measures.results(made.counts.tolist(), made.columns)
    assert [repr(r) for r in results] == [repr(aggregate.get_result(a)) for a in expected.values()]


@pytest.mark.parametrize(("kind", "name"), CASES)
def test_any_values_in_state(kind: str, name: str) -> None:
    """Batch by batch, so that everything is stored and read in between."""
    from penstock.windows import EventTimeSessionWindows, TumblingEventTimeWindows

    steps = [Step({"s0": [at("a", 1, value)]}, clock=n) for n, value in enumerate(VALUES[name])]
    steps.append(Step(clock=9, end=True))
    for assigner in (TumblingEventTimeWindows.of(10), EventTimeSessionWindows.with_gap(5)):
        job = Job(assigner, NamedAggregate(kind, "value"), steps, function=None, known=("s0",))
        vector, one_by_one = job.run(True), job.run(False)
        assert repr(vector.told()) == repr(one_by_one.told())
        assert vector.outputs[-1]


@given(values=st.lists(st.floats(), min_size=1), data=st.data(), kind=st.sampled_from(["min", "max"]))
def test_extremes_do_not_depend_on_order(values: list[float], data: st.DataObject, kind: str) -> None:
    def extreme(order: list[float]) -> float:
        found: float = as_list(fold(kind, column([0] * len(order)), 1, order))[0]
        return found

    one, other = extreme(values), extreme(data.draw(st.permutations(values)))
    assert one == other or (one != one and other != other)


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(-(2**63), 2**63)), min_size=1))
def test_whole_sums_are_exact(told: list[tuple[int, int]]) -> None:
    groups = column([g for g, _ in told])
    sums = as_list(fold("sum", groups, 4, [v for _, v in told]))
    for group in set(groups.tolist()):
        assert sums[group] == sum(v for g, v in told if g == group)


def test_many_keys_and_far_slices() -> None:
    keys = [f"k{n}" for n in range(3000)]
    stamps = column([n * 1_000_000 for n in range(3000)])
    codes = np.arange(3000, dtype=np.int64)
    twice, again = np.concatenate([codes, codes]), np.concatenate([stamps, stamps])
    came = Block(keys, twice, again, np.full(6000, MIN_WATERMARK, np.int64), None, None, [])
    made = combined(came, Grid(10, 10, 0), Measures(NamedAggregate("count")))
    assert made.codes.tolist() == list(range(3000))
    assert made.counts is not None
    assert set(made.counts.tolist()) == {2}
