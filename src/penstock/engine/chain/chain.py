"""Runs a chain of stateless steps over lists of elements, and sends the results."""

from __future__ import annotations

import operator
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from penstock.engine.chain.async_step import AsyncStep
from penstock.engine.chain.calls import element_callable, result_list_callable, separate_side_outputs
from penstock.engine.chain.change_sender import ChangeSender
from penstock.engine.chain.column_chunks import ColumnSender
from penstock.engine.chain.flow import ChainInput, Flow
from penstock.engine.chain.process_context import ChainContext
from penstock.engine.chain.rejected_elements import RejectedElements, call_details
from penstock.engine.chain.routing import Router
from penstock.engine.chain.senders import RowSender, SinkSender
from penstock.engine.chain.unread_outputs import UnreadOutputs
from penstock.engine.chain.watermarks import assign_timestamps
from penstock.engine.program.steps import (
    CheckStep,
    SendStep,
    SinkStep,
    Step,
    TransformStep,
    WatermarkStep,
    all_steps,
    downstream_steps,
    side_output_steps,
    steps_that_copy,
)
from penstock.engine.program.subtask_context import ChunkPosition, SubtaskContext
from penstock.engine.program.timestamp_use import ignores_timestamp
from penstock.engine.wire.frames import Bundles
from penstock.functions import DEAD_LETTERS, Function
from penstock.runtime.loop.call_results import COLLECTIONS, check_results
from penstock.runtime.loop.call_site import CallSite, Locate
from penstock.runtime.loop.call_watch import ChunkCalls, watch
from penstock.runtime.loop.element_copy import IMMUTABLE, copy_element, copy_elements
from penstock.runtime.loop.records import Column
from penstock.runtime.relational.column_key import ColumnKey
from penstock.runtime.relational.column_step import StepContext
from penstock.runtime.relational.python_functions.scope import FunctionScope
from penstock.time import NO_TIMESTAMP
from penstock.types.check import convert_elements

_DEAD = DEAD_LETTERS.tag_id
ChunkFlow = tuple[Flow, ChunkPosition]
StepOutput = tuple[Flow | None, Sequence[tuple[str, Flow]]]  # main output, and side outputs with their tags
# Applies a watermark step to elements with their timestamps.
WatermarkHook = Callable[[WatermarkStep, Flow, Column, RejectedElements], Flow]


