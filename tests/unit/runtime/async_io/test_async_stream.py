"""AsyncDataStream in the harness: order, capacity, timeouts, errors and retries."""

from __future__ import annotations

import _thread
import asyncio
import functools
import signal
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import penstock as ps
from penstock.connectors.scripted import At, Mark
from penstock.datastream import async_retry_predicates
from penstock.errors import UserFunctionError
from penstock.runtime.async_io.event_loop import EventLoop
from penstock.testing import Collected, Harness, PushSource
from tests.unit.runtime.async_io import services
from tests.unit.runtime.async_io.virtual_time import VirtualClock
from tests.waiting import until

SECOND = ps.Time.seconds(1)
WAITS = [ps.AsyncDataStream.ordered_wait, ps.AsyncDataStream.unordered_wait]


OPENED: list[Harness] = []  # of the running test
CALLED: list[int] = []  # values of the calls of the running test


def opened(harness: Harness) -> Harness:
    OPENED.append(harness)
    return harness


@pytest.fixture(autouse=True)
def check_that_the_loop_ends() -> Iterator[None]:
    CALLED.clear()
    yield
    services.BLOCKED.set()
    while OPENED:
        OPENED.pop().close()
    services.BLOCKED.clear()
    assert EventLoop._shared is None


def run_pipeline(
    build: Callable[[ps.DataStream[Any]], ps.DataStream[Any]], **options: Any
) -> tuple[Harness, Collected]:
    env = ps.StreamExecutionEnvironment()
    stream = build(env.from_source(PushSource(), source_name="numbers"))
    harness = opened(Harness(env, **options))
    return harness, harness.collect(stream)


def wait_pipeline(
    function: ps.AsyncFunction[Any, Any], timeout: Any = SECOND, **options: Any
) -> tuple[Harness, Collected]:
    return run_pipeline(lambda s: ps.AsyncDataStream.unordered_wait(s, function, timeout, **options))


@pytest.mark.parametrize("wait", WAITS)
def test_results_are_in_the_order_of_their_elements(wait: Any) -> None:
    harness, out = run_pipeline(lambda s: wait(s, services.Doubled(0.002, most=20), SECOND))
    harness.push_all(range(20))
    assert out == [2 * n for n in range(20)]


def test_the_number_of_concurrent_calls_is_the_capacity() -> None:
    harness, out = wait_pipeline(services.Watched(), capacity=7)
    harness.push_all(range(50))
    assert [value for value, _ in out] == list(range(50))
    assert max(most for _, most in out) == 7


def test_calls_of_a_batch_run_concurrently(clock: VirtualClock) -> None:
    harness, out = wait_pipeline(services.Doubled(0.2))
    harness.push_all(range(100))
    assert len(out) == 100
    assert clock.seconds == pytest.approx(0.2)


def test_a_call_may_return_any_number_of_elements() -> None:
    harness, out = wait_pipeline(services.Echoing())
    harness.push_all([[1, 2], [], (3,), {4}, iter([5, 6]), [7]])
    assert out == [1, 2, 3, 4, 5, 6, 7]


def test_results_keep_the_timestamps_of_their_elements_and_watermarks_do_not_overtake_them() -> None:
    env = ps.StreamExecutionEnvironment()
    strategy = ps.WatermarkStrategy.for_monotonous_timestamps()
    stream = env.from_source(PushSource(), strategy)
    answered = ps.AsyncDataStream.unordered_wait(stream, services.Doubled(0.002, most=40), SECOND)
    seen = answered.key_by(lambda n: 0).process(Seen())
    harness = opened(Harness(env))
    out = harness.collect(seen)
    harness.push_all([At(5, 5), At(9, 9), Mark(20), At(30, 30)])
    assert out == [(10, 5, ps.time.MIN_WATERMARK), (18, 9, 4), (60, 30, 20)]


class Seen(ps.KeyedProcessFunction):
    def process_element(self, value: int, ctx: Any) -> Any:
        yield value, ctx.timestamp(), ctx.timer_service().current_watermark()


def test_on_a_keyed_stream_and_after_an_operator() -> None:
    harness, out = run_pipeline(
        lambda s: ps.AsyncDataStream.ordered_wait(
            s.key_by(lambda n: n % 3).reduce(lambda a, b: a + b), services.Doubled(), SECOND
        ),
        parallelism=2,
    )
    harness.push_all(range(6))
    harness.push_all([6])
    assert sorted(out) == [0, 2, 4, 6, 10, 14, 18]


