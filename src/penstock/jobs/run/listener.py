"""Who is told, in this process, how its jobs go: the command line's watchers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from penstock.jobs.entry import JobEntry
from penstock.jobs.progress import Progress
from penstock.jobs.tally import Report


class Listener:
    """Told of each job of this process. This one does not care."""

    def created(self, job: JobEntry) -> None:
        """The job has an id and a checkpoint; nothing runs yet."""

    def batch(self, job: JobEntry, progress: Progress, report: Report) -> None:
        """One more batch is committed."""

    def moved(self, job: JobEntry, progress: Progress) -> None:
        """A batch job has done more of its tasks; its figures come at its end."""

    def told(self, job: JobEntry, text: str) -> None:
        """Something that the job has to tell beside its figures: that it waits, or what a damaged checkpoint means."""

    def ended(self, job: JobEntry, progress: Progress) -> None:
        """The job runs no more; its entry says how it ended."""


_listeners: list[Listener] = []


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Inside, the listener is told of the jobs of this process."""
    _listeners.append(listener)
    try:
        yield
    finally:
        _listeners.remove(listener)


def listeners() -> list[Listener]:
    return list(_listeners)