class ChainRunner:
    """Runs the steps after one source or one operator."""

    def __init__(
        self,
        steps: list[Step],
        subtask: SubtaskContext,
        watermarks: WatermarkHook,
        locate: Locate,
        collects_columns: bool = False,
        dead_letter_steps: Sequence[Step] = (),
    ) -> None:
        self._steps = steps
        self._dead_letter_steps = dead_letter_steps  # they read the dead letters of a source
        self._all_steps = list(all_steps([*steps, *dead_letter_steps]))
        self._subtask = subtask
        self._watermarks = watermarks
        self._locate = locate  # finds the source position of an element on which a function raised
        self._collects_columns = collects_columns  # until `flush`
        self._calls: dict[int, Any] = {}  # this and the others are by the id of a step
        self._sites: dict[int, CallSite] = {}
        self._senders: dict[int, RowSender | ColumnSender | ChangeSender] = {}
        self._sink_senders: dict[int, SinkSender] = {}
        self._ignores_timestamps: set[int] = set()  # watermark steps that do not read earlier timestamps
        self._copying = set() if subtask.object_reuse else steps_that_copy(steps) | steps_that_copy(dead_letter_steps)
        self._flows: dict[str, tuple[int, int]] = {}
        self._unread = UnreadOutputs()
        self._work: dict[str, float] = {}  # seconds by step
        self._scopes: list[FunctionScope] = []  # the Python functions of SQL

    def open(self) -> None:
        """Opens the functions. Called once per worker and subtask."""
        for step in self._all_steps:
            if isinstance(step, TransformStep):
                self._open_transform(step)
            elif isinstance(step, WatermarkStep):
                assign = step.strategy.timestamp_function()
                self._sites[id(step)] = CallSite(step.name, step.uid, assign)
                if assign is not None and ignores_timestamp(assign):
                    self._ignores_timestamps.add(id(step))
            elif isinstance(step, SendStep):
                self._open_sender(step)
            elif isinstance(step, SinkStep):
                self._sink_senders[id(step)] = SinkSender(step, self._subtask.slot)
                if step.function is not None:
                    self._sites[id(step)] = CallSite(step.name, step.uid, step.function, "Sink")
        for site in self._sites.values():
            site.locate = self._locate

    def _open_transform(self, step: TransformStep) -> None:
        self._sites[id(step)] = site = CallSite(step.name, step.uid, step.function)
        if step.kind == "async":
            runtime = self._subtask.function_context(step.uid, step.name)
            self._calls[id(step)] = AsyncStep(step, site, runtime)
            return
        if step.kind == "columns":
            scope = FunctionScope(step.name, step.uid, lambda: self._subtask.function_context(step.uid, step.name))
            self._scopes.append(scope)
            with scope.active():
                step.function.open()
            self._calls[id(step)] = step.function.run
            return
        if isinstance(step.function, Function):
            try:
                step.function.open(self._subtask.function_context(step.uid, step.name))
            except Exception as error:
                raise site.error(error) from error
        self._calls[id(step)] = element_callable(step)

    def _open_sender(self, step: SendStep) -> None:
        if isinstance(step.selector, ColumnKey):
            changes = self._senders[id(step)] = ChangeSender(step, self._subtask)
            self._sites[id(step)] = changes.site
            return
        router = Router(step, self._subtask.max_parallelism, self._subtask.batch_partitions)
        self._sites[id(step)] = router.site
        if step.columns is None or self._subtask.batch_mode:
            self._senders[id(step)] = RowSender(step, router, self._subtask)
        else:
            sender = self._senders[id(step)] = ColumnSender(step, router, self._collects_columns)
            sender.site.locate = self._locate

    def close(self) -> None:
        for scope in self._scopes:
            scope.close()
        for step in self._all_steps:
            if isinstance(step, TransformStep) and isinstance(step.function, Function):
                try:
                    (self._calls[id(step)] if step.kind == "async" else step.function).close()
                except Exception as error:
                    raise self._sites[id(step)].error(error) from error

    # -- collected columns

    def flush(self, out: Bundles) -> None:
        """Sends all collected columns."""
        for sender in self._column_senders():
            sender.flush(out)

    def discard_columns(self) -> None:
        """Drops the columns that a failed attempt collected."""
        for sender in self._column_senders():
            sender.discard()

    def _column_senders(self) -> list[ColumnSender]:
        return [sender for sender in self._senders.values() if isinstance(sender, ColumnSender)]

    # -- counts since the last call

    def take_dead_letter_counts(self) -> Iterator[tuple[str, int, int]]:
        """For each step its uid, how many dead letters it produced, and how many of them no step reads."""
        for step in self._all_steps:
            if isinstance(step, CheckStep) or (isinstance(step, SendStep) and not step.reports_dead_letters):
                continue
            if isinstance(step, SinkStep) and step.function is None:
                continue
            if produced := self._sites[id(step)].take_dead_letter_count():
                yield step.uid, produced, 0 if _DEAD in step.side else produced

    def take_work(self) -> dict[str, float]:
        """Seconds by step."""
        work, self._work = self._work, {}
        return work

    def take_flows(self) -> dict[str, tuple[int, int]]:
        """Elements in and out of each step."""
        flows, self._flows = self._flows, {}
        return flows

    def _count(self, uid: str, entered: int, left: int) -> None:
        before = self._flows.get(uid, (0, 0))
        self._flows[uid] = before[0] + entered, before[1] + left

    def _add_seconds(self, uid: str, began: float) -> None:
        self._work[uid] = self._work.get(uid, 0.0) + time.perf_counter() - began

    # -- steps

    def run(self, flow: Flow, chunk: ChunkPosition, out: Bundles) -> None:
        for step in self._steps:
            self.run_step(step, flow, chunk, out)

    def run_dead_letters(self, flow: Flow, chunk: ChunkPosition, out: Bundles) -> None:
        """Runs the steps that read the dead letters of a source."""
        for step in self._dead_letter_steps:
            self.run_step(step, flow, chunk, out)

    def run_step(self, step: Step, flow: Flow, chunk: ChunkPosition, out: Bundles) -> None:
        """Runs one step and all steps after it."""
        after, sides = self.apply(step, flow, chunk, out)
        if after is not None:
            for reader in downstream_steps(step):
                self.run_step(reader, after, chunk, out)
        if sides:
            readers = side_output_steps(step)
            self.warn_unread(step, sides)
            for tag, side in sides:
                for reader in readers.get(tag, ()):
                    self.run_step(reader, side, chunk, out)

    def warn_unread(self, step: Step, sides: Iterable[tuple[str, Flow]]) -> None:
        """Warns about side outputs of a step that no step reads."""
        if isinstance(step, TransformStep):
            self._unread.warn(step.name, [tag for tag, _ in sides if tag not in step.side])

    def apply(self, step: Step, flow: Flow, chunk: ChunkPosition, out: Bundles) -> StepOutput:
        """Runs one step. Returns its main output, None for a step without one, and its side outputs."""
        if not flow.values and not isinstance(step, (WatermarkStep, CheckStep)):
            return None, ()
        flow = self._own_flow(step, flow)
        if isinstance(step, CheckStep):
            declared = step.declared
            values = convert_elements(declared.name, declared.line, declared.type_info, flow.values)
            return (flow if values is flow.values else Flow(values, flow.base, flow.at)), ()
        if isinstance(step, SinkStep):
            return None, [(_DEAD, dead_letters) for dead_letters in self._run_sink(step, flow, out)]
        if isinstance(step, SendStep):
            return None, [(_DEAD, dead_letters) for dead_letters in self._senders[id(step)].send(flow, chunk, out)]
        if isinstance(step, WatermarkStep):
            flow, dead = self._run_watermarks(step, flow)
            return flow, [(_DEAD, dead_letters) for dead_letters in dead]
        if step.kind == "async":
            return self._run_async(step, [(flow, chunk)], None)[0]
        entered, began = len(flow.values), time.perf_counter()
        if step.kind == "columns":
            flow, sides = self._run_columns(step, flow)
        else:
            flow, sides = self._run_guarded(step, flow) if step.guarded else self._run_transform(step, flow)
        self._add_seconds(step.uid, began)
        self._count(step.uid, entered, len(flow.values) + sum(len(side.values) for side in sides.values()))
        return flow, list(sides.items())

    def _own_flow(self, step: Step, flow: Flow) -> Flow:
        """Copies elements for a step that may change them while other steps read them, too."""
        if id(step) not in self._copying:
            return flow
        values = copy_elements(flow.values)
        return flow if values is flow.values else Flow(values, flow.base, flow.at)

    def run_async(
        self, step: TransformStep, parts: list[ChunkFlow], enter: Callable[[ChunkPosition], None]
    ) -> list[StepOutput]:
        """Runs an asynchronous step. The calls for all chunks run concurrently."""
        return self._run_async(step, [(self._own_flow(step, flow), chunk) for flow, chunk in parts], enter)

    def _run_async(
        self, step: TransformStep, parts: list[ChunkFlow], enter: Callable[[ChunkPosition], None] | None
    ) -> list[StepOutput]:
        self._subtask.running.operator = step.name
        outputs: list[StepOutput] = []
        began = time.perf_counter()
        for (flow, _), (after, sides) in zip(parts, self._calls[id(step)].run(parts, enter), strict=True):
            self._count(
                step.uid, len(flow.values), len(after.values) + sum(len(side.values) for side in sides.values())
            )
            outputs.append((after, list(sides.items())))
        self._add_seconds(step.uid, began)
        return outputs

    def _run_transform(self, step: TransformStep, flow: Flow) -> tuple[Flow, dict[str, Flow]]:
        call = self._calls[id(step)]
        self._subtask.running.operator = step.name
        rest = iter(flow.values)
        immutable, copies = IMMUTABLE, not self._subtask.object_reuse
        values: list[Any] = []
        watched = ChunkCalls(step.name, flow.values, rest, values)
        watch.begin(watched)
        try:
            if step.kind == "map":
                mapped = _map_copying(call, rest) if copies else [call(v) for v in rest]
                return Flow(mapped, flow.base, flow.at), {}
            if step.kind == "filter":
                picked = [i for i, v in enumerate(rest) if call(v)]
                return flow.derive([flow.values[i] for i in picked], picked), {}
            picked = []
            context, collections = ChainContext(flow), COLLECTIONS
            with_context = step.kind == "process"
            for i, v in enumerate(rest):
                if with_context:
                    context.index = i
                    results = call(v, context)
                else:
                    results = call(v)
                if results.__class__ not in collections:
                    check_results(results)
                for result in results or ():
                    values.append(copy_element(result) if copies and type(result) not in immutable else result)
                    picked.append(i)
        except Exception as error:
            at = len(flow.values) - operator.length_hint(rest) - 1
            raise self._sites[id(step)].error(error, **call_details(flow, at)) from error
        finally:
            watch.end(watched)
        return separate_side_outputs(flow, values, picked)

    def _run_columns(self, step: TransformStep, flow: Flow) -> tuple[Flow, dict[str, Flow]]:
        """Runs a step of a table on all rows at once. Rows that it cannot process fail the batch or become dead letters."""
        self._subtask.running.operator = step.name
        site = self._sites[id(step)]
        now = flow.base.now or time.time_ns() // 1_000_000
        context = StepContext(lambda: flow.tags().watermark, lambda: now, flow.timestamps)
        try:
            result = self._calls[id(step)](flow.values, context)
        except Exception as error:
            raise site.error(error) from error
        rejected = RejectedElements(site, flow, step.guarded)
        for at, reason in result.bad:
            rejected.reject(reason, at)
        sides: dict[str, Flow] = {}
        for dead_letters in rejected.dead_letters():
            sides[_DEAD] = dead_letters
        if result.watermarks is not None:
            return _with_watermarks(flow, result.rows, result.watermarks), sides
        if result.origins is None:
            return Flow(result.rows, flow.base, flow.at), sides
        return flow.derive(result.rows, result.origins), sides

    def _run_guarded(self, step: TransformStep, flow: Flow) -> tuple[Flow, dict[str, Flow]]:
        """Calls the function element by element. If a call raises, its results are dropped and a dead letter is made."""
        results = result_list_callable(step, self._calls[id(step)], not self._subtask.object_reuse)
        self._subtask.running.operator = step.name
        context, rejected = ChainContext(flow), RejectedElements(self._sites[id(step)], flow, True)
        values: list[Any] = []
        picked: list[int] = []
        for i, v in enumerate(flow.values):
            context.index = i
            try:
                emitted = results(v, context)
            except Exception as error:
                rejected.reject(error, i)
                continue
            values += emitted
            picked += [i] * len(emitted)
        may_tag = step.kind in ("flat_map", "process")
        main, sides = separate_side_outputs(flow, values, picked) if may_tag else (flow.derive(values, picked), {})
        for dead_letters in rejected.dead_letters():
            sides[_DEAD] = dead_letters
        return main, sides

    def _run_watermarks(self, step: WatermarkStep, flow: Flow) -> tuple[Flow, list[Flow]]:
        """Assigns timestamps and watermarks. Returns the elements, and the dead letters of those that were rejected."""
        site, assign = self._sites[id(step)], step.strategy.timestamp_function()
        without_timestamp = RejectedElements(site, flow, step.guarded)
        if id(step) in self._ignores_timestamps:
            timestamps = np.full(len(flow.values), NO_TIMESTAMP, np.int64)
        else:
            timestamps = flow.timestamps()
        if assign is not None:
            timestamps = assign_timestamps(assign, flow.values, timestamps, without_timestamp)
            flow = without_timestamp.remove_from(flow)
        without_watermark = RejectedElements(site, flow, step.guarded)
        flow = self._watermarks(step, flow, timestamps, without_watermark)
        dead_letters = [*without_timestamp.dead_letters(), *without_watermark.dead_letters()]
        return without_watermark.remove_from(flow), dead_letters

    def _run_sink(self, step: SinkStep, flow: Flow, out: Bundles) -> Iterable[Flow]:
        """Sends elements to a sink, after calling its function if it has one. Returns dead letters of failed calls."""
        if step.function is None:
            self._sink_senders[id(step)].send(flow, out)
            return ()
        call, rejected = step.function, RejectedElements(self._sites[id(step)], flow, True)
        self._subtask.running.operator, began = step.name, time.perf_counter()
        for i, v in enumerate(flow.values):
            try:
                call(v)
            except Exception as error:
                rejected.reject(error, i)
        self._add_seconds(step.uid, began)
        self._sink_senders[id(step)].send(rejected.remove_from(flow), out)
        return rejected.dead_letters()


def _with_watermarks(flow: Flow, rows: Any, watermarks: Column) -> Flow:
    """Rows that stand for several elements: they have watermarks of their own, and the position of the first element."""
    first = np.zeros(len(watermarks), np.int64)
    tags = replace(flow.tags().take(first), watermark=watermarks, count=np.arange(len(watermarks), dtype=np.int64))
    return Flow(rows, ChainInput(flow.timestamps()[first], lambda: tags, flow.base.now))


def _map_copying(call: Callable[[Any], Any], values: Iterable[Any]) -> list[Any]:
    """The results of a map function, copied as by `copy_element`."""
    immutable = IMMUTABLE
    mapped: list[Any] = []
    append = mapped.append
    for value in values:
        result = call(value)
        kind = type(result)
        if kind is tuple:
            for item in result:
                if type(item) not in immutable:
                    result = copy_element(result)
                    break
        elif kind not in immutable:
            result = copy_element(result)
        append(result)
    return mapped
