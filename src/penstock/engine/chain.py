"""Runs a chain of stateless steps over whole lists of elements, and packs what leaves it."""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from penstock.engine.body import pack_body
from penstock.engine.frames import SINKS, Bundles, Output, Rows, pack_tags
from penstock.engine.logs import RUNNING
from penstock.engine.program import Program
from penstock.engine.steps import SendStep, SinkStep, Step, TransformStep, WatermarkStep, all_steps
from penstock.functions import Function, OutputTag, TimerService
from penstock.metrics.values import Told
from penstock.runtime.keys import encode_key, key_hash
from penstock.runtime.operator import SubtaskContext, WithoutTimers
from penstock.runtime.records import Column, Tags, column
from penstock.runtime.slot import function_error
from penstock.runtime.state.backend import StateBackend
from penstock.time import MIN_WATERMARK, NO_TIMESTAMP

_SPREAD = 0x9E3779B97F4A7C15


class Base:
    """What is known of the elements that entered a chain: timestamps and tags, by index."""

    def __init__(self, timestamps: Column | Callable[[], Column], tags: Callable[[], Tags], now: int = 0) -> None:
        self._timestamps = timestamps
        self._make_tags = tags
        self._tags: Tags | None = None
        self.now = now

    @property
    def timestamps(self) -> Column:
        if callable(self._timestamps):
            self._timestamps = self._timestamps()
        return self._timestamps

    @property
    def tags(self) -> Tags:
        if self._tags is None:
            self._tags = self._make_tags()
        return self._tags


class Flow:
    """Elements on their way: values, and for each the index of the element of `base` that it came from."""

    __slots__ = ("at", "base", "values")

    def __init__(self, values: list[Any], base: Base, at: Column | None = None) -> None:
        self.values = values
        self.base = base
        self.at = at  # None: element i came from i

    def timestamps(self) -> Column:
        return self.base.timestamps if self.at is None else self.base.timestamps[self.at]

    def tags(self) -> Tags:
        """With counts anew: elements made from one element keep their order."""
        tags = self.base.tags if self.at is None else self.base.tags.take(self.at)
        return replace(tags, count=np.arange(len(self.values), dtype=np.int64))

    def derive(self, values: list[Any], picked: Any) -> Flow:
        picked = column(picked)
        return Flow(values, self.base, picked if self.at is None else self.at[picked])


class ChainRunner:
    """Runs the steps behind one source or one operator."""

    def __init__(self, steps: list[Step], place: Place) -> None:
        self._place = place
        self._steps = steps
        self._calls: dict[int, Any] = {}
        self._routers: dict[int, _Router] = {}
        self.watermark_hook: Callable[[WatermarkStep, Flow], Flow] | None = None

    def open(self) -> None:
        """Opens the functions; once per worker and subtask."""
        for step in all_steps(self._steps):
            if isinstance(step, TransformStep):
                if isinstance(step.function, Function):
                    step.function.open(self._place.runtime(step.uid, step.name))
                self._calls[id(step)] = _callable_of(step)
            elif isinstance(step, SendStep):
                self._routers[id(step)] = _Router(step, self._place.max_parallelism)

    def close(self) -> None:
        for step in all_steps(self._steps):
            if isinstance(step, TransformStep) and isinstance(step.function, Function):
                step.function.close()

    def run(self, flow: Flow, chunk: ChunkName, out: Bundles) -> None:
        for step in self._steps:
            self._run(step, flow, chunk, out)

    def _run(self, step: Step, flow: Flow, chunk: ChunkName, out: Bundles) -> None:
        if not flow.values and not isinstance(step, WatermarkStep):
            return
        if isinstance(step, SendStep):
            self._send(step, flow, chunk, out)
        elif isinstance(step, SinkStep):
            self._to_sink(step, flow, out)
        elif isinstance(step, WatermarkStep):
            assert self.watermark_hook is not None
            flow = self.watermark_hook(step, flow)
            for behind in step.next:
                self._run(behind, flow, chunk, out)
        else:
            flow, sides = self._transform(step, flow)
            for behind in step.next:
                self._run(behind, flow, chunk, out)
            for tag, side in sides.items():
                for behind in step.side.get(tag, ()):
                    self._run(behind, side, chunk, out)

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
            raise function_error(step.name, error, flow.values[at]) from error
        main, sides = split_side_outputs(values)
        if not sides:
            return flow.derive(values, picked), {}
        here = column(picked)
        return (
            flow.derive([values[i] for i in main], here[main]),
            {tag: flow.derive([values[i][1] for i in at], here[at]) for tag, at in sides.items()},
        )

    def _send(self, step: SendStep, flow: Flow, chunk: ChunkName, out: Bundles) -> None:
        router = self._routers[id(step)]
        values = flow.values
        keys, slots = router.route(values, flow, chunk, self._place)
        timestamps = flow.timestamps()
        tags = flow.tags()
        from_source = step.stream >= 0 and chunk.split is not None
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
            body = pack_body(some_keys, some)
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

    def _to_sink(self, step: SinkStep, flow: Flow, out: Bundles) -> None:
        tags = pack_tags(flow.tags().on_branch(step.branch)) if step.wants_tags else b""
        body = pack_body(None, flow.values)
        timestamps = flow.timestamps().tobytes() if step.wants_timestamps else b""
        frame = Output(step.sink, self._place.slot, len(flow.values), timestamps, tags, body)
        out.add(SINKS, self._place.slot, frame, len(body))


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


