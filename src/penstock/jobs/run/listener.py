"""Listeners that are called with the events of all jobs of this process, such as the watcher of the command line."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from penstock.jobs.registry.batch_report import BatchReport
from penstock.jobs.registry.entry import JobEntry
from penstock.jobs.registry.progress import Progress


class Listener:
    """Called with the events of the jobs of this process. The methods of this class do nothing."""

    def on_created(self, job: JobEntry) -> None:
        """The job is registered with an id and a checkpoint. It does not run yet."""

    def on_batch(self, job: JobEntry, progress: Progress, report: BatchReport) -> None:
        """A batch was committed."""

    def on_stages(self, job: JobEntry, progress: Progress) -> None:
        """Tasks of a batch job have ended. Its record counts are known at the end."""

    def on_message(self, job: JobEntry, text: str) -> None:
        """The job has a message, for example that it waits or that a checkpoint is damaged."""

    def on_ended(self, job: JobEntry, progress: Progress) -> None:
        """The job has ended. Its status is in the entry."""


_listeners: list[Listener] = []


@contextmanager
def add_listener(listener: Listener) -> Iterator[None]:
    """Calls the listener with the events of all jobs of this process, inside this context."""
    _listeners.append(listener)
    try:
        yield
    finally:
        _listeners.remove(listener)


def active_listeners() -> list[Listener]:
    return list(_listeners)
