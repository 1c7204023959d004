"""A source that reads scripted batches, for tests of event time, order and recovery."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from penstock.connectors.source import Chunk, Offset, Source
from penstock.errors import JobError


@dataclass(frozen=True, slots=True)
class At:
    """An element with its timestamp."""

    value: Any
    timestamp: int


@dataclass(frozen=True, slots=True)
class Mark:
    """An explicit watermark."""

    watermark: int


@dataclass(frozen=True, slots=True)
class Abort:
    """Fails the job once. After the job is resumed, reading continues after it."""

    reason: str = "the script contains an Abort"


@dataclass(frozen=True, slots=True)
class Step:
    """One batch: elements per split, and the values of the control source."""

    splits: dict[str, list[Any]] = field(default_factory=dict)
    clock: int | None = None
    ended: tuple[str, ...] = ()
    run: int | None = None
    end: bool = False


class ScriptedSource(Source):
    """Reads one step of its script per batch."""

    def __init__(self, steps: list[Step], known: tuple[str, ...] = (), lockstep: bool = True) -> None:
        self.steps = steps
        self.known = known
        self.lockstep = lockstep  # whether the control source follows the same script
        self._folder = ""

    def attach(self, folder: str) -> None:
        self._folder = folder

    def initial(self) -> Offset:
        return {"step": 0}

    def latest(self, start: Offset) -> Offset:
        return {"step": min(start["step"] + 1, len(self.steps))}

    def plan(self, start: Offset, end: Offset, parallelism: int) -> list[Any]:
        return [
            (split, self._first(split, step), items, self._folder)
            for step in range(start["step"], end["step"])
            for split, items in self.steps[step].splits.items()
        ]

    def _first(self, split: str, step: int) -> int:
        return sum(len(s.splits.get(split, ())) for s in self.steps[:step])

    def read(self, task: Any) -> Iterator[Chunk]:
        split, start, items, folder = task
        chunk = Chunk(split, start, [], timestamps=[], positions=[])
        for position, item in enumerate(items, start):
            if isinstance(item, Mark):
                chunk.marks.append((len(chunk.values), item.watermark))
            elif isinstance(item, Abort):
                self._abort_once(folder, split, position, item)
            else:
                element = item if isinstance(item, At) else At(item, -(2**63))
                chunk.values.append(element.value)
                chunk.timestamps.append(element.timestamp)  # type: ignore[union-attr]
                chunk.positions.append(position)
        yield chunk

    @staticmethod
    def _abort_once(folder: str, split: str, position: int, abort: Abort) -> None:
        marker = os.path.join(folder, f"aborted-{split}-{position}")
        if folder and not os.path.exists(marker):
            with open(marker, "w", encoding="utf-8"):
                pass
            raise JobError(
                "SCRIPTED_ABORT", f"The scripted source aborts the job: {abort.reason}. Resume it to continue."
            )

    def splits(self, offset: Offset) -> list[str]:
        return list(self.known)

    def ended(self, offset: Offset) -> list[str]:
        if offset["step"] < len(self.steps):
            return []
        return list(dict.fromkeys([*self.known, *(s for step in self.steps for s in step.splits)]))
