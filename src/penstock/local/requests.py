"""What other threads ask of a running job: stop, drain, cancel, savepoints and a limit of records."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable

from penstock.engine.slots.control import StopRequest
from penstock.jobs.registry.savepoint_requests import SavepointProgress, SavepointRequest

Report = Callable[[SavepointProgress], None]


class JobRequests:
    """The requests to one job. Any thread may add some; the thread of the job reads them between two batches."""

    def __init__(self) -> None:
        self._changed = threading.Event()
        self.canceled = threading.Event()
        self.stop: StopRequest | None = None
        self.max_records: int | None = None  # per source and batch
        self._savepoints: deque[tuple[SavepointRequest, Report]] = deque()

    def cancel(self) -> None:
        self.canceled.set()
        self._changed.set()

    def request_stop(self, drain: bool) -> None:
        self.stop = StopRequest(drain)
        self._changed.set()

    def request_savepoint(self, request: SavepointRequest, report: Report) -> None:
        self._savepoints.append((request, report))
        self._changed.set()

    def next_savepoint(self) -> tuple[SavepointRequest, Report] | None:
        """Returns the oldest savepoint request and removes it."""
        return self._savepoints.popleft() if self._savepoints else None

    def wait(self, seconds: float) -> None:
        """Waits some seconds, or until there is a new request."""
        if self._changed.wait(seconds):
            self._changed.clear()
