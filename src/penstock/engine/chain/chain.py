"""Runs a chain of stateless steps over whole lists of elements, and packs what leaves it."""

from __future__ import annotations

import operator
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from penstock.engine.arrow import ArrowPacker, arrow_packer
from penstock.engine.aside import Aside, known_of
from penstock.engine.async_step import AsyncStep
from penstock.engine.body import pack_body, unpicklable_element
from penstock.engine.calls import callable_of, results_of, without_sides
from penstock.engine.chain_context import ChainContext
from penstock.engine.columns import ColumnSender
from penstock.engine.flow import Flow
from penstock.engine.frames import SINKS, Bundles, Output, Rows, pack_tags
from penstock.engine.logs import RUNNING
from penstock.engine.marks import assigned_timestamps
from penstock.engine.place import ChunkName, Place
from penstock.engine.routing import Router
from penstock.engine.steps import (
    CheckStep,
    SendStep,
    SinkStep,
    Step,
    TransformStep,
    WatermarkStep,
    all_steps,
    steps_behind,
    steps_beside,
)
from penstock.engine.unread_timestamp import ignores_timestamp
from penstock.functions import DEAD_LETTERS, Function
from penstock.runtime.call_site import CallSite, Locate
from penstock.runtime.records import Column
from penstock.time import NO_TIMESTAMP
from penstock.types.check import checked

_DEAD = DEAD_LETTERS.tag_id
Part = tuple[Flow, ChunkName]
Applied = tuple[Flow | None, Sequence[tuple[str, Flow]]]  # the main output, and what leaves by the sides
WatermarkHook = Callable[[WatermarkStep, Flow, Column, Aside], Flow]  # step, elements, their timestamps, those refused


