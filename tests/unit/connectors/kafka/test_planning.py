"""How batches are shared out over partitions, and ranges over tasks."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from penstock.connectors.kafka.admission import shared_out, spread
from penstock.connectors.kafka.ranges import Range

LAGS = st.dictionaries(st.integers(0, 50), st.integers(1, 10_000_000), max_size=20)
PARTS = st.lists(st.tuples(st.integers(0, 1_000_000), st.integers(1, 2_000_000)), max_size=20)


@given(LAGS, st.integers(1, 1_000_000))
def test_no_more_than_the_limit_and_something_of_each(lags: dict[int, int], limit: int) -> None:
    taken = shared_out(lags, limit)
    assert set(taken) == set(lags)
    assert all(1 <= taken[p] <= lags[p] for p in lags)
    assert sum(taken.values()) <= max(limit, 0) + len(lags)
    if sum(lags.values()) <= limit:
        assert taken == lags
    else:
        assert sum(taken.values()) > limit - len(lags)
        assert all(taken[p] - 1 <= lags[p] * limit / sum(lags.values()) for p in lags)


@given(PARTS, st.integers(1, 16))
def test_tasks_cover_every_offset_once_and_are_about_equal(parts: list[tuple[int, int]], parallelism: int) -> None:
    ranges = [Range("t", number, low, low + size) for number, (low, size) in enumerate(parts)]
    tasks = spread(ranges, parallelism)
    assert len(tasks) <= parallelism
    assert all(tasks)
    pieces = [piece for task in tasks for piece in task]
    assert pieces == sorted(pieces), "pieces of a partition are in the order of tasks"
    joined: list[Range] = []
    for piece in pieces:
        if joined and joined[-1].key == piece.key and joined[-1].high == piece.low:
            joined[-1] = joined[-1]._replace(high=piece.high)
        else:
            joined.append(piece)
    assert joined == sorted(ranges)
    sizes = [sum(r.high - r.low for r in task) for task in tasks]
    if sizes:
        share = max(sum(sizes) / parallelism, 5_000)
        assert max(sizes) <= 3.1 * share


def test_a_partition_is_not_cut_when_there_are_tasks_enough() -> None:
    ranges = [Range("t", p, 0, 100_000 + p) for p in range(4)]
    assert spread(ranges, 4) == [[r] for r in ranges]
    assert Counter(len(task) for task in spread(ranges, 2)) == {2: 2}