class ChainContext:
    """The ctx of a process function in a chain: it sees its chunk's watermark (time.md D15)."""

    __slots__ = ("_flow", "_timers", "_timestamps", "_watermarks", "index")

    def __init__(self, flow: Flow) -> None:
        self.index = 0
        self._flow = flow
        self._timestamps: list[int] | None = None
        self._watermarks: list[int] | None = None
        self._timers = WithoutTimers(self)

    def timestamp(self) -> int | None:
        if self._timestamps is None:
            self._timestamps = self._flow.timestamps().tolist()
        stamp = self._timestamps[self.index]
        return None if stamp == NO_TIMESTAMP else stamp

    def timer_service(self) -> TimerService:
        return self._timers

    @property
    def watermark(self) -> int:
        if self._watermarks is None:
            self._watermarks = self._flow.tags().watermark.tolist()
        return self._watermarks[self.index] if self._watermarks else MIN_WATERMARK

    @property
    def now(self) -> int:
        return self._flow.base.now


class _Router:
    """Chooses each element's slot."""

    def __init__(self, step: SendStep, max_parallelism: int) -> None:
        self._step = step
        self._key = _method(step.selector, "get_key")
        self._partition = _method(step.partitioner, "partition")
        self._slots = _SlotTable(step.parallelism, max_parallelism)

    def route(
        self, values: list[Any], flow: Flow, chunk: ChunkName, place: Place
    ) -> tuple[list[Any] | None, list[tuple[int, Any]]]:
        step = self._step
        n, width = len(values), step.parallelism
        keys = None if self._key is None else self._keys(values)
        if step.partition == "key":
            table = self._slots
            return keys, _groups(np.fromiter(map(table.__getitem__, keys or ()), np.int64, n), width)
        if step.partition == "split":
            return [chunk.split] * n, [(self._slots[chunk.split], None)]
        if step.partition == "broadcast":
            return None, [(slot, None) for slot in range(width)]
        if step.partition == "global":
            return None, [(0, None)]
        if step.partition == "custom":
            return None, _groups(self._chosen(values, keys or [], width), width)
        if step.partition == "forward":
            return None, [(place.slot % width, None)]
        tags = flow.tags()
        if step.partition == "shuffle":  # scattered, yet the same when the batch runs again
            mixed = (tags.position * 31 + tags.count).astype(np.uint64) * np.uint64(_SPREAD)
            mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(_SPREAD)
            return None, _groups((mixed >> np.uint64(33)).astype(np.int64) % width, width)
        spread = tags.count + (chunk.start if chunk.split is not None else place.slot)
        return None, _groups(spread % width, width)

    def _chosen(self, values: list[Any], keys: list[Any], width: int) -> Column:
        """Where a partitioner of the user's puts each key."""
        partition = self._partition
        at = 0
        try:
            chosen = np.empty(len(keys), np.int64)
            for at, key in enumerate(keys):
                subtask = int(partition(key, width))  # type: ignore[misc]
                if not 0 <= subtask < width:
                    raise ValueError(f"the partitioner chose subtask {subtask}; there are subtasks 0 to {width - 1}")
                chosen[at] = subtask
        except Exception as error:
            raise function_error(self._step.name, error, values[at], keys[at]) from error
        return chosen

    def _keys(self, values: list[Any]) -> list[Any]:
        rest = iter(values)
        key = self._key
        try:
            return [key(v) for v in rest]  # type: ignore[misc]
        except Exception as error:
            at = len(values) - operator.length_hint(rest) - 1
            raise function_error(self._step.name, error, values[at]) from error


class _SlotTable(dict[Any, int]):
    """A bounded cache from keys to slots."""

    def __init__(self, parallelism: int, max_parallelism: int) -> None:
        super().__init__()
        self._max_parallelism = max_parallelism
        self._slot_of_group = [slot_of_group(g, parallelism, max_parallelism) for g in range(max_parallelism)]

    def __missing__(self, key: Any) -> int:
        if len(self) >= 1_000_000:
            self.clear()
        slot = self[key] = self._slot_of_group[key_hash(encode_key(key)[0]) % self._max_parallelism]
        return slot


def slot_of_group(group: int, parallelism: int, max_parallelism: int) -> int:
    """The slot that holds a key group: groups are spread in ranges, as in Flink."""
    return group * parallelism // max_parallelism


def _groups(slots: Column, width: int) -> list[tuple[int, Any]]:
    """The indices of each slot's elements; None for all of them."""
    if width == 1:
        return [(0, None)]
    found = [(slot, np.flatnonzero(slots == slot)) for slot in range(width)]
    return [(slot, at) for slot, at in found if len(at)]


def split_side_outputs(values: list[Any]) -> tuple[list[int], dict[str, list[int]]]:
    """Indices of the main output, and of each side output; both empty when there is no side output."""
    if not OutputTag.any_made:
        return [], {}
    tagged = [i for i, v in enumerate(values) if v.__class__ is tuple and v and v[0].__class__ is OutputTag]
    if not tagged:
        return [], {}
    sides: dict[str, list[int]] = {}
    for i in tagged:
        sides.setdefault(values[i][0].tag_id, []).append(i)
    out = set(tagged)
    return [i for i in range(len(values)) if i not in out], sides


def _callable_of(step: TransformStep) -> Callable[..., Any]:
    function = step.function
    if not isinstance(function, Function):
        return function  # type: ignore[no-any-return]
    names = {"map": ("map", "map1", "map2"), "flat_map": ("flat_map", "flat_map1", "flat_map2"), "filter": ("filter",)}
    names["process"] = ("process_element", "process_element1", "process_element2")
    alone, *both = names[step.kind]
    return getattr(function, alone) if hasattr(function, alone) else getattr(function, both[step.input])  # type: ignore[no-any-return]


def _method(thing: Any, name: str) -> Callable[..., Any] | None:
    return getattr(thing, name, thing) if thing is not None else None
