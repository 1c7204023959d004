"""Log lines of functions reach the log of the job, with operator and subtask."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any

import pytest

import penstock as ps
from penstock.engine.wire.log_capture import MAX_LINES, LogLine, capture_logs, replay_lines, take_captured_lines
from penstock.errors import UserFunctionError
from penstock.testing import Harness, PushSource

log = logging.getLogger("tests.shop")


class LoggingFunction(ps.KeyedProcessFunction):
    def open(self, runtime_context: ps.RuntimeContext) -> None:
        log.info("opened")

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        log.info("saw %s", value)
        log.debug("not captured")
        if value == "bad":
            raise ValueError("bad")
        yield value


def log_and_return(value: Any) -> Any:
    log.warning("mapped %s", value)
    return value


@pytest.fixture
def unconfigured() -> Iterator[None]:
    """Resets the level of the root logger, which pytest or another test may have set."""
    root = logging.getLogger()
    before = root.level
    root.setLevel(logging.WARNING)
    yield
    assert root.level == logging.WARNING
    root.setLevel(before)


def pipeline(parallelism: int = 1) -> tuple[Harness, Any]:
    env = ps.StreamExecutionEnvironment().set_parallelism(parallelism)
    stream = (
        env.from_source(PushSource())
        .map(log_and_return)
        .name("first")
        .key_by(str)
        .process(LoggingFunction())
        .name("talks")
    )
    harness = Harness(env)
    return harness, harness.collect(stream.map(log_and_return).name("last"))


def test_lines_have_operator_subtask_and_logger(unconfigured: None) -> None:
    harness, _ = pipeline()
    harness.push("a")
    lines = [(line.operator, line.subtask, line.level, line.logger, line.text) for line in harness.logs]
    assert lines == [
        ("talks", 0, logging.INFO, "tests.shop", "opened"),
        ("first", 0, logging.WARNING, "tests.shop", "mapped a"),
        ("talks", 0, logging.INFO, "tests.shop", "saw a"),
        ("last", 0, logging.WARNING, "tests.shop", "mapped a"),
    ]
    assert str(harness.logs[2]) == "[talks #0] saw a"


def test_lines_have_the_subtask_that_logged_them(unconfigured: None) -> None:
    harness, _ = pipeline(3)
    harness.push_all([str(n) for n in range(30)])
    assert {line.subtask for line in harness.logs if line.text.startswith("saw")} == {0, 1, 2}
    assert len(harness.logs) == 3 + 90


def test_lines_of_a_failed_batch_are_captured(unconfigured: None) -> None:
    harness, out = pipeline()
    with pytest.raises(UserFunctionError):
        harness.push("bad")
    assert [line.text for line in harness.logs] == ["opened", "mapped bad", "saw bad"]
    assert out == []


def test_the_level_of_a_configured_logger_is_kept() -> None:
    root = logging.getLogger()
    before = root.level
    root.setLevel(logging.ERROR)
    try:
        harness, _ = pipeline()
        harness.push("a")
        assert harness.logs == []
        assert root.level == logging.ERROR
    finally:
        root.setLevel(before)


def test_the_number_of_lines_is_limited(unconfigured: None) -> None:
    with capture_logs() as caught:
        for number in range(MAX_LINES + 5):
            log.info("line %d", number)
        lines = caught.take()
        assert len(lines) == MAX_LINES + 1
        assert "5 more lines" in lines[-1].text
        log.info("after")
        assert [line.text for line in take_captured_lines()] == ["after"]
    assert take_captured_lines() == []


def test_exceptions_and_invalid_log_calls(unconfigured: None) -> None:
    with capture_logs() as caught:
        try:
            raise KeyError("gone")
        except KeyError:
            log.exception("lookup failed")
        caught.emit(logging.LogRecord("tests.shop", logging.INFO, __file__, 1, "%d items", ("many",), None))
        lines = caught.take()
    assert lines[0].text.startswith("lookup failed\nTraceback")
    assert "KeyError: 'gone'" in lines[0].text
    assert "could not be formatted" in lines[1].text


def test_lines_are_replayed_to_the_same_loggers(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO):
        replay_lines(
            [
                LogLine(1_500, logging.INFO, "tests.shop", "talks", 2, "saw %s"),
                LogLine(1_500, logging.DEBUG, "tests.shop", "talks", 2, "too quiet"),
            ]
        )
    (record,) = caplog.records
    assert (record.name, record.levelname, record.getMessage()) == ("tests.shop", "INFO", "[talks #2] saw %s")
    assert (record.operator, record.subtask, record.created) == ("talks", 2, 1.5)  # type: ignore[attr-defined]
