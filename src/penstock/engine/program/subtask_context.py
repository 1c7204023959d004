"""Where a chain runs, and on which part of a source."""

from __future__ import annotations

from penstock.engine.program import Program
from penstock.metrics.values import Told
from penstock.runtime.operator import SubtaskContext
from penstock.runtime.state.backend import StateBackend


class ChunkName:
    """Which part of a source elements come from; behind operators: none."""

    __slots__ = ("split", "start")

    def __init__(self, split: str | None, start: int) -> None:
        self.split = split
        self.start = start


NO_CHUNK = ChunkName(None, 0)


class Place:
    """Where a chain runs: its slot, and what its functions may ask for."""

    def __init__(self, program: Program, slot: int, parallelism: int) -> None:
        self.slot = slot
        self.max_parallelism = program.max_parallelism
        self.batch_mode = program.batch
        self.shares = program.shares
        self._program = program
        self._parallelism = parallelism
        self._contexts: list[SubtaskContext] = []

    def runtime(self, uid: str, name: str, backend: StateBackend | None = None) -> SubtaskContext:
        context = SubtaskContext(
            uid=uid,
            name=name,
            index=self.slot,
            parallelism=self._parallelism,
            max_parallelism=self.max_parallelism,
            parameters=self._program.parameters,
            backend=backend,
            attempt=self._program.attempt,
            in_batch_mode=self._program.batch,
        )
        self._contexts.append(context)
        return context

    # -- metrics of the functions at this place

    def begin_metrics(self) -> None:
        for context in self._contexts:
            if context.metrics is not None:
                context.metrics.begin()

    def take_metrics(self, now: int) -> Told:
        return {c.uid: c.metrics.take(now) for c in self._contexts if c.metrics is not None}

    def roll_back_metrics(self) -> None:
        for context in self._contexts:
            if context.metrics is not None:
                context.metrics.roll_back()