def test_in_batch_mode() -> None:
    env = ps.StreamExecutionEnvironment()
    stream = ps.AsyncDataStream.unordered_wait(env.from_sequence(1, 50), services.Doubled(), SECOND)
    harness = opened(Harness(env, batch_mode=True))
    out = harness.collect(stream.key_by(lambda n: n % 2).sum())
    harness.run()
    assert out == [2550]


# -- errors


def test_an_error_fails_the_job_and_names_operator_line_and_element() -> None:
    harness, out = wait_pipeline(services.Failing(13))
    with pytest.raises(UserFunctionError) as caught:
        harness.push_all(range(20))
    failed = caught.value.failed
    assert failed is not None
    assert (failed.name, failed.error, failed.element, failed.source) == (
        "async wait operator",
        "ConnectionError",
        "13",
        "numbers",
    )
    assert (failed.function, failed.position) == ("Failing.async_invoke", 13)
    assert failed.location.startswith("tests/unit/runtime/async_io/services.py:")
    assert out == []
    harness.push_all([1])  # the failed batch left no trace
    assert out == [1]


def test_an_error_ends_the_other_calls(clock: VirtualClock) -> None:
    harness, _ = wait_pipeline(SlowFailing(), ps.Time.minutes(1))
    with pytest.raises(UserFunctionError, match="the first"):
        harness.push_all(range(10))
    assert clock.seconds == pytest.approx(0.05)


def test_no_call_starts_after_an_error() -> None:
    harness, _ = wait_pipeline(RecordedFailing(0), capacity=2)
    with pytest.raises(UserFunctionError, match="no answer for 0"):
        harness.push_all(range(100))
    assert CALLED == [0, 1]


class RecordedFailing(services.Failing):
    async def async_invoke(self, value: int) -> list[int]:
        CALLED.append(value)
        return await super().async_invoke(value)


def test_an_error_does_not_wait_for_calls_that_cannot_be_cancelled(clock: VirtualClock) -> None:
    harness, _ = wait_pipeline(UncancellableFailing(), ps.Time.minutes(10))
    with pytest.raises(UserFunctionError, match="the first"):
        harness.push_all(range(3))
    assert clock.seconds < 5


class UncancellableFailing(services.Uncancellable):
    async def async_invoke(self, value: int) -> list[int]:
        if value == 0:
            raise ValueError("the first")
        return await super().async_invoke(value)


class SlowFailing(ps.AsyncFunction[int, int]):
    async def async_invoke(self, value: int) -> list[int]:
        if value == 0:
            await asyncio.sleep(0.05)
            raise ValueError("the first")
        await asyncio.sleep(3600)
        return []


def guarded(function: ps.AsyncFunction[Any, Any], timeout: Any = SECOND) -> tuple[Harness, Collected, Collected]:
    env = ps.StreamExecutionEnvironment()
    stream = ps.AsyncDataStream.unordered_wait(
        env.from_source(PushSource()), function, timeout, 3, on_error="dead_letter"
    )
    harness = opened(Harness(env))
    return harness, harness.collect(stream), harness.collect(stream.get_side_output(ps.DEAD_LETTERS))


def test_elements_of_failed_calls_become_dead_letters() -> None:
    harness, out, dead = guarded(services.Failing(3, 7))
    harness.push_all(range(10))
    assert out == [0, 1, 2, 4, 5, 6, 8, 9]
    assert [(d.element, d.error, d.message) for d in dead] == [
        (3, "ConnectionError", "no answer for 3"),
        (7, "ConnectionError", "no answer for 7"),
    ]


def test_elements_whose_calls_time_out_become_dead_letters() -> None:
    harness, out, dead = guarded(services.Silent(3, 7), ps.Time.milliseconds(50))
    harness.push_all(range(10))
    assert out == [0, 1, 2, 4, 5, 6, 8, 9]
    assert [(d.element, d.error) for d in dead] == [(3, "TimeoutError"), (7, "TimeoutError")]


@pytest.mark.parametrize(
    ("result", "message"), [(None, "returned None"), (5, "returned a int"), ("ab", "returned a str")]
)
def test_a_result_that_is_not_a_list(result: Any, message: str) -> None:
    harness, _ = wait_pipeline(services.Echoing())
    with pytest.raises(UserFunctionError, match=message) as caught:
        harness.push(result)
    assert caught.value.code == "ASYNC_RESULT"
    harness, out, dead = guarded(services.Echoing())
    harness.push_all([[1], result])
    assert out == [1]
    assert [d.element for d in dead] == [result]


