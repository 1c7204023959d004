"""Plans how batch mode reads bounded sources from start to end."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from penstock.connectors.scripted import ScriptedSource
from penstock.connectors.source import ReadContext, Source
from penstock.engine.program.program import Program
from penstock.runtime.loop.call_site import CallSite

_MAX_PARTITIONS = 1024


@dataclass(slots=True)
class BoundedRead:
    """All read tasks of the sources of a job, in the order of their elements."""

    tasks: list[tuple[int, Any]] = field(default_factory=list)  # source and task
    splits: dict[int, list[str]] = field(default_factory=dict)  # names of the splits, by source
    batches: int = 0  # number of batches that streaming mode would need
    clock: int | None = None  # the last clock value of a scripted source

    @property
    def partitions(self) -> int:
        """Number of partitions of the keys of a slot, each about as large as a batch of streaming mode."""
        return max(1, min(self.batches, _MAX_PARTITIONS))


def plan_bounded_read(program: Program, folder_of: Callable[[str], str], wait: Callable[[], None]) -> BoundedRead:
    """Plans all tasks. `folder_of` returns the folder of a source; `wait` is called while a source has no new data yet."""
    read = BoundedRead()
    for number, source in enumerate(program.sources):
        try:
            source.source.attach(folder_of(source.uid))
            source.source.configure(ReadContext(program.max_records))
            _add(read, number, source.source, program.parallelism, wait)
        except Exception as error:
            raise CallSite(source.name, source.uid, None, "Source").error(error) from error
    return read


def _add(read: BoundedRead, number: int, source: Source, parallelism: int, wait: Callable[[], None]) -> None:
    """Plans batch by batch, so that each task has a bounded size."""
    offset = source.initial()
    while True:
        read.splits[number] = sorted({*read.splits.get(number, ()), *source.splits(offset)})
        end = source.latest(offset)
        if end != offset:
            read.tasks += [(number, task) for task in source.plan(offset, end, parallelism)]
            read.batches += 1
            offset = end
        elif set(read.splits[number]) <= set(source.ended(offset)):
            break
        else:
            wait()
    if isinstance(source, ScriptedSource):
        read.clock = max((s.clock for s in source.steps if s.clock is not None), default=None)
