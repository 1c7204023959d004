"""Decides when the next batch may start: the trigger interval, pauses between batches, and how often sources are asked."""

from __future__ import annotations

import time

from penstock.config import Configuration
from penstock.config.execution_options import HEARTBEAT, TRIGGER_INTERVAL
from penstock.connectors.buffer_timeout import buffer_timeout
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
        self.buffer_timeout = buffer_timeout(configuration)  # seconds
        self._pacing = Pacing(configuration)
        self._next_start = 0.0
        self._wait = _FIRST_WAIT

    def may_start(self) -> bool:
        """Whether the interval and the pause after the last batch are over."""
        return time.monotonic() >= self._next_start

    def begin_batch(self) -> None:
        self._next_start = time.monotonic() + self._interval
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
