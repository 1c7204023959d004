"""Statistics of a checkpoint, which is a committed batch: its tasks, operators, sources and sinks. Times are in seconds."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

import msgspec

Outcome = Literal["completed", "in progress", "failed"]


class TaskStats(msgspec.Struct, omit_defaults=True):
    """One task: a slot of a level. Tasks that read sources are on level 0."""

    level: int
    slot: int
    began: float  # seconds since 1970
    records: int = 0
    catch_up: float = 0.0  # applying missing deltas to the working copy of the state
    run: float = 0.0  # in the functions of operators; for a source task, reading and the chained steps
    sync: float = 0.0  # writing the changed state; the batch waits for it
    state_bytes: int = 0  # of all keys and values
    written_bytes: int = 0
    worker: str = ""
    state_log_bytes: int = 0  # deltas that are not compacted yet
    cpu_seconds: float = 0.0  # in which the task computed
    cpu_wait: float = 0.0  # in which the task was ready to compute, and all CPUs were in use

    @property
    def acknowledged(self) -> float:
        """When the task was done, in seconds since 1970."""
        return self.began + self.catch_up + self.run + self.sync


class OperatorStats(msgspec.Struct, omit_defaults=True):
    """One operator, or a step that is chained to a source or an operator, over all tasks."""

    uid: str
    name: str
    level: int = 0
    records: int = 0
    out: int = 0
    seconds: float = 0.0  # sum over all tasks
    slowest: float = 0.0  # seconds of the slowest task
    skew: float = 1.0  # elements of the task with most elements, divided by the mean
    entries: int = 0  # changed state entries
    written_bytes: int = 0
    watermark: int | None = None
    hot: list[tuple[str, float]] = []  # frequent keys, with their share of all elements


class SourceStats(msgspec.Struct, omit_defaults=True):
    """One source."""

    uid: str
    name: str
    records: int = 0
    reading: float = 0.0  # seconds in the source itself, of the slowest task
    lag: int | None = None  # records that are available but not read yet; None: unknown
    full: bool = False  # the batch reached the limit on records
    bounded: bool = False
    split: str = ""  # the split with the lowest watermark
    mark: int | None = None  # the watermark of that split
    highest: int | None = None  # the highest watermark of all splits


class SinkStats(msgspec.Struct, omit_defaults=True):
    """One sink."""

    uid: str
    name: str
    records: int = 0
    writing: float = 0.0  # seconds of the slowest task
    committing: float = 0.0  # seconds of the commit on the driver, while all tasks wait
    files: int = 0
    bytes: int = 0  # size of these files


class UnfinishedTask(msgspec.Struct, omit_defaults=True):
    """A task that a checkpoint in progress waits for."""

    level: int
    slot: int
    host: str
    seconds: float  # since the start of the task


class SparkTimings(msgspec.Struct, omit_defaults=True):
    """Timings of a batch that Spark reports, a little later than the tasks report theirs."""

    triggered: float = 0.0  # seconds since 1970
    seconds: float = 0.0  # from the trigger to the commit
    planning: float = 0.0  # getting the end offsets of sources and planning the query
    logging: float = 0.0  # writing Spark's offset log and commit log
    tasks: float = 0.0  # all tasks and the commit of sinks
    storing: list[float] = []  # by level: commit of Spark's state store, mean over the tasks
    loading: list[float] = []  # by level: opening the last version of Spark's state store, mean over the tasks
    files: int = 0  # files written to the checkpoint


class CheckpointStats(msgspec.Struct, omit_defaults=True):
    """One checkpoint. Its id is the number of the batch."""

    id: int
    status: Outcome = "completed"
    reason: str = ""  # why it failed
    run: int = 1  # number of the run of the job
    interval: float = 0.0  # the configured minimum time between batches
    acknowledged_tasks: int = 0
    all_tasks: int = 0
    measured: SparkTimings = msgspec.field(default_factory=SparkTimings)
    tasks: list[TaskStats] = []
    operators: list[OperatorStats] = []
    sources: list[SourceStats] = []
    sinks: list[SinkStats] = []
    waits_for: list[UnfinishedTask] = []
    # Of a checkpoint in progress, since it is shown: seconds in which threads of Spark's JVM computed, and in which they were
    # ready to compute and all CPUs were in use. Tasks report theirs when they are done.
    cpu_seconds: float = 0.0
    cpu_wait: float = 0.0

    @property
    def triggered(self) -> float:
        """When the checkpoint began, in seconds since 1970."""
        return self.measured.triggered or min((t.began for t in self.tasks), default=0.0)

    @property
    def latest_acknowledged(self) -> float | None:
        """When the last task was done, in seconds since 1970."""
        return max((t.acknowledged for t in self.tasks), default=None)

    @property
    def seconds(self) -> float:
        """The duration from the trigger to the commit."""
        return self.measured.seconds or max((self.latest_acknowledged or 0.0) - self.triggered, 0.0)

    @property
    def ended(self) -> float:
        return self.triggered + self.seconds

    @property
    def state_bytes(self) -> int:
        """The size of all keys and values."""
        return sum(t.state_bytes for t in self.tasks)

    @property
    def state_log_bytes(self) -> int:
        """The size of the deltas that are not compacted yet."""
        return sum(t.state_log_bytes for t in self.tasks)

    @property
    def written_bytes(self) -> int:
        return sum(t.written_bytes for t in self.tasks)

    @property
    def records(self) -> int:
        """Records that sources read."""
        return sum(s.records for s in self.sources)

    def levels(self) -> Iterable[list[TaskStats]]:
        """Yields the tasks of each level."""
        for level in sorted({t.level for t in self.tasks}):
            yield [t for t in self.tasks if t.level == level]

    @property
    def work(self) -> float:
        """Seconds spent on elements: the slowest task of each level, and the sinks. Grows with the number of elements."""
        tasks = sum(max(t.run for t in level) for level in self.levels())
        return tasks + sum(s.writing + s.committing for s in self.sinks)

    @property
    def storing(self) -> float:
        """Seconds spent on state: updating the working copy, writing changes, and the commit of the state store."""
        tasks = sum(max(t.catch_up + t.sync for t in level) for level in self.levels())
        return tasks + sum(self.measured.storing) + sum(self.measured.loading)

    @property
    def overhead(self) -> float:
        """Seconds that are not spent on elements. Each additional checkpoint costs this much."""
        return max(0.0, self.seconds - self.work)
