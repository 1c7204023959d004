"""A program gives the same final results as a stream that ends and as a batch, whatever the order of its input in the latter."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import penstock as ps
from penstock.engine.batch_host import BatchHost
from penstock.engine.spilled import SpilledRecords
from penstock.runtime.records import Records
from penstock.testing import Harness, PushSource
from tests.jobs.both_modes import PROGRAMS, STRATEGY, Event, Watched

_told = st.lists(st.tuples(st.sampled_from("abcde"), st.integers(-10, 60)), unique_by=lambda t: t[1], max_size=25)


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
@given(_told, _told, st.randoms(use_true_random=False), st.sampled_from([(1, 0), (2, 1), (3, 2), (4, 7)]))
def test_batch_mode_agrees_with_a_stream_that_ends(
    name: str, told: list[tuple[str, int]], others: list[tuple[str, int]], random: Any, spread: tuple[int, int]
) -> None:
    left = [Event(key, time, number) for number, (key, time) in enumerate(sorted(told, key=lambda t: t[1]))]
    right = [Event(key, time, 100 + n) for n, (key, time) in enumerate(sorted(others, key=lambda t: t[1]))]
    streamed = results(name, left, right)
    random.shuffle(left)
    random.shuffle(right)
    parallelism, seed = spread
    assert results(name, left, right, batch_mode=True, parallelism=parallelism, seed=seed) == streamed


@pytest.fixture
def little_memory(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Every frame is a bundle of its own, and nothing fits; gives the sizes of what was spilled."""
    spilled: list[int] = []
    add = SpilledRecords.add

    def noted(self: SpilledRecords, records: Records) -> None:
        spilled.append(len(records.values))
        add(self, records)

    monkeypatch.setattr("penstock.engine.frames._BUNDLE", 1)
    monkeypatch.setattr(BatchHost, "piece", 1)
    monkeypatch.setattr(BatchHost, "spill_at", 1)
    monkeypatch.setattr(SpilledRecords, "piece", 4)
    monkeypatch.setattr(SpilledRecords, "add", noted)
    return spilled


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("keys", ["a", "abcde"])
def test_more_than_fits_is_sorted_on_disk(name: str, keys: str, little_memory: list[int]) -> None:
    left = [Event(keys[n % len(keys)], (n * 7) % 60, n) for n in range(60)]
    right = [Event(keys[n % len(keys)], (n * 11) % 60, 100 + n) for n in range(60)]
    in_order = [sorted(side, key=lambda event: event.time) for side in (left, right)]
    streamed = results(name, *in_order)
    assert not little_memory
    for splits, seed in ((1, 0), (5, 1), (7, 2)):
        assert results(name, left, right, splits=splits, batch_mode=True, parallelism=2, seed=seed) == streamed
    assert streamed
    assert len(little_memory) > 10 or name == "asynchronous"  # which has no keys


def test_state_of_a_key_that_went_on_is_not_kept(little_memory: list[int]) -> None:
    env = ps.StreamExecutionEnvironment()
    out = (
        env.from_source(PushSource(), STRATEGY, "left")
        .key_by(lambda e: e.key)
        .process(Watched(), on_error="dead_letter")
    )
    with Harness(env, batch_mode=True) as harness:
        found = harness.collect(out)
        harness.push_all([Event("ab"[n % 2], n, n) for n in range(20)])
        harness.end()
        assert [state.entries for state in harness.job.states().values()] == [{}]
    assert [key for key, *_ in found] in (["a"] * 10 + ["b"] * 10, ["b"] * 10 + ["a"] * 10)
