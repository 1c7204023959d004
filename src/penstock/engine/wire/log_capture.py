"""Logging of user functions: records are caught while functions run.

Where the run's folder can be reached they are left there, also when the batch fails; else they travel to the driver with
the batch's report. Nothing happens per element: the handler sees a record when a function logs one, and the running
operator is noted once per step and batch.
"""

from __future__ import annotations

import logging
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import msgspec

from penstock.redaction import redacted

MOST_LINES = 1000  # of one subtask and batch
_MOST_CHARACTERS = 10_000
_NOT_FUNCTIONS = ("py4j", "pyspark")


class LogLine(msgspec.Struct, array_like=True):
    """One record of a user function's logger."""

    millis: int
    level: int
    logger: str
    operator: str
    subtask: int
    text: str

    def __str__(self) -> str:
        return f"[{self.operator} #{self.subtask}] {self.text}"


class Where:
    """The operator that runs in this process now."""

    __slots__ = ("operator", "subtask")

    def __init__(self) -> None:
        self.operator = ""
        self.subtask = 0


RUNNING = Where()


class _Catcher(logging.Handler):
    """Keeps what is logged during a batch, up to a limit."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[LogLine] = []
        self.for_report = True
        self._dropped = 0

    def emit(self, record: logging.LogRecord) -> None:
        if record.name.startswith(_NOT_FUNCTIONS):
            return
        if len(self.lines) >= MOST_LINES:
            self._dropped += 1
            return
        try:
            text = record.getMessage()
        except Exception as error:  # the logging call itself is wrong; a log line must not fail the job
            text = f"{record.msg!r} could not be formatted with {record.args!r}: {error}"
        if record.exc_info and record.exc_info[0] is not None:
            text += "\n" + "".join(traceback.format_exception(*record.exc_info)).rstrip()
        self._keep(int(record.created * 1000), record.levelno, record.name, redacted(text)[:_MOST_CHARACTERS])

    def _keep(self, millis: int, level: int, logger: str, text: str) -> None:
        self.lines.append(LogLine(millis, level, logger, RUNNING.operator, RUNNING.subtask, text))

    def take(self) -> list[LogLine]:
        lines, self.lines = self.lines, []
        dropped, self._dropped = self._dropped, 0
        if dropped:
            text = f"{dropped} more lines of this batch were not kept: a subtask may log {MOST_LINES} lines a batch."
            last = lines[-1]
            lines.append(LogLine(last.millis, logging.WARNING, "penstock", last.operator, last.subtask, text))
        return lines


_catchers = threading.local()


@contextmanager
def catching(to: Callable[[list[LogLine]], object] | None = None) -> Iterator[_Catcher]:
    """Catches what functions log inside. While they run, a root logger that nobody has configured lets INFO through.

    All lines are handed to `to` in the end, also when the batch fails. Without it they are for the report of the batch
    (`take_lines`), and a batch that fails writes them to stderr.
    """
    catcher = _Catcher()
    catcher.for_report = to is None
    root = logging.getLogger()
    level = root.level
    outer = getattr(_catchers, "now", None)
    _catchers.now = catcher
    root.addHandler(catcher)
    if level == logging.WARNING:  # Python's default
        root.setLevel(logging.INFO)
    try:
        yield catcher
    except BaseException:
        if to is None:
            for line in catcher.take():
                print(line, file=sys.stderr)
        raise
    finally:
        root.removeHandler(catcher)
        if level == logging.WARNING and root.level == logging.INFO:
            root.setLevel(level)
        _catchers.now = outer
        if to is not None:
            to(catcher.take())


def take_lines() -> list[LogLine]:
    """What functions have logged since the last call, for the report of the batch."""
    catcher: _Catcher | None = getattr(_catchers, "now", None)
    return catcher.take() if catcher is not None and catcher.for_report else []


def pass_on(lines: list[LogLine]) -> None:
    """Gives lines that came from executors to this process's loggers of the same names, with operator and subtask."""
    for line in lines:
        logger = logging.getLogger(line.logger)
        if not logger.isEnabledFor(line.level):
            continue
        record = logger.makeRecord(line.logger, line.level, line.operator, 0, str(line), (), None)
        record.created = line.millis / 1000
        record.msecs = line.millis % 1000
        record.operator = line.operator
        record.subtask = line.subtask
        logger.handle(record)
