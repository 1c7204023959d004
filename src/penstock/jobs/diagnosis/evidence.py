"""The part of a checkpoint history that a diagnosis examines, with totals over it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from statistics import median
from typing import TypeVar

from penstock.jobs.registry.checkpoint_stats import CheckpointStats, OperatorStats, SinkStats, SourceStats

WINDOW = 30.0  # seconds before the last checkpoint that are examined,
MIN_WINDOW = 6  # but at least so many checkpoints,
MAX_WINDOW = 20  # and at most so many
FAILURE_WINDOW = 300.0  # seconds after which a failed checkpoint is ignored
ENOUGH = 4  # checkpoints that are needed to judge durations
WARM_UP = 3  # checkpoints at the start of a run that are ignored, because workers are starting,
WARM_UP_SECONDS = 20.0  # if they began in these first seconds
MOSTLY = 0.8  # the share of checkpoints in which a condition must hold

P = TypeVar("P", OperatorStats, SinkStats, SourceStats)


class Evidence:
    """The last completed checkpoints of the latest run, and the one in progress."""

    def __init__(self, history: list[CheckpointStats], now: float, waits: str = "") -> None:
        self.now = now
        self.waits = waits  # what the job reports that it waits for
        run = max((c.run for c in history), default=1)
        latest = [c for c in history if c.run == run]
        self.failed = [c for c in latest if c.status == "failed" and c.triggered >= now - FAILURE_WINDOW]
        self.current = next((c for c in latest if c.status == "in progress"), None)
        completed = [c for c in latest if c.status == "completed"]
        # All completed checkpoints of the run that the history still contains.
        self.run = [c for c in completed[_warm_up_count(completed, history) :] if c.tasks]
        since = self.run[-1].ended - WINDOW if self.run else 0.0
        recent = [c for c in self.run if c.ended >= since][-MAX_WINDOW:]
        self.completed = recent if len(recent) >= MIN_WINDOW else self.run[-MIN_WINDOW:]

    @property
    def enough(self) -> bool:
        """Whether there are enough checkpoints to judge durations."""
        return len(self.completed) >= ENOUGH

    @property
    def seconds(self) -> float:
        """The duration of all examined checkpoints."""
        return sum(c.seconds for c in self.completed) or 1.0

    def share(self, part: Callable[[CheckpointStats], float]) -> float:
        """The share of a part in the duration of the checkpoints."""
        return min(1.0, sum(map(part, self.completed)) / self.seconds)

    def median(self, part: Callable[[CheckpointStats], float]) -> float:
        return median(map(part, self.completed)) if self.completed else 0.0

    def mostly(self, condition: Callable[[CheckpointStats], bool]) -> bool:
        """Whether a condition holds in nearly all checkpoints."""
        return self.enough and sum(map(condition, self.completed)) >= MOSTLY * len(self.completed)

    def since(self, condition: Callable[[CheckpointStats], bool]) -> float:
        """When the period began in which a condition holds until now, apart from single exceptions."""
        began, misses = self.completed[-1].triggered if self.completed else self.now, 0
        for checkpoint in reversed(self.run):
            misses = 0 if condition(checkpoint) else misses + 1
            if misses > 1:
                break
            if not misses:
                began = checkpoint.triggered
        return began

    def operators(self) -> Iterator[tuple[OperatorStats, list[tuple[CheckpointStats, OperatorStats]]]]:
        """Yields each operator or step: its last statistics, and those of all checkpoints in which it had work."""
        yield from _by_uid((c, o) for c in self.completed for o in c.operators)

    def sinks(self) -> Iterator[tuple[SinkStats, list[tuple[CheckpointStats, SinkStats]]]]:
        yield from _by_uid((c, s) for c in self.completed for s in c.sinks)

    def sources(self) -> Iterator[tuple[SourceStats, list[tuple[CheckpointStats, SourceStats]]]]:
        yield from _by_uid((c, s) for c in self.completed for s in c.sources)

    def sources_of_run(self) -> Iterator[tuple[SourceStats, list[tuple[CheckpointStats, SourceStats]]]]:
        yield from _by_uid((c, s) for c in self.run for s in c.sources)

    def lagging_source(self) -> SourceStats | None:
        """A source that nearly always has more records than a batch reads. Bounded sources never count as lagging."""
        for last, stats in self.sources():
            lagging = sum(bool(s.lag) if s.lag is not None else s.full for _, s in stats)
            if self.enough and not last.bounded and lagging >= MOSTLY * len(self.completed):
                return last
        return None


def _warm_up_count(completed: list[CheckpointStats], history: list[CheckpointStats]) -> int:
    """How many checkpoints at the start of the run are ignored; 0 if the history does not contain the start."""
    if not completed or (completed[0].id and completed[0].run == history[0].run):
        return 0
    return sum(c.triggered < completed[0].triggered + WARM_UP_SECONDS for c in completed[:WARM_UP])


def _by_uid(
    stats: Iterable[tuple[CheckpointStats, P]],
) -> Iterator[tuple[P, list[tuple[CheckpointStats, P]]]]:
    by_uid: dict[str, list[tuple[CheckpointStats, P]]] = {}
    for checkpoint, part in stats:
        by_uid.setdefault(part.uid, []).append((checkpoint, part))
    for parts in by_uid.values():
        yield parts[-1][1], parts
