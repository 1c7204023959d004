"""Elements that a test pushes: the source that reads them, and the input collected for the next batch."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from penstock.connectors.scripted import At, Mark
from penstock.connectors.source import Chunk, Offset, ReadContext, Source
from penstock.local.executor import PlannedTask
from penstock.runtime.loop.element_copy import copy_element, copy_elements
from penstock.time import NO_TIMESTAMP

Item = At | Mark | Any
SplitKey = tuple[int, str]  # source, split
PUSHED = "pushed"  # in the saved position of a source: the number of pushed elements per split


class PushSource(Source):
    """A source without elements of its own. A test pushes elements into it.

    Event time waits for all `splits`, because they are known from the start. Other splits are added when elements are first
    pushed to them.

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


class PushableSource(Source):
    """Wraps a source, so that it reads pushed chunks in addition to its own tasks."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self.transient_splits = source.transient_splits

    @property
    def stands_for(self) -> Source:
        """The wrapped source, which a savepoint describes."""
        return self._source

    def configure(self, context: ReadContext) -> None:
        self._source.configure(context)

    def foreign_parts(self, position: Offset) -> list[str]:
        return self._source.foreign_parts({name: value for name, value in position.items() if name != PUSHED})

    def read(self, task: Any) -> Iterator[Chunk]:
        if isinstance(task, Chunk):
            yield replace(task, values=copy_elements(task.values))  # a batch that fails is read again
        else:
            yield from self._source.read(task)


@dataclass(slots=True)
class PendingInput:
    """What was pushed for the next batch."""

    items: dict[SplitKey, list[Item]] = field(default_factory=dict)
    ended: dict[int, list[str]] = field(default_factory=dict)
    end: bool = False

    def add(self, source: int, split: str, items: Iterable[Item]) -> None:
        self.items.setdefault((source, split), []).extend(
            map(copy_element, items)
        )  # a test may change them before the batch

    def plan(self, positions: dict[SplitKey, int]) -> list[PlannedTask]:
        """Returns the tasks of the batch, one per split."""
        tasks: list[PlannedTask] = []
        for (source, split), items in self.items.items():
            first = positions.get((source, split), 0)
            chunk = Chunk(split, first, [], timestamps=[], positions=[])
            for position, item in enumerate(items, first):
                if isinstance(item, Mark):
                    chunk.marks.append((len(chunk.values), item.watermark))
                else:
                    _append(chunk, position, item)
            tasks.append((source, chunk, []))
        return tasks

    def advance(self, positions: dict[SplitKey, int]) -> dict[SplitKey, int]:
        """Returns the positions of the splits after this batch."""
        return positions | {at: positions.get(at, 0) + len(items) for at, items in self.items.items()}


def _append(chunk: Chunk, position: int, item: Item) -> None:
    element = item if isinstance(item, At) else At(item, NO_TIMESTAMP)
    assert chunk.timestamps is not None
    assert chunk.positions is not None
    chunk.values.append(element.value)
    chunk.timestamps.append(element.timestamp)
    chunk.positions.append(position)
