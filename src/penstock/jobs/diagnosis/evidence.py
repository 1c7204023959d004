"""The stretch of a job's history that a diagnosis looks at, and the sums over it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from statistics import median
from typing import TypeVar

from penstock.jobs.checkpoints import Checkpoint, OperatorPart, SinkPart, SourcePart

RECENT = 30.0  # seconds that are looked at,
FEW = 6  # but at least so many checkpoints,
MOST = 20  # and at most so many
FAILED_LATELY = 300.0  # seconds after which a failure is of the past
LEAST = 4  # with fewer, nothing is said of how long things take
WARMING_UP = 3  # checkpoints at a run's beginning, while workers start,
STARTING = 20.0  # as far as they began in its first seconds
CONSTANT = 0.8  # the share of checkpoints in which something must be so to be so constantly

P = TypeVar("P", OperatorPart, SinkPart, SourcePart)


class Evidence:
    """The last completed checkpoints of the latest run, and the one in progress."""

    def __init__(self, history: list[Checkpoint], now: float, waits: str = "") -> None:
        self.now = now
        self.waits = waits  # what the job says that it waits for
        run = max((c.run for c in history), default=1)
        mine = [c for c in history if c.run == run]
        self.failed = [c for c in mine if c.status == "failed" and c.triggered >= now - FAILED_LATELY]
        self.current = next((c for c in mine if c.status == "in progress"), None)
        completed = [c for c in mine if c.status == "completed"]
        self.run = [
            c for c in completed[_warming_up(completed, history) :] if c.tasks
        ]  # of the whole run, as far as it is kept
        since = self.run[-1].ended - RECENT if self.run else 0.0
        recent = [c for c in self.run if c.ended >= since][-MOST:]
        self.completed = recent if len(recent) >= FEW else self.run[-FEW:]

    @property
    def enough(self) -> bool:
        return len(self.completed) >= LEAST

    @property
    def seconds(self) -> float:
        """Of all these checkpoints."""
        return sum(c.seconds for c in self.completed) or 1.0

    def share(self, part: Callable[[Checkpoint], float]) -> float:
        """The share of a part in the time of the checkpoints."""
        return min(1.0, sum(map(part, self.completed)) / self.seconds)

    def median(self, part: Callable[[Checkpoint], float]) -> float:
        return median(map(part, self.completed)) if self.completed else 0.0

    def often(self, so: Callable[[Checkpoint], bool]) -> bool:
        """Whether something is so in nearly all of them."""
        return self.enough and sum(map(so, self.completed)) >= CONSTANT * len(self.completed)

    def since(self, so: Callable[[Checkpoint], bool]) -> float:
        """When the last stretch began in which something was so, with an exception now and then."""
        began, missed = self.completed[-1].triggered if self.completed else self.now, 0
        for checkpoint in reversed(self.run):
            missed = 0 if so(checkpoint) else missed + 1
            if missed > 1:
                break
            if not missed:
                began = checkpoint.triggered
        return began

    def operators(self) -> Iterator[tuple[OperatorPart, list[tuple[Checkpoint, OperatorPart]]]]:
        """Each operator or step: as it was last, and in all checkpoints in which it had work."""
        yield from _by_uid((c, o) for c in self.completed for o in c.operators)

    def sinks(self) -> Iterator[tuple[SinkPart, list[tuple[Checkpoint, SinkPart]]]]:
        yield from _by_uid((c, s) for c in self.completed for s in c.sinks)

    def sources(self) -> Iterator[tuple[SourcePart, list[tuple[Checkpoint, SourcePart]]]]:
        yield from _by_uid((c, s) for c in self.completed for s in c.sources)

    def sources_of_run(self) -> Iterator[tuple[SourcePart, list[tuple[Checkpoint, SourcePart]]]]:
        yield from _by_uid((c, s) for c in self.run for s in c.sources)

    def behind(self) -> SourcePart | None:
        """A source that always has more than a batch takes; not one that ends some day, and is read as fast as it goes."""
        for last, parts in self.sources():
            lagging = sum(bool(s.lag) if s.lag is not None else s.full for _, s in parts)
            if self.enough and not last.bounded and lagging >= CONSTANT * len(self.completed):
                return last
        return None


def _warming_up(completed: list[Checkpoint], history: list[Checkpoint]) -> int:
    """How many checkpoints of a run do not count; none, when the history has forgotten its beginning."""
    if not completed or (completed[0].id and completed[0].run == history[0].run):
        return 0
    return sum(c.triggered < completed[0].triggered + STARTING for c in completed[:WARMING_UP])


def _by_uid(
    parts: Iterable[tuple[Checkpoint, P]],
) -> Iterator[tuple[P, list[tuple[Checkpoint, P]]]]:
    found: dict[str, list[tuple[Checkpoint, P]]] = {}
    for checkpoint, part in parts:
        found.setdefault(part.uid, []).append((checkpoint, part))
    for mine in found.values():
        yield mine[-1][1], mine