def test_a_result_that_is_not_of_the_declared_type() -> None:
    env = ps.StreamExecutionEnvironment()
    stream = ps.AsyncDataStream.ordered_wait(
        env.from_source(PushSource()), services.Echoing(), SECOND, output_type=ps.Types.DOUBLE(), on_error="dead_letter"
    )
    harness = opened(Harness(env))
    out, dead = harness.collect(stream), harness.collect(stream.get_side_output(ps.DEAD_LETTERS))
    harness.push_all([[1, 2.5], ["x"], [3]])
    assert list(map(repr, out)) == ["1.0", "2.5", "3.0"]
    assert [(d.element, d.error) for d in dead] == [(["x"], "ElementError")]


@pytest.mark.parametrize("error", [SystemExit, KeyboardInterrupt, asyncio.CancelledError])
def test_an_exception_that_would_end_the_loop_is_an_error_of_the_call(error: type[BaseException]) -> None:
    harness, out = wait_pipeline(Raising(error))
    with pytest.raises(UserFunctionError, match=error.__name__):
        harness.push_all([1, 0])
    harness.push_all([2])
    assert out == [2]


class Raising(ps.AsyncFunction[int, int]):
    def __init__(self, error: type[BaseException]) -> None:
        self.error = error

    async def async_invoke(self, value: int) -> list[int]:
        await asyncio.sleep(0)
        if not value:
            raise self.error
        return [value]


# -- time


@pytest.mark.usefixtures("real_time")
def test_a_call_that_never_returns_fails_the_job_after_its_timeout() -> None:
    harness, _ = wait_pipeline(services.Silent(2), ps.Time.milliseconds(100))
    began = time.perf_counter()
    with pytest.raises(UserFunctionError, match="TimeoutError") as caught:
        harness.push_all([1, 2, 3])
    assert time.perf_counter() - began >= 0.1
    assert caught.value.failed is not None
    assert caught.value.failed.element == "2"


@pytest.mark.parametrize("function", [services.Defaulting, services.AsyncDefaulting])
def test_the_timeout_function_returns_the_result(function: Any) -> None:
    harness, out = wait_pipeline(function(2, 4), ps.Time.milliseconds(50))
    harness.push_all([1, 2, 3, 4])
    assert out == [1, -2, 3, -4]
    assert harness.metrics.get("async wait operator", "async.timeouts") == 2


def test_a_timeout_function_that_raises() -> None:
    for error in (ValueError("no default"), SystemExit("no default")):
        harness, out = wait_pipeline(BadDefault(error, 2), ps.Time.milliseconds(50))
        with pytest.raises(UserFunctionError, match="no default"):
            harness.push_all([1, 2])
        harness.push_all([3])
        assert out == [3]


class BadDefault(services.Silent):
    def __init__(self, error: BaseException, *silent: int) -> None:
        super().__init__(*silent)
        self.error = error

    def timeout(self, value: int) -> list[int]:
        raise self.error


def test_a_call_that_returns_a_result_when_it_is_cancelled_has_still_timed_out() -> None:
    harness, out = wait_pipeline(Stubborn(), ps.Time.milliseconds(50))
    harness.push_all([1, 2])
    assert out == ["in time", "late"]


class Stubborn(ps.AsyncFunction[int, str]):
    async def async_invoke(self, value: int) -> list[str]:
        try:
            await asyncio.sleep(0 if value == 1 else 60)
        except asyncio.CancelledError:
            return ["cancelled"]
        return ["in time"]

    def timeout(self, value: int) -> list[str]:
        return ["late"]


def test_many_calls_time_out_in_the_time_of_few(clock: VirtualClock) -> None:
    harness, out = wait_pipeline(services.Defaulting(*range(1, 301)), ps.Time.milliseconds(100), capacity=100)
    harness.push_all(range(1, 301))
    assert out == [-n for n in range(1, 301)]
    assert clock.seconds == pytest.approx(0.3, abs=0.05)  # 100 calls at a time


def test_a_call_that_blocks_the_loop_fails_the_job_and_the_next_batch_has_a_new_loop() -> None:
    harness, out = wait_pipeline(services.Blocking(2), ps.Time.milliseconds(200))
    with pytest.raises(UserFunctionError) as caught:
        harness.push_all([1, 2, 3])
    assert not services.BLOCKED.is_set()  # the call has not returned
    failed = caught.value.failed
    assert caught.value.code == "ASYNC_BLOCKED"
    assert failed is not None
    assert (failed.element, failed.function) == ("2", "Blocking.async_invoke")
    harness.push_all([4, 5])
    assert out == [4, 5]


