"""How long the unread records of a source may wait for a batch to fill (`execution.buffer-timeout.interval`)."""

from __future__ import annotations

import time
from collections.abc import Callable

from penstock.config import Configuration
from penstock.config.execution_options import BUFFER_TIMEOUT, BUFFER_TIMEOUT_ENABLED
from penstock.connectors.source import Offset, Source


def buffer_timeout(configuration: Configuration) -> float | None:
    """Returns the configured timeout in seconds; None if a batch starts only when it is full.

    >>> buffer_timeout(Configuration({"execution.buffer-timeout.interval": "100 ms"}))
    0.1
    """
    millis = configuration.get(BUFFER_TIMEOUT)
    return millis / 1000 if millis >= 0 and configuration.get(BUFFER_TIMEOUT_ENABLED) else None


class BufferTimeout:
    """Decides whether a source starts a batch with what it has, or waits for more records.

    `timeout` is in seconds: with 0 a batch starts at once, and with None only when it is full.

    >>> from penstock.connectors import DataGeneratorSource
    >>> source = DataGeneratorSource(str, records_per_batch=10)
    >>> now = 0.0
    >>> wait = BufferTimeout(0.1, lambda: now)
    >>> wait.admit(source, {"n": 0}, {"n": 1}), wait.admit(source, {"n": 0}, {"n": 10})
    ({'n': 0}, {'n': 10})
    >>> now = 0.1
    >>> wait.admit(source, {"n": 10}, {"n": 11})
    {'n': 11}
    """

    def __init__(self, timeout: float | None, clock: Callable[[], float] = time.monotonic) -> None:
        self._timeout = timeout
        self._clock = clock
        self._since = clock()  # all records that had arrived by then are part of a batch

    def admit(self, source: Source, start: Offset, end: Offset) -> Offset:
        """Returns `end` if the batch from `start` to `end` may start now, else `start`."""
        if self._timeout == 0:
            return end
        now = self._clock()
        if end == start:
            self._since = now
            return start
        full = source.is_full(start, end)
        if not (full or self._is_due(now) or _ends_wait(source, start, end)):
            return start
        if not full:  # otherwise there may be unread records, which have waited as long
            self._since = now
        return end

    def seconds_left(self) -> float | None:
        """Returns the time until the unread records have waited long enough; None if only a full batch starts."""
        return None if self._timeout is None else max(0.0, self._since + self._timeout - self._clock())

    def _is_due(self, now: float) -> bool:
        # A record that arrived while a batch ran has waited since that batch was planned, at most.
        return self._timeout is not None and now - self._since >= self._timeout


def _ends_wait(source: Source, start: Offset, end: Offset) -> bool:
    """Whether waiting is useless or harmful: no more records will come, or the batch announces new or ended splits."""
    if source.bounded:
        return True
    splits = set(source.splits(end))
    return splits != set(source.splits(start)) or splits <= set(source.ended(end))
