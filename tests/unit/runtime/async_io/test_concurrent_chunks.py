"""The calls of all chunks of a task are awaited together, with otherwise unchanged results."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import penstock as ps
from penstock.connectors.source import Chunk, Offset, Source
from penstock.errors import UserFunctionError
from penstock.testing import Harness
from tests.unit.runtime.async_io import services
from tests.unit.runtime.async_io.test_async_stream import Seen
from tests.unit.runtime.async_io.virtual_time import VirtualClock


class ManyChunks(Source):
    """One task that reads ten splits in chunks of one element. Element n of split s is s * 100 + n, at time n."""

    def __init__(self, splits: int = 10, each: int = 5) -> None:
        self.count = splits
        self.each = each

    def initial(self) -> Offset:
        return {"done": 0}

    def latest(self, start: Offset) -> Offset:
        return {"done": 1}

    def plan(self, start: Offset, end: Offset, parallelism: int) -> list[Any]:
        return [None] if end != start else []

    def read(self, task: Any) -> Iterator[Chunk]:
        for n in range(self.each):
            for split in range(self.count):
                yield Chunk(str(split), n, [split * 100 + n], timestamps=[n * 10])

    def splits(self, offset: Offset) -> list[str]:
        return [str(split) for split in range(self.count)]

    def ended(self, offset: Offset) -> list[str]:
        return self.splits(offset) if offset["done"] else []


ALL = [s * 100 + n for s in range(10) for n in range(5)]


def test_the_calls_of_all_chunks_are_awaited_together(clock: VirtualClock) -> None:
    env = ps.StreamExecutionEnvironment()
    stream = ps.AsyncDataStream.unordered_wait(env.from_source(ManyChunks()), services.Doubled(0.1), 5000)
    with Harness(env) as harness:
        out = harness.collect(stream)
        harness.run()
    assert clock.seconds == pytest.approx(0.1)
    assert sorted(out) == [2 * n for n in ALL]


def build(env: ps.StreamExecutionEnvironment, waiting: bool) -> list[ps.DataStream[Any]]:
    """A chain with steps before and after the call, branches and side outputs; with plain functions if `waiting` is false."""

    def apply_call(stream: ps.DataStream[Any], function: ps.AsyncFunction[Any, Any], plain: Any) -> ps.DataStream[Any]:
        if waiting:
            return ps.AsyncDataStream.ordered_wait(stream, function, 5000, on_error="dead_letter")
        return stream.flat_map(plain, on_error="dead_letter")

    def failing(n: int) -> list[int]:
        if n in (203, 704):
            raise ConnectionError(f"no answer for {n}")
        return [n]

    strategy = ps.WatermarkStrategy.for_monotonous_timestamps()
    numbers = env.from_source(ManyChunks(), strategy).map(lambda n: n).filter(lambda n: n % 7 != 3)
    answered = apply_call(numbers, services.Failing(203, 704), failing)
    doubled = apply_call(answered.map(lambda n: n + 1), services.Doubled(0), lambda n: [2 * n])
    beside = numbers.filter(lambda n: n < 500).key_by(lambda n: n % 2).process(Seen())
    behind = doubled.key_by(lambda n: n % 3).process(Seen())
    late = answered.assign_timestamps_and_watermarks(strategy.with_timestamp_assigner(lambda n, _: n))
    dead = answered.get_side_output(ps.DEAD_LETTERS).map(lambda d: (d.element, d.error, d.split, d.position))
    return [answered, doubled, beside, behind, late.key_by(lambda n: 0).process(Seen()), dead]


def test_results_times_and_dead_letters_equal_those_of_plain_functions() -> None:
    results = []
    for waiting in (True, False):
        env = ps.StreamExecutionEnvironment()
        streams = build(env, waiting)
        with Harness(env, parallelism=2) as harness:
            out = [harness.collect(stream) for stream in streams]
            harness.run()
            results.append([list(o) for o in out])
    assert results[0] == results[1]
    assert len(results[0][-1]) == 2
    assert all(results[0])


def test_an_error_names_the_split_of_its_element() -> None:
    env = ps.StreamExecutionEnvironment()
    stream = ps.AsyncDataStream.ordered_wait(env.from_source(ManyChunks()), services.Failing(302), 5000)
    with Harness(env) as harness:
        harness.collect(stream)
        with pytest.raises(UserFunctionError) as caught:
            harness.run()
    failed = caught.value.failed
    assert failed is not None
    assert (failed.element, failed.split, failed.position) == ("302", "3", 2)
