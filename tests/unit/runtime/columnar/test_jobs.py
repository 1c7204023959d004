"""Columnar windows in different jobs: after other operators, on non-keyed streams, with other clocks and modes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.connectors import ScriptedSource
from penstock.datastream import DataStream, StreamExecutionEnvironment
from penstock.errors import UserFunctionError
from penstock.functions import DEAD_LETTERS, ProcessAllWindowFunction, ProcessWindowFunction, count, sum_of
from penstock.testing import At, Harness, PushSource
from penstock.time import WatermarkStrategy
from penstock.windows import EventTimeSessionWindows, SlidingEventTimeWindows, TumblingEventTimeWindows
from tests.unit.runtime.columnar.jobs import Job, Step, as_custom_aggregate, at
from tests.unit.runtime.columnar.test_same_results import events, scripts


def second_window(assigner: Any, columnar: bool) -> Any:
    """Returns a second window that sums the results of the first."""
    total = sum_of(3) if columnar else as_custom_aggregate(sum_of(3))

    def add_window(stream: DataStream[Any]) -> DataStream[Any]:
        return stream.key_by(lambda result: result[0]).window(assigner).aggregate(total)

    return add_window


@settings(max_examples=60, deadline=None)
@given(
    first=st.sampled_from([TumblingEventTimeWindows.of(5), SlidingEventTimeWindows.of(6, 3)]),
    second=st.sampled_from([TumblingEventTimeWindows.of(10), EventTimeSessionWindows.with_gap(4)]),
    steps=scripts(events),
    groups=st.sampled_from([1, 3]),
)
def test_windows_after_windows(first: Any, second: Any, steps: Any, groups: int) -> None:
    columnar = Job(first, sum_of("value"), steps, delay=2, downstream=second_window(second, True)).run(True, groups)
    elementwise = Job(first, sum_of("value"), steps, delay=2, downstream=second_window(second, False)).run(False)
    assert columnar.comparable() == elementwise.comparable()


@pytest.mark.parametrize("assigner", [TumblingEventTimeWindows.of(10), EventTimeSessionWindows.with_gap(3)])
def test_ingestion_time(assigner: Any) -> None:
    def run(aggregate: Any) -> list[Any]:
        steps = [Step({"s": [at(key, 0, 2).value for key in "aab"]}, clock=clock) for clock in (1, 2, 12, 30)]
        env = StreamExecutionEnvironment()
        stream = env.from_source(ScriptedSource(steps, known=("s",)), WatermarkStrategy.for_ingestion_time())
        harness = Harness(env, parallelism=2)
        out = harness.collect(stream.key_by(lambda e: e.key).window(assigner).aggregate(aggregate))
        harness.run()
        return list(out.records)

    assert run(sum_of("value")) == run(as_custom_aggregate(sum_of("value"))) != []


class CountInWindow(ProcessAllWindowFunction[int, tuple[int, int], Any]):
    def process(self, context: Any, elements: Iterable[int]) -> Iterable[tuple[int, int]]:
        for n in elements:
            yield context.window().start, n


def test_windows_of_a_non_keyed_stream() -> None:
    env = StreamExecutionEnvironment()
    harness = Harness(env, parallelism=3)
    windows = env.from_source(PushSource()).window_all(TumblingEventTimeWindows.of(10))
    out = harness.collect(windows.aggregate(count(), CountInWindow()))
    harness.push_all([At(n, n) for n in range(15)])
    harness.push_watermark(30)
    assert out == [(0, 10), (10, 5)]


def test_batch_mode() -> None:
    env = StreamExecutionEnvironment()
    harness = Harness(env, batch_mode=True)
    keyed = env.from_source(PushSource()).key_by(lambda n: n % 2)
    out = harness.collect(keyed.window(TumblingEventTimeWindows.of(10)).count())
    harness.push_all([At(n, n) for n in range(15)])
    harness.end()
    assert sorted(out) == [(0, 0, 10, 5), (0, 10, 20, 3), (1, 0, 10, 5), (1, 10, 20, 2)]


def test_elements_without_a_key_become_dead_letters() -> None:
    env = StreamExecutionEnvironment()
    harness = Harness(env)
    keyed = env.from_source(PushSource()).key_by(lambda n: 12 // n, on_error="dead_letter")
    out = harness.collect(keyed.window(TumblingEventTimeWindows.of(10)).count())
    dead = harness.collect(keyed.get_side_output(DEAD_LETTERS))
    harness.push_all([At(n, 1) for n in (3, 0, 4, 3)])
    harness.push_watermark(30)
    assert sorted(out) == [(3, 0, 10, 1), (4, 0, 10, 2)]
    assert [letter.element for letter in dead] == [0]


class Fails(ProcessWindowFunction[int, int, Any, Any]):
    def process(self, key: Any, context: Any, elements: Iterable[int]) -> Iterable[int]:
        raise ValueError("no")


def test_errors_of_window_functions_name_operator_and_key() -> None:
    env = StreamExecutionEnvironment()
    harness = Harness(env)
    windows = env.from_source(PushSource()).key_by(lambda n: "k").window(TumblingEventTimeWindows.of(10))
    harness.collect(windows.aggregate(count(), Fails()).name("sizes"))
    harness.push(1, 1)
    with pytest.raises(UserFunctionError, match="no") as raised:
        harness.push_watermark(30)
    assert "sizes" in str(raised.value)
    assert "'k'" in str(raised.value)
