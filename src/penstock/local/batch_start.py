"""Decides when the next batch may start: the trigger interval, pauses between batches, and how long records wait for more."""

from __future__ import annotations

import time
from collections.abc import Callable

from penstock.config import Configuration
from penstock.config.execution_options import BUFFER_TIMEOUT, BUFFER_TIMEOUT_ENABLED, HEARTBEAT, TRIGGER_INTERVAL
from penstock.jobs.registry.checkpoint_stats import CheckpointStats
from penstock.jobs.run.pacing import Pacing
from penstock.local.requests import JobRequests

_FIRST_WAIT = 0.0005  # seconds until sources are asked again; doubles as long as they have nothing
_LONGEST_WAIT = 0.01


class BatchStart:
    """The times of the batches of a job."""

    def __init__(self, configuration: Configuration) -> None:
        self.heartbeat: int = configuration.get(HEARTBEAT)  # milliseconds
        self._interval: float = configuration.get(TRIGGER_INTERVAL) / 1000
        self._patience = buffer_timeout(configuration)
        self._pacing = Pacing(configuration)
        self._next_start = 0.0
        self._waiting_since: float | None = None  # when records for the next batch were first seen
        self._wait = _FIRST_WAIT

    def may_start(self) -> bool:
        """Whether the interval and the pause after the last batch are over."""
        return time.monotonic() >= self._next_start

    def is_filled(self, has_records: bool, is_full: Callable[[], bool]) -> bool:
        """Whether a batch with new records starts now, because they have waited long enough or it is full."""
        if not has_records:
            return False
        if self._patience == 0 or is_full():
            return True
        if self._waiting_since is None:
            self._waiting_since = time.monotonic()
        return self._patience is not None and time.monotonic() - self._waiting_since >= self._patience

    def begin_batch(self) -> None:
        self._next_start = time.monotonic() + self._interval
        self._waiting_since = None
        self._wait = _FIRST_WAIT

    def end_batch(self, checkpoint: CheckpointStats | None) -> None:
        """Computes the pause after a batch, if the configuration asks for one."""
        if self._pacing.enabled:
            if checkpoint is not None:
                self._pacing.add(checkpoint)
            self._next_start = max(self._next_start, time.monotonic() + self._pacing.pause)

    @property
    def is_paced(self) -> bool:
        return self._pacing.enabled

    def wait(self, requests: JobRequests) -> None:
        """Waits before sources are asked again. A request ends the wait."""
        pause = self._next_start - time.monotonic()
        if pause > 0:
            requests.wait(pause)
            return
        requests.wait(self._wait)
        self._wait = min(self._wait * 2, _LONGEST_WAIT)


def buffer_timeout(configuration: Configuration) -> float | None:
    """Seconds that records may wait until a batch is full; None means without a limit. By default they do not wait."""
    if not configuration.get(BUFFER_TIMEOUT_ENABLED):
        return None
    millis: int = configuration.get(BUFFER_TIMEOUT) if configuration.is_set(BUFFER_TIMEOUT) else 0
    return millis / 1000
