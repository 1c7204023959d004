"""A job has the same final results in batch mode as in streaming mode with bounded input, for any order of the input."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import penstock as ps
from penstock.engine.host.batch_host import BatchHost
from penstock.engine.host.spill import SpilledRecords
from penstock.runtime.loop.records import Records
from penstock.testing import Harness, PushSource
from tests.programs.both_modes import PROGRAMS, STRATEGY, Event, Watched

_elements = st.lists(st.tuples(st.sampled_from("abcde"), st.integers(-10, 60)), unique_by=lambda t: t[1], max_size=25)


def results(name: str, left: list[Event], right: list[Event], *, splits: int = 1, **options: Any) -> list[str]:
    env = ps.StreamExecutionEnvironment()
    sources = [env.from_source(PushSource(), STRATEGY, side) for side in ("left", "right")]
    with Harness(env, **options) as harness:
        out = harness.collect(PROGRAMS[name](*sources))
        with harness.batch():
            for side, events in (("left", left), ("right", right)):
                for number in range(splits):
                    harness.push_all(events[number::splits], source=side, split=f"s{number}")
        harness.end()
    return sorted(map(repr, out))


@pytest.mark.parametrize("name", PROGRAMS)
@settings(max_examples=25, deadline=None)
@given(_elements, _elements, st.randoms(use_true_random=False), st.sampled_from([(1, 0), (2, 1), (3, 2), (4, 7)]))
def test_batch_mode_has_the_results_of_streaming_mode(
    name: str, elements: list[tuple[str, int]], others: list[tuple[str, int]], random: Any, spread: tuple[int, int]
) -> None:
    left = [Event(key, time, number) for number, (key, time) in enumerate(sorted(elements, key=lambda t: t[1]))]
    right = [Event(key, time, 100 + n) for n, (key, time) in enumerate(sorted(others, key=lambda t: t[1]))]
    streamed = results(name, left, right)
    random.shuffle(left)
    random.shuffle(right)
    parallelism, seed = spread
    assert results(name, left, right, batch_mode=True, parallelism=parallelism, seed=seed) == streamed


@pytest.fixture
def spilled_records(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Makes every frame a separate bundle and spills everything. Returns the numbers of spilled records."""
    spilled: list[int] = []
    add = SpilledRecords.add

    def recorded(self: SpilledRecords, records: Records) -> None:
        spilled.append(len(records.values))
        add(self, records)

    monkeypatch.setattr("penstock.engine.wire.frames._BUNDLE_BYTES", 1)
    monkeypatch.setattr(BatchHost, "chunk_bytes", 1)
    monkeypatch.setattr(BatchHost, "spill_bytes", 1)
    monkeypatch.setattr(SpilledRecords, "chunk_size", 4)
    monkeypatch.setattr(SpilledRecords, "add", recorded)
    return spilled


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("keys", ["a", "abcde"])
def test_partitions_that_do_not_fit_are_sorted_on_disk(name: str, keys: str, spilled_records: list[int]) -> None:
    left = [Event(keys[n % len(keys)], (n * 7) % 60, n) for n in range(60)]
    right = [Event(keys[n % len(keys)], (n * 11) % 60, 100 + n) for n in range(60)]
    in_order = [sorted(side, key=lambda event: event.time) for side in (left, right)]
    streamed = results(name, *in_order)
    assert not spilled_records
    for splits, seed in ((1, 0), (5, 1), (7, 2)):
        assert results(name, left, right, splits=splits, batch_mode=True, parallelism=2, seed=seed) == streamed
    assert streamed
    assert len(spilled_records) > 10 or name == "asynchronous"  # which has no keys


def test_state_of_a_key_in_several_parts_is_removed(spilled_records: list[int]) -> None:
    env = ps.StreamExecutionEnvironment()
    out = (
        env.from_source(PushSource(), STRATEGY, "left")
        .key_by(lambda e: e.key)
        .process(Watched(), on_error="dead_letter")
    )
    with Harness(env, batch_mode=True) as harness:
        results = harness.collect(out)
        harness.push_all([Event("ab"[n % 2], n, n) for n in range(20)])
        harness.end()
        assert [state.entries for state in harness.job.states().values()] == [{}]
    assert [key for key, *_ in results] in (["a"] * 10 + ["b"] * 10, ["b"] * 10 + ["a"] * 10)
