"""What is known of a checkpoint: a batch that is committed, its tasks, operators, sources and sinks. Times in seconds."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

import msgspec

Outcome = Literal["completed", "in progress", "failed"]


class TaskFigures(msgspec.Struct, omit_defaults=True):
    """One task: a slot of a level; those that read sources are level 0."""

    level: int
    slot: int
    began: float  # since 1970
    records: int = 0
    catch_up: float = 0.0  # bringing the working copy of the state up to date
    run: float = 0.0  # in the operators' functions; of a source: reading, and the steps behind it
    sync: float = 0.0  # writing the changes of state; the batch waits for it
    state_bytes: int = 0
    written_bytes: int = 0
    worker: str = ""

    @property
    def acknowledged(self) -> float:
        """When its work was done."""
        return self.began + self.catch_up + self.run + self.sync


class OperatorPart(msgspec.Struct, omit_defaults=True):
    """One operator, or a step behind a source or an operator, over all tasks."""

    uid: str
    name: str
    level: int = 0
    records: int = 0
    out: int = 0
    seconds: float = 0.0  # of all tasks together
    slowest: float = 0.0  # of one task
    skew: float = 1.0  # the most elements of a task, by the mean
    entries: int = 0  # of state that changed
    written_bytes: int = 0
    watermark: int | None = None
    hot: list[tuple[str, float]] = []  # keys that many elements have, with their share of all


class SourcePart(msgspec.Struct, omit_defaults=True):
    """One source."""

    uid: str
    name: str
    records: int = 0
    reading: float = 0.0  # of the slowest task, in the source itself
    lag: int | None = None  # records that are there and not read yet; None: the source does not know
    full: bool = False  # the batch took as many as it may
    bounded: bool = False
    split: str = ""  # the one that holds the watermark back,
    mark: int | None = None  # its watermark,
    highest: int | None = None  # and the highest one of all splits


class SinkPart(msgspec.Struct, omit_defaults=True):
    """One sink."""

    uid: str
    name: str
    records: int = 0
    writing: float = 0.0  # of the slowest task
    committing: float = 0.0  # on the driver, while all wait
    files: int = 0
    bytes: int = 0  # in these files


class Unfinished(msgspec.Struct, omit_defaults=True):
    """A task that a running checkpoint waits for."""

    level: int
    slot: int
    host: str
    seconds: float  # since it was started


class Measured(msgspec.Struct, omit_defaults=True):
    """What Spark tells of a batch, a little later than the tasks do."""

    triggered: float = 0.0  # since 1970
    seconds: float = 0.0  # from the trigger until the batch was committed
    planning: float = 0.0  # asking sources for their ends, making the plan
    logging: float = 0.0  # writing the offsets before, and the commit after it
    tasks: float = 0.0  # all tasks, and the sinks' commit
    storing: list[float] = []  # by level: Spark's state store commits, mean of the tasks
    loading: list[float] = []  # by level: Spark's state store opens its last version, mean of the tasks
    files: int = 0  # written to the checkpoint


class Checkpoint(msgspec.Struct, omit_defaults=True):
    """One checkpoint. Its id is the number of its batch."""

    id: int
    status: Outcome = "completed"
    reason: str = ""  # why it failed
    run: int = 1  # of the job
    interval: float = 0.0  # the least time between batches that was asked for
    acknowledged_tasks: int = 0
    all_tasks: int = 0
    measured: Measured = msgspec.field(default_factory=Measured)
    tasks: list[TaskFigures] = []
    operators: list[OperatorPart] = []
    sources: list[SourcePart] = []
    sinks: list[SinkPart] = []
    waits_for: list[Unfinished] = []

    @property
    def triggered(self) -> float:
        """When it began."""
        return self.measured.triggered or min((t.began for t in self.tasks), default=0.0)

    @property
    def latest_acknowledged(self) -> float | None:
        """When the last task was done."""
        return max((t.acknowledged for t in self.tasks), default=None)

    @property
    def seconds(self) -> float:
        """End to end."""
        return self.measured.seconds or max((self.latest_acknowledged or 0.0) - self.triggered, 0.0)

    @property
    def ended(self) -> float:
        return self.triggered + self.seconds

    @property
    def state_bytes(self) -> int:
        return sum(t.state_bytes for t in self.tasks)

    @property
    def written_bytes(self) -> int:
        return sum(t.written_bytes for t in self.tasks)

    @property
    def records(self) -> int:
        """Elements that sources read."""
        return sum(s.records for s in self.sources)

    def levels(self) -> Iterable[list[TaskFigures]]:
        """The tasks, level by level."""
        for level in sorted({t.level for t in self.tasks}):
            yield [t for t in self.tasks if t.level == level]

    @property
    def work(self) -> float:
        """The part that elements need: the slowest task of each level, and the sinks. It grows with the elements."""
        tasks = sum(max(t.run for t in level) for level in self.levels())
        return tasks + sum(s.writing + s.committing for s in self.sinks)

    @property
    def storing(self) -> float:
        """The part that state needs: bringing it up to date, writing it, and the store's own commit."""
        tasks = sum(max(t.catch_up + t.sync for t in level) for level in self.levels())
        return tasks + sum(self.measured.storing) + sum(self.measured.loading)

    @property
    def overhead(self) -> float:
        """All but the work: what one more checkpoint costs, and one less would save."""
        return max(0.0, self.seconds - self.work)