@pytest.mark.usefixtures("real_time")
def test_many_calls_without_await_do_not_count_as_a_blocked_loop() -> None:
    harness, out = wait_pipeline(Working(), ps.Time.milliseconds(50))
    began = time.perf_counter()
    harness.push_all(range(1000))
    assert time.perf_counter() - began > 2  # longer than the loop may be unresponsive
    assert out == list(range(1000))


class Working(ps.AsyncFunction[int, int]):
    """Computes for a short time per element, without await."""

    async def async_invoke(self, value: int) -> list[int]:
        time.sleep(0.002)
        return [value]


def test_a_call_that_cannot_be_cancelled_fails_the_job() -> None:
    harness, _ = wait_pipeline(services.Uncancellable(), ps.Time.milliseconds(50))
    with pytest.raises(UserFunctionError) as caught:
        harness.push_all([1])
    assert caught.value.code == "ASYNC_STUCK"


@pytest.fixture
def interruptible() -> Iterator[None]:
    """Enables interrupts, which a process started in the background ignores."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible", "real_time")
def test_an_interrupt_during_the_wait_ends_the_calls() -> None:
    harness, _ = wait_pipeline(Recorded(), ps.Time.minutes(10))
    interrupt = threading.Thread(target=interrupt_the_wait)
    interrupt.start()
    with pytest.raises(KeyboardInterrupt):
        harness.push_all([1])
    interrupt.join()
    until(lambda: CALLED == [1, -1])
    harness.push_all([2])


def interrupt_the_wait() -> None:
    until(lambda: CALLED)
    time.sleep(0.1)  # the main thread waits, or starts to wait
    _thread.interrupt_main()


class Recorded(services.Silent):
    """Records calls and cancellations. Never returns for 1."""

    def __init__(self) -> None:
        super().__init__(1)

    async def async_invoke(self, value: int) -> list[int]:
        CALLED.append(value)
        try:
            return await super().async_invoke(value)
        except asyncio.CancelledError:
            CALLED.append(-value)
            raise


# -- further attempts


def retry_pipeline(
    function: ps.AsyncFunction[Any, Any], strategy: ps.AsyncRetryStrategy[Any], timeout: Any = SECOND
) -> tuple[Harness, Collected]:
    return run_pipeline(lambda s: ps.AsyncDataStream.unordered_wait_with_retry(s, function, timeout, strategy, 2))


def fixed_delay(attempts: int, millis: int = 5) -> ps.AsyncRetryStrategy[Any]:
    refused = functools.partial(async_retry_predicates.exception_type_predicate, expected_error_type=ConnectionError)
    return ps.AsyncRetryStrategy.fixed_delay(attempts, millis, async_retry_predicates.empty_result_predicate, refused)


def test_retries_until_the_result_is_accepted() -> None:
    harness, out = retry_pipeline(services.Flaky(failures=2, empty=1), fixed_delay(5))
    harness.push_all([1, 2, 3])
    assert out == [4, 4, 4]
    assert harness.metrics.get("async wait operator", "async.calls") == 3
    assert harness.metrics.get("async wait operator", "async.retries") == 9


def test_the_last_attempt_counts_whatever_it_returns() -> None:
    harness, out = retry_pipeline(services.Flaky(failures=1, empty=9), fixed_delay(3))
    harness.push_all([1])
    assert out == []  # four attempts in all: the fourth gave an empty result
    assert harness.metrics.get("async wait operator", "async.retries") == 3
    harness, _ = retry_pipeline(services.Flaky(failures=9), fixed_delay(3))
    with pytest.raises(UserFunctionError, match="try again"):
        harness.push_all([1])


def test_an_exception_without_a_matching_predicate_is_not_retried() -> None:
    strategy = ps.AsyncRetryStrategy.fixed_delay(5, 5, None, lambda error: isinstance(error, ValueError))
    harness, _ = retry_pipeline(services.Flaky(failures=1), strategy)
    with pytest.raises(UserFunctionError, match="ConnectionError"):
        harness.push_all([1])


def test_the_timeout_covers_all_attempts(clock: VirtualClock) -> None:
    harness, out = retry_pipeline(services.Flaky(failures=100), fixed_delay(100, 30), ps.Time.milliseconds(200))
    harness.push_all([1])
    assert out == [-7]  # at 0, 30, ..., 180 ms
    assert clock.seconds == pytest.approx(0.2, abs=0.02)


def test_a_predicate_that_raises_fails_the_call() -> None:
    def broken(result: list[int]) -> bool:
        raise LookupError("broken predicate")

    harness, _ = retry_pipeline(services.Failing(), ps.AsyncRetryStrategy.fixed_delay(3, 5, broken, None))
    with pytest.raises(UserFunctionError, match="broken predicate"):
        harness.push_all([1])


def test_delays_grow_up_to_the_maximum_and_calls_are_independent() -> None:
    strategy: Any = ps.AsyncRetryStrategy.exponential_backoff(5, 10, 65, 2.0, None, None)
    assert [strategy.get_backoff_time_millis(n) for n in (1, 2, 1, 3, 4, 2, 5)] == [10, 20, 10, 40, 65, 20, 65]
    assert [strategy.can_retry(n) for n in (1, 5, 6)] == [True, True, False]
    none = ps.AsyncRetryStrategy.no_restart()
    assert (none.can_retry(1), none.get_backoff_time_millis(1)) == (False, -1)


# -- life


def test_clients_live_in_the_event_loop() -> None:
    harness, out = wait_pipeline(WithClient())
    harness.push_all([1, 2])
    assert out == [("client", 1), ("client", 2)]


class WithClient(ps.AsyncFunction[int, tuple[str, int]]):
    async def async_open(self, runtime_context: ps.RuntimeContext) -> None:
        self.loop = asyncio.get_running_loop()
        self.client = "client"

    async def async_invoke(self, value: int) -> list[tuple[str, int]]:
        assert asyncio.get_running_loop() is self.loop
        return [(self.client, value)]

    async def async_close(self) -> None:
        assert asyncio.get_running_loop() is self.loop


def test_a_client_is_created_again_in_a_new_loop() -> None:
    harness, out = wait_pipeline(BlockingWithClient(2), ps.Time.milliseconds(50))
    with pytest.raises(UserFunctionError, match="ASYNC_BLOCKED"):
        harness.push_all([2])
    harness.push_all([3])
    assert out == [3]


class BlockingWithClient(services.Blocking):
    async def async_open(self, runtime_context: ps.RuntimeContext) -> None:
        self.loop = asyncio.get_running_loop()

    async def async_invoke(self, value: int) -> list[int]:
        assert asyncio.get_running_loop() is self.loop
        return await super().async_invoke(value)


def test_an_error_in_open_names_the_operator() -> None:
    harness, _ = wait_pipeline(Unopened())
    with pytest.raises(UserFunctionError, match=r"'async wait operator'.*no client"):
        harness.push_all([1])


class Unopened(services.Doubled):
    def open(self, runtime_context: ps.RuntimeContext) -> None:
        raise OSError("no client")


# -- whatever the service does


@settings(max_examples=15)
@given(
    st.lists(st.sampled_from(["now", "soon", "later", "fails", "never", "many"]), max_size=25),
    st.integers(1, 8),
    st.integers(1, 10),
)
def test_every_element_comes_out_once_and_in_order(kinds: list[str], capacity: int, cut: int) -> None:
    env = ps.StreamExecutionEnvironment()
    stream = ps.AsyncDataStream.unordered_wait(
        env.from_source(PushSource()), Moody(), ps.Time.milliseconds(200), capacity, on_error="dead_letter"
    )
    harness = opened(Harness(env))
    out, dead = harness.collect(stream), harness.collect(stream.get_side_output(ps.DEAD_LETTERS))
    elements = list(enumerate(kinds))
    for start in range(0, len(elements), cut):
        harness.push_all(elements[start : start + cut])
    expected = [number for number, kind in elements for _ in range({"fails": 0, "never": 0, "many": 3}.get(kind, 1))]
    assert out == expected
    assert [letter.element for letter in dead] == [e for e in elements if e[1] in ("fails", "never")]
    OPENED.pop().close()


class Moody(ps.AsyncFunction[tuple[int, str], int]):
    async def async_invoke(self, value: tuple[int, str]) -> list[int]:
        number, kind = value
        if kind != "now":
            await asyncio.sleep({"soon": 0, "later": 0.003, "never": 60}.get(kind, 0))
        if kind == "fails":
            raise ValueError(kind)
        return [number] * (3 if kind == "many" else 1)
