"""The slot loop as functions see it: errors, endless timers, random values and wake-ups."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from penstock import KeyedProcessFunction, ProcessFunction, StreamExecutionEnvironment, ValueStateDescriptor
from penstock.errors import StateError, TimeError, UserFunctionError
from penstock.runtime.loop import slot
from penstock.testing import At, Harness, PushSource


def harness_of(function: Any, **settings: Any) -> tuple[Harness, Any]:
    env = StreamExecutionEnvironment()
    stream = env.from_source(PushSource()).key_by(lambda v: v[0]).process(function).name("tested")
    harness = Harness(env, **settings)
    return harness, harness.collect(stream)


class RandomValues(KeyedProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        ctx.timer_service().register_event_time_timer(5)
        yield value, ctx.random.random(), ctx.random.random(), ctx.uuid(), ctx.uuid()

    def on_timer(self, timestamp: int, ctx: Any) -> Iterable[Any]:
        yield ctx.get_current_key(), ctx.random.random(), ctx.uuid()


ITEMS: list[Any] = [At((key, number), 1) for number in range(4) for key in "abcdef"]


def test_random_values_do_not_depend_on_other_keys() -> None:
    def run(groups: int) -> list[Any]:
        harness, out = harness_of(RandomValues(), parallelism=groups)
        harness.push_all(ITEMS)
        harness.end()
        return list(out)

    assert run(1) == run(2) == run(5)


def test_random_values_are_the_same_when_a_batch_is_repeated() -> None:
    harness, out = harness_of(RandomValues())

    def fail(level: int, slot: int) -> None:
        raise KeyError

    harness.job.after_slot = fail
    with pytest.raises(KeyError):
        harness.push_all(ITEMS)
    harness.job.after_slot = None
    harness.push_all(ITEMS)
    other, without_failure = harness_of(RandomValues())
    other.push_all(ITEMS)
    assert out == without_failure


def test_random_values_differ_from_call_to_call() -> None:
    harness, out = harness_of(RandomValues())
    harness.push_all(ITEMS)
    harness.push_all(ITEMS)
    drawn = [thing for _, *things in out for thing in things]
    assert len(set(drawn)) == len(drawn)


class Endless(KeyedProcessFunction):
    """Registers many timers. With `renews`, each firing timer registers another one."""

    def __init__(self, renews: bool) -> None:
        self._renews = renews

    def process_element(self, value: Any, ctx: Any) -> None:
        for time in range(value[1]):
            ctx.timer_service().register_event_time_timer(time)

    def on_timer(self, timestamp: int, ctx: Any) -> Iterable[Any]:
        if self._renews:
            ctx.timer_service().register_event_time_timer(timestamp + 1)
        yield timestamp


@pytest.fixture
def few_renewals(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slot, "_MAX_RENEWALS_AT_END", 100)


@pytest.mark.usefixtures("few_renewals")
def test_a_timer_that_renews_itself_endlessly_is_an_error_at_the_end() -> None:
    harness, _ = harness_of(Endless(renews=True))
    harness.push(("a", 1), 0)
    with pytest.raises(TimeError, match=r"TIMER_WITHOUT_END.*'tested'.*key 'a'"):
        harness.end()


@pytest.mark.usefixtures("few_renewals")
def test_any_number_of_timers_may_wait_for_the_end() -> None:
    harness, out = harness_of(Endless(renews=False))
    harness.push(("a", 250), 0)
    harness.end()
    assert out == list(range(250))


class Repeating(KeyedProcessFunction):
    """Timers that register themselves again, at most `times` times, at their own time plus `step`."""

    def __init__(self, times: int, step: int, processing: bool = False) -> None:
        self._left, self._step, self._processing = times, step, processing

    def _register(self, time: int, ctx: Any) -> None:
        timers = ctx.timer_service()
        register = timers.register_processing_time_timer if self._processing else timers.register_event_time_timer
        register(time)

    def process_element(self, value: Any, ctx: Any) -> None:
        self._register(3, ctx)

    def on_timer(self, timestamp: int, ctx: Any) -> None:
        if self._left:
            self._left -= 1
            self._register(timestamp + self._step, ctx)


@pytest.mark.parametrize("processing", [False, True])
@pytest.mark.parametrize("step", [0, -1])
def test_a_timer_that_fires_again_at_its_own_time_is_reported_once(
    caplog: pytest.LogCaptureFixture, step: int, processing: bool
) -> None:
    harness, _ = harness_of(Repeating(25_000, step, processing))
    harness.push(("a", 1), 1)
    harness.set_time(10)
    harness.push_watermark(20)
    [warning] = caplog.messages
    assert warning.startswith("Operator 'tested' has fired 10,000 timers of key 'a' in one batch, the last one at ")
    assert "Register the next timer at a later time" in warning


def test_a_timer_that_renews_itself_at_later_times_is_not_reported(caplog: pytest.LogCaptureFixture) -> None:
    harness, _ = harness_of(Repeating(25_000, 1))
    harness.push(("a", 1), 1)
    harness.push_watermark(100_000)
    assert not caplog.messages


class Late(KeyedProcessFunction):
    """Registers a processing timer that is already due."""

    def process_element(self, value: Any, ctx: Any) -> None:
        ctx.timer_service().register_processing_time_timer(3)

    def on_timer(self, timestamp: int, ctx: Any) -> Iterable[Any]:
        yield timestamp, ctx.timestamp(), ctx.timer_service().current_processing_time()


def test_a_processing_timer_that_is_already_due_requests_another_batch() -> None:
    harness, out = harness_of(Late())
    harness.set_time(10)
    harness.push(("a", 1))
    assert out == []
    assert harness.next_wake() == 3
    harness.set_time(10)
    assert out == [(3, None, 10)]


class Failing(KeyedProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        ctx.timer_service().register_event_time_timer(value[1])
        if value[1] == 13:
            raise ValueError("unlucky")
        yield value

    def on_timer(self, timestamp: int, ctx: Any) -> Iterable[Any]:
        raise ValueError("no timers please")


def test_an_error_names_the_operator_the_key_and_the_element() -> None:
    harness, _ = harness_of(Failing())
    harness.push(("a", 1), 1)
    with pytest.raises(
        UserFunctionError, match=r"'tested' .*raised ValueError: unlucky at .*key 'b', element \('b', 13\)"
    ):
        harness.push_all([At(("a", 2), 2), At(("b", 13), 3), At(("a", 4), 4)])
    with pytest.raises(
        UserFunctionError, match=r"'tested' .*raised ValueError: no timers please at .*key 'a', timer at 1"
    ):
        harness.end()


class Stateful(ProcessFunction):
    def open(self, runtime_context: Any) -> None:
        runtime_context.get_state(ValueStateDescriptor("state"))

    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        yield value


class Timed(ProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        ctx.timer_service().register_event_time_timer(1)
        yield value


@pytest.mark.parametrize(("function", "error"), [(Stateful(), StateError), (Timed(), (TimeError, UserFunctionError))])
def test_state_and_timers_need_a_key(function: Any, error: Any) -> None:
    env = StreamExecutionEnvironment()
    harness = Harness(env)
    harness.collect(env.from_source(PushSource()).process(function))
    with pytest.raises(error, match="key_by"):
        harness.push(1)
