"""Builds the Penstock program of a description."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from penstock import DEAD_LETTERS, Configuration, StreamExecutionEnvironment, WatermarkStrategy
from penstock.connectors.source import Source
from penstock.datastream import AsyncDataStream, DataStream
from penstock.functions import AsyncRetryStrategy, count, max_of, sum_of
from penstock.functions.named_aggregates import NamedAggregate
from penstock.types import Types
from penstock.windows import (
    ContinuousEventTimeTrigger,
    ContinuousProcessingTimeTrigger,
    CountEvictor,
    CountSlidingWindowAssigner,
    CountTrigger,
    CountTumblingWindowAssigner,
    DeltaEvictor,
    DeltaTrigger,
    DynamicEventTimeSessionWindows,
    DynamicProcessingTimeSessionWindows,
    EarlyFiringTrigger,
    EndOfStreamTrigger,
    EventTimeSessionWindows,
    EventTimeTrigger,
    Evictor,
    GlobalWindows,
    ProcessingTimeoutTrigger,
    ProcessingTimeSessionWindows,
    ProcessingTimeTrigger,
    PurgingTrigger,
    SlidingEventTimeWindows,
    SlidingProcessingTimeWindows,
    TimeEvictor,
    Trigger,
    TumblingEventTimeWindows,
    TumblingProcessingTimeWindows,
    WindowAssigner,
)
from tests.system.invariance import functions as f
from tests.system.invariance import program as p
from tests.system.invariance.patterns import match_stream
from tests.system.invariance.reading import parsed

_MINUTE = 60_000
_ELEMENT = Types.TUPLE([Types.STRING(), Types.LONG(), Types.STRING()])


class Built:
    """An environment with the streams of a program, and its outputs by name."""

    def __init__(self, program: p.Program, sources: Sequence[Source], cached: bool = False) -> None:
        self.env = StreamExecutionEnvironment(Configuration({"state.backend.type": "hashmap"} if cached else {}))
        self.outputs: dict[str, DataStream[Any]] = {}
        self._program = program
        self._streams: list[DataStream[Any]] = []
        for number, source in enumerate(sources):
            self._streams.append(self._source(number, source))
        for number, stage in enumerate(program.stages):
            stream = self._stage(stage, f"stage{number}").uid(f"stage{number}")
            self._streams.append(stream)
            self.outputs[f"stage{number}"] = stream
            for tag in side_outputs(stage.operation):
                self.outputs[f"stage{number} {tag}"] = stream.get_side_output(f.TAGS[tag])
            if getattr(stage.operation, "fails", 0) and not isinstance(stage.operation, p.Partition):
                self.outputs[f"stage{number} dead"] = stream.get_side_output(DEAD_LETTERS)

    def _source(self, number: int, source: Source) -> DataStream[Any]:
        spec = self._program.sources[number]
        strategy = watermark_strategy(spec.watermarks)
        if spec.idle:
            strategy = (strategy or WatermarkStrategy.no_watermarks()).with_idleness(spec.idle)
        if spec.drift and strategy is not None:
            strategy = strategy.with_watermark_alignment("all", spec.drift)
        if spec.reads.startswith("files"):
            assert strategy is not None
            lines = self.env.from_source(source, None, f"source{number}").uid(f"source{number}")
            return parsed(lines, strategy, self._program.changes)
        return self.env.from_source(source, strategy, f"source{number}").uid(f"source{number}")

    def _stage(self, stage: p.Stage, uid: str) -> Any:
        inputs = [self._streams[i] for i in stage.inputs]
        first = inputs[0]
        match stage.operation:
            case p.Map(add, fails, typed):
                declared = _ELEMENT if typed and not self._program.changes else None
                return first.map(f.Add(add, fails), declared, on_error=_on_error(fails))
            case p.Filter(remainder, inverted, modulo):
                return first.filter(f.Keep(remainder, inverted, modulo))
            case p.FlatMap():
                return first.flat_map(f.Repeat())
            case p.Async():
                return _async(stage.operation, first)
            case p.Separate():
                return first.process(f.SeparateOdd())
            case p.Side(tag):
                return first.get_side_output(f.TAGS[tag]).map(f.Add(0, 0))
            case p.Partition("custom", fails):
                selector = f.FailingKeyOf(fails)
                parts = first.partition_custom(f.SubtaskOf(), selector, on_error=_on_error(fails))
                if fails:
                    self.outputs[f"{uid} dead"] = parts.get_side_output(DEAD_LETTERS)
                return parts.map(f.Add(0, 0))
            case p.Partition(kind):
                return getattr(first, kind)().map(f.Add(0, 0))
            case p.Assign(delay):
                strategy = WatermarkStrategy.for_bounded_out_of_orderness(delay)
                return first.assign_timestamps_and_watermarks(strategy).map(f.Add(0, 0))
            case p.Union():
                return first.union(*inputs[1:]).map(f.Add(0, 0))
        return _keyed_stage(stage.operation, inputs, self._program.ordered, uid)


def _async(spec: p.Async, stream: DataStream[Any]) -> Any:
    function, on_error = f.Call(spec), _on_error(spec.fails)
    if not spec.retries:
        wait = AsyncDataStream.ordered_wait if spec.ordered else AsyncDataStream.unordered_wait
        return wait(stream, function, _MINUTE, capacity=4, on_error=on_error)
    again = (f.IsEmpty(), None) if spec.retries_results else (None, f.IsAgain())
    retry: AsyncRetryStrategy[Any] = AsyncRetryStrategy.fixed_delay(spec.retries, 1, *again)
    retrying = AsyncDataStream.ordered_wait_with_retry if spec.ordered else AsyncDataStream.unordered_wait_with_retry
    return retrying(stream, function, _MINUTE, retry, capacity=4, on_error=on_error)


def _keyed_stage(operation: p.Operation, inputs: list[DataStream[Any]], ordered: bool, uid: str) -> Any:
    first = inputs[0]
    match operation:
        case p.Process(by, states, timers, fails, side, typed_key):
            key_type = _KEY_TYPES[by] if typed_key else None
            function = f.ShowStates(f.StatesAndTimers(states, timers, ordered), fails, side)
            return first.key_by(f.KeyOf(by), key_type).process(function, on_error=_on_error(fails))
        case p.KeyedMap(how, by, states, fails):
            kind = {"map": f.MapStates, "flat_map": f.FlatMapStates, "filter": f.FilterStates}[how]
            return getattr(first.key_by(f.KeyOf(by)), how)(kind(states, fails), on_error=_on_error(fails))
        case p.KeyedCoMap(flat, by, states, fails):
            keyed: Any = first.connect(inputs[1]).key_by(f.KeyOf(by), f.KeyOf(by))
            if flat:
                return keyed.flat_map(f.FlatMapInputs(states, fails), on_error=_on_error(fails))
            return keyed.map(f.MapInputs(states, fails), on_error=_on_error(fails))
        case p.Reduce(by, how):
            keyed = first.key_by(f.KeyOf(by))
            return keyed.reduce(f.Total()) if how == "reduce" else getattr(keyed, how)(1)
        case p.Buffer(by, kind, every):
            return first.key_by(f.KeyOf(by)).process(f.EmitSorted(kind, every))
        case p.Window():
            return _window(operation, first, ordered, uid)
        case p.Match():
            return match_stream(operation, first, _on_error(operation.fails))
        case p.Connect(by, states, timers, fails):
            connected = first.connect(inputs[1]).key_by(f.KeyOf(by), f.KeyOf(by))
            return connected.process(f.ShowInputs(f.StatesAndTimers(states, timers), fails), on_error=_on_error(fails))
        case p.IntervalJoin():
            return _interval_join(operation, first, inputs[1])
        case p.CoMap(flat):
            both: Any = first.connect(inputs[1])
            return both.flat_map(f.FlatMapBoth()) if flat else both.map(f.MapBoth())
        case p.CoProcess(_, fails):
            return first.connect(inputs[1]).process(f.ProcessBoth(operation), on_error=_on_error(fails))
        case p.WindowJoin(assigner, by, lateness, flat):
            joined = first.join(inputs[1]).where(f.KeyOf(by)).equal_to(f.KeyOf(by)).window(window_assigner(assigner))
            pairs: Any = joined.allowed_lateness(lateness)
            return pairs.apply(f.JoinFlat() if flat else f.JoinPair())
        case p.CoGroup():
            return _co_group(operation, first, inputs[1], ordered)
        case p.Broadcast(by):
            # Every subtask emits the output of the broadcast side, so their number must not depend on the parallelism of the job.
            rules = inputs[1].broadcast(f.rules_descriptor(operation))
            if by is None:
                return first.connect(rules).process(f.ShowRules(operation)).set_parallelism(2)
            keyed_rules = first.key_by(f.KeyOf(by)).connect(rules)
            shown = keyed_rules.process(f.ShowKeyedRules(operation), on_error=_on_error(operation.fails))
            return shown.set_parallelism(2)
    raise AssertionError(f"unknown operation {operation}")


_KEY_TYPES = {"key": str, "number": int, "pair": Types.TUPLE([Types.STRING(), Types.LONG()])}


def _on_error(fails: int) -> Any:
    return "dead_letter" if fails else "fail"


def side_outputs(operation: p.Operation) -> list[str]:
    """Returns the tags of the side outputs of an operation."""
    match operation:
        case p.Separate() | p.Process(side=True) | p.CoProcess(side=True):
            return ["side"]
        case p.Window(late_output=True):
            return ["late"]
        case p.IntervalJoin(late_output=True):
            return ["left", "right"]
        case p.Match():
            return ["late"] * operation.late_output + ["timeout"] * operation.timeouts
    return []


def watermark_strategy(watermarks: p.Watermarks) -> WatermarkStrategy | None:
    match watermarks:
        case p.Monotonous():
            return WatermarkStrategy.for_monotonous_timestamps()
        case p.Bounded(delay):
            return WatermarkStrategy.for_bounded_out_of_orderness(delay)
        case p.Punctuated():
            return WatermarkStrategy.for_generator(f.EveryThird)
        case p.Ingestion():
            return WatermarkStrategy.for_ingestion_time()
        case p.Explicit():
            return None


# -- windows


def window_assigner(assigner: p.Assigner) -> WindowAssigner[Any, Any]:
    match assigner:
        case p.Tumbling(size, offset, time):
            return (TumblingEventTimeWindows if time == "event" else TumblingProcessingTimeWindows).of(size, offset)
        case p.Sliding(size, slide, time):
            return (SlidingEventTimeWindows if time == "event" else SlidingProcessingTimeWindows).of(size, slide)
        case p.Session(gap, time, True):
            dynamic = DynamicEventTimeSessionWindows if time == "event" else DynamicProcessingTimeSessionWindows
            return dynamic(f.GapOf(gap))
        case p.Session(gap, time):
            return (EventTimeSessionWindows if time == "event" else ProcessingTimeSessionWindows).with_gap(gap)
        case p.Counted(size, slide):
            return CountSlidingWindowAssigner(size, slide) if slide else CountTumblingWindowAssigner(size)
        case p.Global():
            return GlobalWindows.create()


def window_trigger(spec: p.TriggerSpec) -> Trigger[Any, Any]:
    trigger = _trigger(spec.kind, spec.length)
    return PurgingTrigger.of(trigger) if spec.purging else trigger


def _trigger(kind: str, length: int) -> Trigger[Any, Any]:
    match kind:
        case "event":
            return EventTimeTrigger.create()
        case "processing":
            return ProcessingTimeTrigger.create()
        case "count":
            return CountTrigger.of(length)
        case "delta":
            return DeltaTrigger.of(length, f.NumberDifference())
        case "continuous event":
            return ContinuousEventTimeTrigger.of(length)
        case "continuous processing":
            return ContinuousProcessingTimeTrigger.of(length)
        case "early":
            return EarlyFiringTrigger.of(length)
        case "timeout":
            return ProcessingTimeoutTrigger.of(CountTrigger.of(3), length)
    return EndOfStreamTrigger()


def window_evictor(spec: p.EvictorSpec) -> Evictor:
    match spec.kind:
        case "count":
            return CountEvictor.of(spec.length, spec.after)
        case "time":
            return TimeEvictor.of(spec.length, spec.after)
    return DeltaEvictor.of(spec.length, f.NumberDifference(), spec.after)


def _window(spec: p.Window, stream: DataStream[Any], ordered: bool, uid: str) -> Any:
    assigner = window_assigner(spec.assigner)
    windows: Any = stream.window_all(assigner) if spec.by is None else stream.key_by(f.KeyOf(spec.by)).window(assigner)
    if spec.trigger is not None:
        windows = windows.trigger(window_trigger(spec.trigger))
    if spec.evictor is not None:
        windows = windows.evictor(window_evictor(spec.evictor))
    if spec.lateness:
        windows = windows.allowed_lateness(spec.lateness)
    if spec.late_output:
        windows = windows.side_output_late_data(f.LATE)
    process = (f.ProcessAllWindow if spec.by is None else f.ProcessWindow)(ordered, spec)
    apply = (f.ApplyAllWindow if spec.by is None else f.ApplyWindow)(ordered, spec)
    on_error = _on_error(spec.fails)
    match spec.function:
        case "reduce":
            return windows.reduce(f.Sum(), apply, on_error=on_error)
        case "aggregate":
            return windows.aggregate(f.TotalAndCount(), process, on_error=on_error)
        case "process":
            return windows.process(process, on_error=on_error)
        case "apply":
            return windows.apply(apply, on_error=on_error)
        case "sum":
            return windows.reduce(f.Sum())
        case "named" if spec.by is not None:
            aggregates: dict[str, NamedAggregate[Any]] = {"n": count(), "total": sum_of(1), "highest": max_of(1)}
            return windows.aggregates(**aggregates).uid(f"{uid} aggregates").map(RowElement())
    return windows.reduce(f.Sum())


class RowElement:
    """Converts the row of named aggregates to an element."""

    def __call__(self, row: Any) -> Any:
        return str(row.key), row.total, f"[{row.window_start},{row.window_end}) {row.n} {row.highest}"


# -- joins


def _interval_join(spec: p.IntervalJoin, left: DataStream[Any], right: DataStream[Any]) -> Any:
    join: Any = left.key_by(f.KeyOf(spec.by)).interval_join(right.key_by(f.KeyOf(spec.by)))
    join = join.between(spec.lower, spec.upper)
    if spec.exclusive:
        join = join.lower_bound_exclusive().upper_bound_exclusive()
    if spec.late_output:
        join = join.side_output_left_late_data(f.LEFT).side_output_right_late_data(f.RIGHT)
    return join.process(f.ShowPair(spec.fails), on_error=_on_error(spec.fails))


def _co_group(spec: p.CoGroup, first: DataStream[Any], second: DataStream[Any], ordered: bool) -> Any:
    windows: Any = first.co_group(second).where(f.KeyOf(spec.by)).equal_to(f.KeyOf(spec.by))
    windows = windows.window(window_assigner(spec.assigner)).allowed_lateness(spec.lateness)
    if spec.trigger is not None:
        windows = windows.trigger(window_trigger(spec.trigger))
    if spec.evictor is not None:
        windows = windows.evictor(window_evictor(spec.evictor))
    return windows.apply(f.ShowGroups(spec.by, ordered, spec.fails), on_error=_on_error(spec.fails))