class ChainRunner:
    """Runs the steps behind one source or one operator."""

    def __init__(
        self,
        steps: list[Step],
        place: Place,
        watermarks: WatermarkHook,
        locate: Locate,
        waits: bool = False,
        beside: Sequence[Step] = (),
    ) -> None:
        self._place = place
        self._beside = beside  # the steps that read a source's own dead letters
        self._every = list(all_steps([*steps, *beside]))
        self._waits = waits  # columns are collected until `flush`
        self._steps = steps
        self._watermarks = watermarks
        self._locate = locate  # of an element that a function raised on: what is known of its source
        self._calls: dict[int, Any] = {}
        self._routers: dict[int, Router] = {}
        self._sites: dict[int, CallSite] = {}
        self._packers: dict[int, ArrowPacker | None] = {}
        self._senders: dict[int, ColumnSender] = {}  # of steps to operators that work by columns
        self._unread: set[int] = set()  # steps that give timestamps without a look at the ones before
        self._flows: dict[str, tuple[int, int]] = {}
        self._work: dict[str, float] = {}  # seconds by step

    def open(self) -> None:
        """Opens the functions; once per worker and subtask."""
        for step in self._every:
            if isinstance(step, TransformStep):
                self._sites[id(step)] = site = CallSite(step.name, step.uid, step.function)
                if step.kind == "async":
                    self._calls[id(step)] = AsyncStep(step, site, self._place.runtime(step.uid, step.name))
                    continue
                if isinstance(step.function, Function):
                    try:
                        step.function.open(self._place.runtime(step.uid, step.name))
                    except Exception as error:
                        raise site.error(error) from error
                self._calls[id(step)] = callable_of(step)
            elif isinstance(step, WatermarkStep):
                assign = step.strategy.timestamp_of()
                self._sites[id(step)] = CallSite(step.name, step.uid, assign)
                if assign is not None and ignores_timestamp(assign):
                    self._unread.add(id(step))
            elif isinstance(step, SendStep):
                router = self._routers[id(step)] = Router(step, self._place.max_parallelism, self._place.shares)
                self._sites[id(step)] = router.site
                if step.columns is not None and not self._place.batch_mode:
                    sender = self._senders[id(step)] = ColumnSender(step, router, self._waits)
                    sender.site.locate = self._locate
            elif isinstance(step, SinkStep) and step.function is not None:
                self._sites[id(step)] = CallSite(step.name, step.uid, step.function, "Sink")
            if isinstance(step, (SendStep, SinkStep)):
                known = step.element_type
                self._packers[id(step)] = None if known is None else arrow_packer(known.type_info, known.certain)
        for site in self._sites.values():
            site.locate = self._locate

    def close(self) -> None:
        for step in self._every:
            if isinstance(step, TransformStep) and isinstance(step.function, Function):
                try:
                    (self._calls[id(step)] if step.kind == "async" else step.function).close()
                except Exception as error:
                    raise self._sites[id(step)].error(error) from error

    def dead_letters(self) -> Iterator[tuple[str, int, int]]:
        """Dead letters since last asked: each step's uid, how many it made, how many of them nobody reads."""
        for step in self._every:
            if isinstance(step, CheckStep) or (isinstance(step, SendStep) and not step.tells):
                continue
            if isinstance(step, SinkStep) and step.function is None:
                continue
            if made := self._sites[id(step)].letters_since_last_batch():
                yield step.uid, made, 0 if _DEAD in step.side else made

    def flush(self, out: Bundles) -> None:
        """Sends all columns that were collected."""
        for sender in self._senders.values():
            sender.flush(out)

    def forget_columns(self) -> None:
        """Drops what an attempt that failed has collected."""
        for sender in self._senders.values():
            sender.forget()

    def run(self, flow: Flow, chunk: ChunkName, out: Bundles) -> None:
        for step in self._steps:
            self.run_step(step, flow, chunk, out)

    def run_beside(self, flow: Flow, chunk: ChunkName, out: Bundles) -> None:
        """Runs the steps that read a source's own dead letters."""
        for step in self._beside:
            self.run_step(step, flow, chunk, out)

    def run_step(self, step: Step, flow: Flow, chunk: ChunkName, out: Bundles) -> None:
        """One step, and all behind it."""
        after, sides = self.apply(step, flow, chunk, out)
        if after is not None:
            for behind in steps_behind(step):
                self.run_step(behind, after, chunk, out)
        for tag, side in sides:
            for behind in steps_beside(step).get(tag, ()):
                self.run_step(behind, side, chunk, out)

    def apply(self, step: Step, flow: Flow, chunk: ChunkName, out: Bundles) -> Applied:
        """What one step makes of some elements: its main output, if it has one, and what leaves by its sides."""
        if not flow.values and not isinstance(step, (WatermarkStep, CheckStep)):
            return None, ()
        if isinstance(step, CheckStep):
            says = step.declared
            values = checked(says.name, says.line, says.type_info, flow.values)
            return (flow if values is flow.values else Flow(values, flow.base, flow.at)), ()
        if isinstance(step, SinkStep):
            return None, [(_DEAD, letters) for letters in self._to_sink(step, flow, out)]
        if isinstance(step, SendStep):
            return None, [(_DEAD, letters) for letters in self._send(step, flow, chunk, out)]
        if isinstance(step, WatermarkStep):
            flow, dead = self._timed(step, flow)
            return flow, [(_DEAD, letters) for letters in dead]
        if step.kind == "async":
            return self.awaited(step, [(flow, chunk)], None)[0]
        entered, began = len(flow.values), time.perf_counter()
        flow, sides = self._guarded(step, flow) if step.guarded else self._transform(step, flow)
        self._spent(step.uid, began)
        self._count(step.uid, entered, len(flow.values) + sum(len(side.values) for side in sides.values()))
        return flow, list(sides.items())

    def awaited(
        self, step: TransformStep, parts: list[Part], enter: Callable[[ChunkName], None] | None
    ) -> list[Applied]:
        """What an asynchronous step makes of the elements of some chunks, which wait together."""
        RUNNING.operator = step.name
        done: list[Applied] = []
        began = time.perf_counter()
        for (flow, _), (after, sides) in zip(parts, self._calls[id(step)].run(parts, enter), strict=True):
            self._count(
                step.uid, len(flow.values), len(after.values) + sum(len(side.values) for side in sides.values())
            )
            done.append((after, list(sides.items())))
        self._spent(step.uid, began)
        return done

    def _count(self, uid: str, entered: int, left: int) -> None:
        before = self._flows.get(uid, (0, 0))
        self._flows[uid] = before[0] + entered, before[1] + left

    def _spent(self, uid: str, began: float) -> None:
        self._work[uid] = self._work.get(uid, 0.0) + time.perf_counter() - began

    def take_work(self) -> dict[str, float]:
        """Seconds by step since the last call."""
        work, self._work = self._work, {}
        return work

    def take_flows(self) -> dict[str, tuple[int, int]]:
        """Elements in and out of each step since the last call."""
        flows, self._flows = self._flows, {}
        return flows

    def _transform(self, step: TransformStep, flow: Flow) -> tuple[Flow, dict[str, Flow]]:
        call = self._calls[id(step)]
        RUNNING.operator = step.name
        rest = iter(flow.values)
        try:
            if step.kind == "map":
                return Flow([call(v) for v in rest], flow.base, flow.at), {}
            if step.kind == "filter":
                picked = [i for i, v in enumerate(rest) if call(v)]
                return flow.derive([flow.values[i] for i in picked], picked), {}
            values: list[Any] = []
            picked = []
            if step.kind == "process":
                context = ChainContext(flow)
                for i, v in enumerate(rest):
                    context.index = i
                    for result in call(v, context) or ():
                        values.append(result)
                        picked.append(i)
            else:
                for i, v in enumerate(rest):
                    for result in call(v) or ():
                        values.append(result)
                        picked.append(i)
        except Exception as error:
            at = len(flow.values) - operator.length_hint(rest) - 1
            raise self._sites[id(step)].error(error, **known_of(flow, at)) from error
        return without_sides(flow, values, picked)

    def _guarded(self, step: TransformStep, flow: Flow) -> tuple[Flow, dict[str, Flow]]:
        """Element by element: what a call that raises has emitted is dropped, and the element becomes a dead letter."""
        results = results_of(step, self._calls[id(step)])
        RUNNING.operator = step.name
        context, aside = ChainContext(flow), Aside(self._sites[id(step)], flow, True)
        values: list[Any] = []
        picked: list[int] = []
        for i, v in enumerate(flow.values):
            context.index = i
            try:
                emitted = results(v, context)
            except Exception as error:
                aside.refuse(error, i)
                continue
            values += emitted
            picked += [i] * len(emitted)
        tagging = step.kind in ("flat_map", "process")
        main, sides = without_sides(flow, values, picked) if tagging else (flow.derive(values, picked), {})
        for dead in aside.letters():
            sides[_DEAD] = dead
        return main, sides

    def _timed(self, step: WatermarkStep, flow: Flow) -> tuple[Flow, list[Flow]]:
        """Elements with the timestamps and watermarks of a strategy, and the dead letters of the others."""
        site, assign = self._sites[id(step)], step.strategy.timestamp_of()
        unstamped = Aside(site, flow, step.guarded)
        unread = id(step) in self._unread
        timestamps = np.full(len(flow.values), NO_TIMESTAMP, np.int64) if unread else flow.timestamps()
        if assign is not None:
            timestamps = assigned_timestamps(assign, flow.values, timestamps, unstamped)
            flow = unstamped.without(flow)
        unmarked = Aside(site, flow, step.guarded)
        marked = self._watermarks(step, flow, timestamps, unmarked)
        return unmarked.without(marked), [*unstamped.letters(), *unmarked.letters()]

    def _send(self, step: SendStep, flow: Flow, chunk: ChunkName, out: Bundles) -> Iterable[Flow]:
        """Packs elements for the operator that reads them; gives dead letters of those without a place to go."""
        if (sender := self._senders.get(id(step))) is not None:
            return sender.send(flow, chunk, out)
        flow, keys, slots, refused = self._routers[id(step)].route(flow, chunk, self._place)
        values, dead = flow.values, () if refused is None else (refused,)
        if not values:
            return dead
        timestamps = flow.timestamps()
        tags = flow.tags()
        from_source = step.stream >= 0 and chunk.split is not None
        packer = self._packers[id(step)]
        for slot, picked in slots:
            if picked is None:
                some_keys, some, stamps, some_tags = keys, values, timestamps, tags
            else:
                at = picked.tolist()
                some = [values[i] for i in at]
                some_keys = None if keys is None else [keys[i] for i in at]
                stamps, some_tags = timestamps[picked], tags.take(picked)
            packed = (
                np.concatenate((some_tags.watermark, some_tags.position)).tobytes()
                if from_source
                else pack_tags(some_tags)
            )
            body = self._packed(step, flow, some_keys, some, packer)
            frame = Rows(
                step.operator,
                step.input,
                step.stream if from_source else -1,
                chunk.split or ("*" if step.stream >= 0 else ""),
                step.stream if step.stream >= 0 and not from_source else chunk.start,
                step.branch,
                stamps.tobytes(),
                packed,
                body,
            )
            out.add(step.level, slot, frame, len(body) + 24 * len(some))
        return dead

    @staticmethod
    def _packed(
        step: SendStep | SinkStep, flow: Flow, keys: list[Any] | None, values: list[Any], packer: ArrowPacker | None
    ) -> bytes:
        try:
            return pack_body(keys, values, packer)
        except Exception as error:
            raise unpicklable_element(step.name, flow.values, error) from error

    def _to_sink(self, step: SinkStep, flow: Flow, out: Bundles) -> Iterable[Flow]:
        """Packs elements for a sink; gives dead letters of those that a function refused."""
        refused: Iterable[Flow] = ()
        if step.function is not None:
            flow, refused = self._call_sink(step, flow)
        tags = pack_tags(flow.tags().on_branch(step.branch)) if step.wants_tags else b""
        body = b""
        if step.function is None:
            body = self._packed(step, flow, None, flow.values, self._packers[id(step)])
        timestamps = flow.timestamps().tobytes() if step.wants_timestamps else b""
        frame = Output(step.sink, self._place.slot, len(flow.values), timestamps, tags, body)
        out.add(SINKS, self._place.slot, frame, len(body))
        return refused

    def _call_sink(self, step: SinkStep, flow: Flow) -> tuple[Flow, Iterable[Flow]]:
        call, aside = step.function, Aside(self._sites[id(step)], flow, True)
        RUNNING.operator, began = step.name, time.perf_counter()
        for i, v in enumerate(flow.values):
            try:
                call(v)
            except Exception as error:
                aside.refuse(error, i)
        self._spent(step.uid, began)
        return aside.without(flow), aside.letters()
