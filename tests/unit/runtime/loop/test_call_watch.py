"""A call that does not end is reported while it runs."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterable, Iterator
from typing import Any

import pytest

from penstock import KeyedProcessFunction, StreamExecutionEnvironment
from penstock.engine.wire.log_capture import LogLine, capture_logs
from penstock.runtime.loop import call_watch
from penstock.testing import Harness, PushSource
from tests.waiting import until

_TIMEOUT = 60.0
_ended = threading.Event()  # ends the calls of the tests


@pytest.fixture(autouse=True)
def often(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    until(lambda: "penstock-call-watch" not in {thread.name for thread in threading.enumerate()})
    monkeypatch.setattr(call_watch, "_INTERVAL", 0.01)
    _ended.clear()
    yield
    _ended.set()


class WarningHandler(logging.Handler):
    """Ends the calls when a warning is logged."""

    def __init__(self) -> None:
        super().__init__()
        self.messages: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.messages.append(record.getMessage())
        _ended.set()


@pytest.fixture
def logged() -> Iterator[list[str]]:
    handler, logger = WarningHandler(), logging.getLogger("penstock.operator")
    logger.addHandler(handler)
    yield handler.messages
    logger.removeHandler(handler)


class Endless(KeyedProcessFunction):
    """Yields values or waits, until the test ends the call."""

    def __init__(self, in_timer: bool = False, emits: bool = True) -> None:
        self._in_timer, self._emits = in_timer, emits

    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        if value[1] == "endless":
            if not self._in_timer:
                return self._run()
            ctx.timer_service().register_event_time_timer(7)
        return [value]

    def on_timer(self, timestamp: int, ctx: Any) -> Iterable[Any]:
        return self._run()

    def _run(self) -> Iterator[Any]:
        return values_until_ended(0.0001 if self._emits else _TIMEOUT)


def values_until_ended(pause: float = 0.0001) -> Iterator[int]:
    while not _ended.wait(pause):
        yield 0


def run(function: KeyedProcessFunction) -> None:
    env = StreamExecutionEnvironment()
    stream = env.from_source(PushSource()).key_by(lambda v: v[0]).process(function).name("tested")
    harness = Harness(env)
    harness.collect(stream)
    harness.push(("a", "short"), 1)
    harness.push(("b", "endless"), 2)
    harness.push_watermark(10)


def test_a_generator_that_does_not_end_is_reported(logged: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(call_watch, "_MANY_VALUES", 20)
    run(Endless())
    [message] = logged
    assert message.startswith("Operator 'tested' has been processing an element of key 'b' for 0 s and has emitted ")
    assert "correct the loop" in message


def test_a_timer_whose_generator_does_not_end_is_reported(logged: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(call_watch, "_MANY_VALUES", 20)
    run(Endless(in_timer=True))
    [message] = logged
    assert message.startswith("Operator 'tested' has been processing the timer 7 of key 'b' for 0 s and has emitted ")


def test_a_call_that_takes_long_is_reported(logged: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(call_watch, "_LONG_CALL", 0.03)
    run(Endless(emits=False))
    [message] = logged
    assert message.startswith(
        "Operator 'tested' has been processing an element of key 'b' for 0 s. The batch ends when"
    )
    assert "set a timeout" in message


def test_a_function_in_a_chain_that_does_not_end_is_reported(
    logged: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(call_watch, "_MANY_VALUES", 20)
    env = StreamExecutionEnvironment()
    stream = env.from_source(PushSource()).flat_map(lambda v: values_until_ended() if v == "b" else [v]).name("split")
    harness = Harness(env)
    harness.collect(stream)
    harness.push_all(["a", "b", "c"])
    [message] = logged
    assert message.startswith("Operator 'split' has been processing the element 'b' for 0 s and has emitted ")


def test_the_report_does_not_wait_for_the_end_of_the_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(call_watch, "_MANY_VALUES", 20)
    written: list[LogLine] = []

    def write(lines: list[LogLine]) -> None:
        written.extend(lines)
        _ended.set()

    with capture_logs(write):
        run(Endless())
        assert [(line.level, line.operator) for line in written] == [(logging.WARNING, "tested")]


def test_the_thread_ends_when_no_batch_runs() -> None:
    run(Short())
    until(lambda: "penstock-call-watch" not in {thread.name for thread in threading.enumerate()})


class Short(KeyedProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        return [value]
