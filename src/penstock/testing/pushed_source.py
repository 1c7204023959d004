"""Elements that a test pushes: the source for them, and what was pushed for the next batch."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from penstock.connectors.scripted import At, Mark
from penstock.connectors.source import Chunk, Offset, Source
from penstock.engine.frames import Marks
from penstock.engine.program import Program
from penstock.testing.local import Planned
from penstock.time import NO_TIMESTAMP

Item = At | Mark | Any
SplitOf = tuple[int, str]  # source, split


class PushSource(Source):
    """A source with nothing of its own: it gives what a test pushes into it.

    `splits` are known from the start, so event time waits for each of them; others join when they are first pushed to.

    >>> PushSource(splits=["s0", "s1"]).splits({})
    ['s0', 's1']
    """

    bounded = False

    def __init__(self, splits: Iterable[str] = ()) -> None:
        self._splits = tuple(splits)

    def initial(self) -> Offset:
        return {}

    def latest(self, start: Offset) -> Offset:
        return start

    def plan(self, start: Offset, end: Offset, parallelism: int) -> list[Any]:
        return []

    def read(self, task: Any) -> Iterator[Chunk]:
        yield task

    def splits(self, offset: Offset) -> list[str]:
        return list(self._splits)


class Pushable(Source):
    """Any source, with pushed chunks beside its own tasks."""

    def __init__(self, source: Source) -> None:
        self._source = source

    @property
    def stands_for(self) -> Source:
        """The source that a savepoint knows."""
        return self._source

    def read(self, task: Any) -> Iterator[Chunk]:
        if isinstance(task, Chunk):
            yield task
        else:
            self._source.stamps_wanted = self.stamps_wanted
            yield from self._source.read(task)


@dataclass(slots=True)
class Inbox:
    """What was pushed and said for the next batch."""

    items: dict[SplitOf, list[Item]] = field(default_factory=dict)
    ended: dict[int, list[str]] = field(default_factory=dict)
    end: bool = False

    def add(self, source: int, split: str, items: Iterable[Item]) -> None:
        self.items.setdefault((source, split), []).extend(items)

    def planned(self, program: Program, positions: dict[SplitOf, int]) -> tuple[list[Planned], list[Marks]]:
        """Tasks and watermarks of the batch. A watermark cuts its split into chunks: later elements are behind it."""
        tasks: list[Planned] = []
        marks: list[Marks] = []
        for (source, split), items in self.items.items():
            chunk: Chunk | None = None
            for position, item in enumerate(items, positions.get((source, split), 0)):
                if isinstance(item, Mark):
                    chunk = None
                    marks += _marks(program, source, split, position, item.watermark)
                    continue
                if chunk is None:
                    chunk = Chunk(split, position, [], timestamps=[], positions=[])
                    tasks.append((source, chunk, []))
                _add(chunk, position, item)
        return tasks, marks

    def moved(self, positions: dict[SplitOf, int]) -> dict[SplitOf, int]:
        """Where the next batch's elements stand in their splits."""
        return positions | {at: positions.get(at, 0) + len(items) for at, items in self.items.items()}


def _marks(program: Program, source: int, split: str, position: int, watermark: int) -> list[Marks]:
    """A pushed watermark is said of every stream of marks of its source, whatever strategy makes the others."""
    streams = [number for number, stream in enumerate(program.streams) if stream.source == source]
    return [Marks(number, split, position, watermark, 0, [watermark], [], False) for number in streams]


def _add(chunk: Chunk, position: int, item: Item) -> None:
    element = item if isinstance(item, At) else At(item, NO_TIMESTAMP)
    assert chunk.timestamps is not None
    assert chunk.positions is not None
    chunk.values.append(element.value)
    chunk.timestamps.append(element.timestamp)
    chunk.positions.append(position)
