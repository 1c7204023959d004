"""Plans the reading of bounded sources from their beginnings to their ends: for batch mode."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from penstock.connectors.scripted import ScriptedSource
from penstock.connectors.source import Source
from penstock.engine.program import Program
from penstock.runtime.call_site import CallSite

_MOST_SHARES = 1024


@dataclass(slots=True)
class WholeRead:
    """All tasks of a job's sources, in the order of their elements."""

    tasks: list[tuple[int, Any]] = field(default_factory=list)  # source and task
    known: dict[int, list[str]] = field(default_factory=dict)  # splits by source
    steps: int = 0  # so many batches it would be in streaming mode
    clock: int | None = None  # of a script

    @property
    def shares(self) -> int:
        """Into how many shares to cut the keys of a slot: one then holds about what a batch holds in streaming mode."""
        return max(1, min(self.steps, _MOST_SHARES))


def plan_whole(program: Program, folder_of: Callable[[str], str], wait: Callable[[], None]) -> WholeRead:
    """Asks the sources for everything. `folder_of` gives each its folder; `wait` is called when one has nothing yet."""
    read = WholeRead()
    for number, source in enumerate(program.sources):
        try:
            source.source.attach(folder_of(source.uid))
            _add(read, number, source.source, program.parallelism, wait)
        except Exception as error:
            raise CallSite(source.name, source.uid, None, "Source").error(error) from error
    return read


def _add(read: WholeRead, number: int, source: Source, parallelism: int, wait: Callable[[], None]) -> None:
    """A source admits a bounded amount at a time, so what it plans are tasks of a bounded size."""
    offset = source.initial()
    while True:
        read.known[number] = sorted({*read.known.get(number, ()), *source.splits(offset)})
        end = source.latest(offset)
        if end != offset:
            read.tasks += [(number, task) for task in source.plan(offset, end, parallelism)]
            read.steps += 1
            offset = end
        elif set(read.known[number]) <= set(source.ended(offset)):
            break
        else:
            wait()
    if isinstance(source, ScriptedSource):
        read.clock = max((s.clock for s in source.steps if s.clock is not None), default=None)
