"""One operator in one slot: what stays open from batch to batch."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from penstock.engine.chain import ChainRunner, WatermarkHook
from penstock.engine.logs import RUNNING
from penstock.engine.operators import make_operator
from penstock.engine.place import Place
from penstock.engine.program import OperatorProgram, Program
from penstock.engine.reports import add_flows
from penstock.engine.steps import needs_origins
from penstock.errors import PenstockError
from penstock.functions import DEAD_LETTERS
from penstock.runtime.batch import BatchLoop
from penstock.runtime.call_site import CallSite, Locate
from penstock.runtime.cep.loop import PatternLoop
from penstock.runtime.fitting import fitting
from penstock.runtime.guarded import GuardedBatchLoop, GuardedLoop, JournaledTimers
from penstock.runtime.keys import KeyTable
from penstock.runtime.operator import OperatorContext
from penstock.runtime.slot import SlotLoop
from penstock.runtime.state.backend import StateBackend, Tables
from penstock.runtime.store import Store
from penstock.runtime.timers import TimerQueue
from penstock.runtime.vector.loop import VectorLoop
from penstock.runtime.vector.windows import VectorWindows

LOOPS: dict[tuple[bool, bool], type[SlotLoop]] = {  # by on_error="dead_letter" and batch mode
    (False, False): SlotLoop,
    (False, True): BatchLoop,
    (True, False): GuardedLoop,
    (True, True): GuardedBatchLoop,
}


class RunningOperator:
    """An operator with its functions open, its state, timers and chains."""

    def __init__(
        self,
        program: OperatorProgram,
        job: Program,
        slot: int,
        store: Store,
        tables: Tables,
        watermarks: WatermarkHook,
        locate: Locate,
    ) -> None:
        self.program = program
        self.operator = make_operator(program, slot, job.batch)
        self.keys = KeyTable(job.max_parallelism)
        self.backend = StateBackend(store, tables, program.uid, self.keys, job.cached or program.guarded)
        self.place = Place(job, slot, program.parallelism)
        runtime = self.place.runtime(program.uid, program.name, self.backend if self.operator.keyed else None)
        RUNNING.operator, RUNNING.subtask = program.name, slot  # functions may log in open
        queue = JournaledTimers if program.guarded else TimerQueue
        event = queue(store, self._table(tables, "event"), self.keys)
        processing = queue(store, self._table(tables, "processing"), self.keys)
        self.context = OperatorContext(self.backend, event, processing, runtime)
        self._late = 0
        self._forgetful = program.guarded and not job.cached
        traced = program.spec.kind == "materialize" or any(map(needs_origins, (program.chain, *program.side.values())))
        self.loop: SlotLoop | VectorLoop
        if isinstance(self.operator, VectorWindows):
            self.loop = VectorLoop(program.name, self.operator, self.context)
        else:
            loop = LOOPS[program.guarded, job.batch]
            if loop is SlotLoop and getattr(self.operator, "comes_in_batches", False):
                loop = PatternLoop
            self.loop = loop(program.name, self.operator, self.context, traced)
            if (says := program.declared) is not None:
                self.loop.fit = partial(fitting, says.name, says.line, says.type_info)
        self.loop.site.function = _users_own(program.spec)
        if program.spec.kind == "generator":  # stands for a watermark step of the user's
            uid = program.uid.removesuffix("#generator")
            self.loop.site = CallSite(program.name, uid, program.spec.strategy.timestamp_of())
        self.loop.site.locate = locate
        try:
            self.operator.open(self.context)
        except Exception as error:
            raise self.loop.site.error(error) from error
        self.chain = ChainRunner(program.chain, self.place, watermarks, locate)
        self.sides = {tag: ChainRunner(steps, self.place, watermarks, locate) for tag, steps in program.side.items()}
        for chain in (self.chain, *self.sides.values()):
            chain.open()

    def _table(self, tables: Tables, domain: str) -> bytes:
        return tables.of(self.program.uid, f"__{domain}_timers__", "timers", "timers").number.to_bytes(2, "big")

    def wake(self) -> int | None:
        """When the clock lets something happen here, as of the last flush."""
        return self.loop.wake() if isinstance(self.loop, VectorLoop) else self.context.processing_timers.earliest

    def late_since_last_batch(self) -> int:
        """Late records that the operator dropped and only counted."""
        counted: int = getattr(self.operator, "late_records", 0)
        self._late, before = counted, self._late
        return counted - before

    def take_flows(self, entered: int, left: int) -> dict[str, tuple[int, int]]:
        """Elements in and out in this batch: of the operator, and of the steps behind it."""
        flows = {self.program.uid: (entered, left)}
        for chain in (self.chain, *self.sides.values()):
            add_flows(flows, chain.take_flows())
        return flows

    def take_work(self, seconds: float) -> dict[str, float]:
        """Seconds in this batch: of the steps behind the operator, and the rest of all that it took as its own."""
        work: dict[str, float] = {}
        for chain in (self.chain, *self.sides.values()):
            work |= chain.take_work()
        return {self.program.uid: max(0.0, seconds - sum(work.values())), **work}

    def flush(self) -> None:
        """Writes a batch's changes of state and timers to the store."""
        self.backend.clean()
        try:
            self.backend.flush()
        except PenstockError as error:
            raise self.loop.site.error(error) from error
        if self._forgetful:
            self.backend.forget_cache()

    def dead_letters(self) -> Iterator[tuple[str, int, int]]:
        """Dead letters since last asked: uid, how many were made, how many of them nobody reads."""
        if made := self.loop.site.letters_since_last_batch():
            yield self.program.uid, made, 0 if DEAD_LETTERS.tag_id in self.program.side else made
        for chain in (self.chain, *self.sides.values()):
            yield from chain.dead_letters()

    def close(self) -> None:
        try:
            self.operator.close()
        except Exception as error:
            raise self.loop.site.error(error) from error
        for chain in (self.chain, *self.sides.values()):
            chain.close()


def _users_own(spec: Any) -> Any:
    """The function of a process operator, as the user wrote it."""
    function = getattr(spec, "function", None)
    return getattr(function, "adapts", (function,))[0]
