"""One operator in one slot: its open functions, state, timers and chains. It stays open between batches."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any, cast

from penstock.engine.chain.chain import ChainRunner, WatermarkHook
from penstock.engine.host.reports import add_flows
from penstock.engine.program.operator_kinds import make_operator, streaming_loop
from penstock.engine.program.program import OperatorProgram, Program
from penstock.engine.program.steps import needs_tags
from penstock.engine.program.subtask_context import SubtaskContext
from penstock.errors import PenstockError
from penstock.functions import DEAD_LETTERS
from penstock.runtime.columnar.loop import ColumnarLoop
from penstock.runtime.columnar.operator import ColumnarWindowOperator
from penstock.runtime.loop.batch import BatchLoop
from penstock.runtime.loop.call_guard import CallGuard, JournaledTimers
from penstock.runtime.loop.call_site import CallSite, Locate
from penstock.runtime.loop.emission_check import check_emissions
from penstock.runtime.loop.operator import Operator, OperatorContext
from penstock.runtime.loop.slot import SlotLoop
from penstock.runtime.relational.loop import RelationalLoop
from penstock.runtime.relational.operators.operator import RelationalOperator
from penstock.runtime.relational.python_functions.scope import FunctionScope
from penstock.runtime.state.backend import KeyedStateStore
from penstock.runtime.state.keys import KeyTable
from penstock.runtime.state.store import Store
from penstock.runtime.state.tables import StateTables
from penstock.runtime.state.timers import TimerQueue


class OperatorInstance:
    """An open operator with its state, timers and chains."""

    def __init__(
        self,
        program: OperatorProgram,
        job: Program,
        slot: int,
        store: Store,
        tables: StateTables,
        watermarks: WatermarkHook,
        locate: Locate,
    ) -> None:
        self.program = program
        self.operator = make_operator(program, slot, job.batch_mode)
        self.keys = KeyTable(job.max_parallelism)
        self.backend = KeyedStateStore(store, tables, program.uid, self.keys, job.caches_state or program.guarded)
        self.subtask = SubtaskContext(job, slot, program.parallelism)
        runtime = self.subtask.function_context(program.uid, program.name, self.backend if program.spec.keyed else None)
        self.name_in_logs()  # functions may log in open
        queue = JournaledTimers if program.guarded else TimerQueue
        event = queue(store, self._table(tables, "event"), self.keys)
        processing = queue(store, self._table(tables, "processing"), self.keys)
        self.context = OperatorContext(self.backend, event, processing, runtime)
        self._late = 0
        self._clears_cache = program.guarded and not job.caches_state
        needs_origins = program.traits.materializes or any(
            map(needs_tags, (program.chain, *program.side_chains.values()))
        )
        self.loop: SlotLoop | ColumnarLoop | RelationalLoop
        if program.spec.kind == "relational":
            self.loop = RelationalLoop(program.name, cast(RelationalOperator, self.operator), self.context)
        elif isinstance(self.operator, ColumnarWindowOperator):
            self.loop = ColumnarLoop(program.name, self.operator, self.context)
        else:
            guard = self._guard() if program.guarded else None
            loop = BatchLoop if job.batch_mode else SlotLoop if program.guarded else streaming_loop(program.spec)
            self.loop = loop(program.name, cast(Operator, self.operator), self.context, needs_origins, guard)
        self.loop.site.function = _user_function(program.spec)
        if program.traits.generates_watermarks:  # it replaces a watermark step of the program
            uid = program.uid.removesuffix("#generator")
            self.loop.site = CallSite(program.name, uid, program.spec.strategy.timestamp_function())
        self.loop.site.locate = locate
        self._functions = FunctionScope(program.name, program.uid, lambda: runtime)
        try:
            with self._functions.active():
                self.operator.open(self.context)
        except Exception as error:
            raise self.loop.site.error(error) from error
        self.chain = ChainRunner(program.chain, self.subtask, watermarks, locate)
        self.sides = {
            tag: ChainRunner(steps, self.subtask, watermarks, locate) for tag, steps in program.side_chains.items()
        }
        for chain in (self.chain, *self.sides.values()):
            chain.open()

    def name_in_logs(self) -> None:
        """Makes log lines and errors name this operator."""
        running = self.subtask.running
        running.operator, running.subtask = self.program.name, self.subtask.slot

    def _guard(self) -> CallGuard:
        declared = self.program.declared
        if declared is None:
            return CallGuard(self.context)
        return CallGuard(self.context, partial(check_emissions, declared.name, declared.line, declared.type_info))

    def _table(self, tables: StateTables, domain: str) -> bytes:
        return tables.of(self.program.uid, f"__{domain}_timers__", "timers", "timers").number.to_bytes(2, "big")

    def next_wake_up(self) -> int | None:
        """The next processing time at which the operator has work, as of the last flush."""
        if isinstance(self.loop, ColumnarLoop | RelationalLoop):
            return self.loop.wake()
        return self.context.processing_timers.earliest

    def next_event_time(self, watermark: int) -> int | None:
        """The next watermark at which the operator has work, as of the last flush."""
        if isinstance(self.loop, ColumnarLoop | RelationalLoop):
            return self.loop.next_event_time(watermark)
        return self.context.event_timers.earliest

    def take_late_count(self) -> int:
        """Returns the number of late records that the operator dropped since the last call."""
        total: int = getattr(self.operator, "late_records", 0)
        self._late, before = total, self._late
        return total - before

    def take_flows(self, entered: int, left: int) -> dict[str, tuple[int, int]]:
        """Returns elements in and out since the last call, of the operator and of the steps after it."""
        flows = {self.program.uid: (entered, left)}
        for chain in (self.chain, *self.sides.values()):
            add_flows(flows, chain.take_flows())
        return flows

    def take_work(self, seconds: float) -> dict[str, float]:
        """Splits the seconds of a batch between the operator and the steps after it."""
        work: dict[str, float] = {}
        for chain in (self.chain, *self.sides.values()):
            work |= chain.take_work()
        return {self.program.uid: max(0.0, seconds - sum(work.values())), **work}

    def flush(self) -> None:
        """Writes the state changes of a batch to the store."""
        self.backend.remove_expired()
        try:
            self.backend.flush()
        except PenstockError as error:
            raise self.loop.site.error(error) from error
        if self._clears_cache:
            self.backend.clear_cache()

    def take_dead_letter_counts(self) -> Iterator[tuple[str, int, int]]:
        """Returns counts since the last call: uid, dead letters produced, and how many of them no step reads."""
        if produced := self.loop.site.take_dead_letter_count():
            yield self.program.uid, produced, 0 if DEAD_LETTERS.tag_id in self.program.side_chains else produced
        for chain in (self.chain, *self.sides.values()):
            yield from chain.take_dead_letter_counts()

    def roll_back(self) -> None:
        """Discards what a failed batch changed and counted."""
        self.backend.discard_batch()
        self.context.event_timers.discard_batch()
        self.context.processing_timers.discard_batch()
        self.take_late_count()
        list(self.take_dead_letter_counts())
        self.take_flows(0, 0)
        self.take_work(0)
        self.subtask.roll_back_metrics()

    def close(self) -> None:
        try:
            self._functions.close()
            self.operator.close()
        except Exception as error:
            raise self.loop.site.error(error) from error
        for chain in (self.chain, *self.sides.values()):
            chain.close()


def _user_function(spec: Any) -> Any:
    """The user's function of an operator, without the adapter around it."""
    function = getattr(spec, "function", None)
    return getattr(function, "adapts", (function,))[0]
