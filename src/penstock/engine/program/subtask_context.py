"""The subtask that a chain runs in, and the position of a chunk in its source."""

from __future__ import annotations

from penstock.engine.program.program import Program
from penstock.engine.program.running_function import running_function
from penstock.metrics.values import MetricsDelta
from penstock.runtime.loop.operator import FunctionRuntimeContext
from penstock.runtime.state.backend import KeyedStateStore


class ChunkPosition:
    """Split and start position of the chunk that elements come from. The split is None after an operator."""

    __slots__ = ("split", "start")

    def __init__(self, split: str | None, start: int) -> None:
        self.split = split
        self.start = start


NO_CHUNK = ChunkPosition(None, 0)


class SubtaskContext:
    """The slot that a chain runs in, and the runtime contexts of its functions."""

    def __init__(self, program: Program, slot: int, parallelism: int) -> None:
        self.slot = slot
        self.max_parallelism = program.max_parallelism
        self.batch_mode = program.batch_mode
        self.object_reuse = program.object_reuse
        self.batch_partitions = program.batch_partitions
        self._program = program
        self._parallelism = parallelism
        self._contexts: list[FunctionRuntimeContext] = []
        self.running = running_function()  # hosts replace it when a batch begins

    def function_context(self, uid: str, name: str, backend: KeyedStateStore | None = None) -> FunctionRuntimeContext:
        """Creates the runtime context of a function."""
        context = FunctionRuntimeContext(
            uid=uid,
            name=name,
            index=self.slot,
            parallelism=self._parallelism,
            max_parallelism=self.max_parallelism,
            parameters=self._program.parameters,
            backend=backend,
            attempt=self._program.attempt,
            in_batch_mode=self._program.batch_mode,
            object_reuse=self.object_reuse,
        )
        self._contexts.append(context)
        return context

    # -- metrics of the functions in this subtask

    def begin_metrics(self) -> None:
        for context in self._contexts:
            if context.metrics is not None:
                context.metrics.begin()

    def take_metrics(self, now: int) -> MetricsDelta:
        return {c.uid: c.metrics.take(now) for c in self._contexts if c.metrics is not None}

    def roll_back_metrics(self) -> None:
        for context in self._contexts:
            if context.metrics is not None:
                context.metrics.roll_back()
