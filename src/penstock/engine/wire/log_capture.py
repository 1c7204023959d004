"""Captures what user functions log while they run.

If the executor can write to the run folder, the lines are written there, also when the batch fails. Otherwise they
travel to the driver in the report of the batch. Capturing costs nothing per element: the handler runs only when a
function logs, and the running operator is set once per step and batch.
"""

from __future__ import annotations

import logging
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar

import msgspec

from penstock.engine.program.running_function import RunningFunction, running_function_scope
from penstock.redaction import redact
from penstock.runtime.loop.call_watch import IMMEDIATELY

MAX_LINES = 1000  # per subtask and batch
_MAX_CHARACTERS = 10_000
_IGNORED_LOGGERS = ("py4j", "pyspark")
_IMMEDIATELY = next(iter(IMMEDIATELY))  # an attribute of log records


WriteLines = Callable[[list["LogLine"]], object]


class LogLine(msgspec.Struct, array_like=True):
    """One log record of a user function."""

    millis: int
    level: int
    logger: str
    operator: str
    subtask: int
    text: str

    def __str__(self) -> str:
        return f"[{self.operator} #{self.subtask}] {self.text}"


class LogCapture(logging.Handler):
    """Collects the log lines of a batch, up to a limit."""

    def __init__(self, running: RunningFunction, write: WriteLines | None) -> None:
        super().__init__()
        self.lines: list[LogLine] = []
        self.for_report = write is None
        self._write = write
        self._running = running
        self._dropped = 0
        self._levels: dict[str, int] = {}  # of loggers, before `set_levels` changed them

    def set_levels(self, levels: Mapping[str, str]) -> None:
        """Sets the levels of loggers until the capture ends."""
        for name, level in levels.items():
            self._levels.setdefault(name, logging.getLogger(name or None).level)
            logging.getLogger(name or None).setLevel(level)

    def restore_levels(self) -> None:
        """Sets the levels from before `set_levels`."""
        for name, level in self._levels.items():
            logging.getLogger(name or None).setLevel(level)

    def emit(self, record: logging.LogRecord) -> None:
        if record.name.startswith(_IGNORED_LOGGERS):
            return
        if len(self.lines) >= MAX_LINES:
            self._dropped += 1
            return
        try:
            text = record.getMessage()
        except Exception as error:  # wrong arguments of a logging call must not fail the job
            text = f"{record.msg!r} could not be formatted with {record.args!r}: {error}"
        if record.exc_info and record.exc_info[0] is not None:
            text += "\n" + "".join(traceback.format_exception(*record.exc_info)).rstrip()
        text = redact(text)[:_MAX_CHARACTERS]
        running = self._running
        line = LogLine(int(record.created * 1000), record.levelno, record.name, running.operator, running.subtask, text)
        if getattr(record, _IMMEDIATELY, False):  # the batch may never end
            if self._write is not None:
                self._write([line])
                return
            print(line, file=sys.stderr, flush=True)
        self.lines.append(line)

    def take(self) -> list[LogLine]:
        """Returns the lines since the last call."""
        lines, self.lines = self.lines, []
        dropped, self._dropped = self._dropped, 0
        if dropped:
            text = f"{dropped} more lines of this batch were dropped. A subtask may log {MAX_LINES} lines per batch."
            last = lines[-1]
            lines.append(LogLine(last.millis, logging.WARNING, "penstock", last.operator, last.subtask, text))
        return lines


_active: ContextVar[LogCapture | None] = ContextVar("penstock_log_capture", default=None)


@contextmanager
def capture_logs(write: WriteLines | None = None) -> Iterator[LogCapture]:
    """Captures what functions log inside. If nobody configured the root logger, its level is INFO meanwhile.

    `write` gets all lines at the end, also when the batch fails. Without it the lines are for the report of the batch
    (`take_captured_lines`), and a batch that fails prints them to stderr.
    """
    root = logging.getLogger()
    level = root.level
    outer = _active.get()
    with running_function_scope() as running:
        capture = LogCapture(running, write)
        _active.set(capture)
        root.addHandler(capture)
        if level == logging.WARNING:  # Python's default
            root.setLevel(logging.INFO)
        try:
            yield capture
        except BaseException:
            if write is None:
                for line in capture.take():
                    print(line, file=sys.stderr)
            raise
        finally:
            root.removeHandler(capture)
            capture.restore_levels()
            if level == logging.WARNING and root.level == logging.INFO:
                root.setLevel(level)
            _active.set(outer)
            if write is not None:
                write(capture.take())


def set_levels(levels: Mapping[str, str]) -> None:
    """Sets the levels of loggers, by name, until the current capture ends. The root logger has an empty name."""
    if levels and (capture := _active.get()) is not None:
        capture.set_levels(levels)


def take_captured_lines() -> list[LogLine]:
    """Returns the lines logged since the last call, for the report of the batch."""
    capture = _active.get()
    return capture.take() if capture is not None and capture.for_report else []


def replay_lines(lines: list[LogLine]) -> None:
    """Passes lines from executors to the loggers of the same names in this process, with operator and subtask."""
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
