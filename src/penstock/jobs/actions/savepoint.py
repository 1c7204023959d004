"""Takes a savepoint of a running job."""

from __future__ import annotations

from collections.abc import Callable

from penstock.jobs.registry.entry import JobEntry
from penstock.jobs.registry.registry import Registry
from penstock.jobs.registry.requests import wait_for_end
from penstock.jobs.registry.savepoint_requests import (
    AfterSavepoint,
    SavepointProgress,
    request_savepoint,
    wait_for_savepoint,
)


def take_savepoint(
    registry: Registry,
    entry: JobEntry,
    *,
    directory: str = "",
    then: AfterSavepoint = "",
    wait: float = 600.0,
    on_progress: Callable[[SavepointProgress], None] = lambda progress: None,
) -> SavepointProgress:
    """Takes a savepoint and returns when it is complete.

    The savepoint is a new folder in `directory`; if that is empty, in the folder that the options of the job name. With `then`, the
    job stops or drains after the savepoint, and the call returns when the job has ended. Each of the two steps may take `wait`
    seconds. `on_progress` is called while the savepoint is being written.
    """
    request = request_savepoint(registry, entry, directory, then)
    result = wait_for_savepoint(registry, entry, request, wait, on_progress)
    if then:
        wait_for_end(registry, entry.id, wait)
    return result
