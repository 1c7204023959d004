"""Planning of Kafka batches: records per partition and ranges per task."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from penstock.connectors.kafka.source.planning import OffsetRange, admit_records, assign_to_tasks

LAGS = st.dictionaries(st.integers(0, 50), st.integers(1, 10_000_000), max_size=20)
PARTS = st.lists(st.tuples(st.integers(0, 1_000_000), st.integers(1, 2_000_000)), max_size=20)


@given(LAGS, st.integers(1, 1_000_000))
def test_admitted_records_are_limited_and_no_partition_gets_none(lags: dict[int, int], limit: int) -> None:
    admitted = admit_records(lags, limit)
    assert set(admitted) == set(lags)
    assert all(1 <= admitted[p] <= lags[p] for p in lags)
    assert sum(admitted.values()) <= max(limit, 0) + len(lags)
    if sum(lags.values()) <= limit:
        assert admitted == lags
    else:
        assert sum(admitted.values()) > limit - len(lags)
        assert all(admitted[p] - 1 <= lags[p] * limit / sum(lags.values()) for p in lags)


@given(PARTS, st.integers(1, 16))
def test_tasks_cover_every_offset_once_and_have_similar_sizes(parts: list[tuple[int, int]], parallelism: int) -> None:
    ranges = [OffsetRange("t", number, low, low + size) for number, (low, size) in enumerate(parts)]
    tasks = assign_to_tasks(ranges, parallelism)
    assert len(tasks) <= parallelism
    assert all(tasks)
    pieces = [piece for task in tasks for piece in task]
    assert pieces == sorted(pieces), "pieces of a partition are in the order of tasks"
    joined: list[OffsetRange] = []
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


def test_partition_is_not_split_without_need() -> None:
    ranges = [OffsetRange("t", p, 0, 100_000 + p) for p in range(4)]
    assert assign_to_tasks(ranges, 4) == [[r] for r in ranges]
    assert Counter(len(task) for task in assign_to_tasks(ranges, 2)) == {2: 2}
