"""A window job in two forms, columnar and element by element. Both must have the same results."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from penstock.connectors import At, Mark, ScriptedSource, Step
from penstock.datastream import DataStream, StreamExecutionEnvironment
from penstock.functions import OutputTag, ProcessWindowFunction
from penstock.functions.named_aggregates import NamedAggregate, NamedAggregates
from penstock.state import ValueStateDescriptor
from penstock.testing import Harness
from penstock.time import WatermarkStrategy
from penstock.types import Types

UID = "windows"
LATE: OutputTag[Any] = OutputTag("late")


class Event(NamedTuple):
    key: str
    value: Any
    other: Any = 0


class CustomAggregate(NamedAggregate[Any]):
    """A named aggregate that the plan does not recognise, so it is computed element by element."""


class CustomAggregates(NamedAggregates):
    """Several named aggregates that the plan does not recognise."""


def as_custom_aggregate(aggregate: Any) -> Any:
    if isinstance(aggregate, NamedAggregates):
        custom = CustomAggregates(n=NamedAggregate("count"))
        custom.names, custom.aggregates = aggregate.names, aggregate.aggregates
        return custom
    return CustomAggregate(aggregate.kind, aggregate.field)


class WindowDetails(ProcessWindowFunction[Any, Any, Any, Any]):
    """Emits everything that a window function can see, and counts firings in the window state."""

    def process(self, key: Any, context: Any, elements: Any) -> Any:
        fired = context.window_state().get_state(FIRED)
        fired.update((fired.value() or 0) + 1)
        window = context.window()
        yield key, window.start, window.end, *elements, context.current_watermark(), fired.value()

    def clear(self, context: Any) -> None:
        context.window_state().get_state(FIRED).clear()


class SessionDetails(ProcessWindowFunction[Any, Any, Any, Any]):
    """The same for merging windows, which have no window state."""

    def process(self, key: Any, context: Any, elements: Any) -> Any:
        window = context.window()
        seen = context.global_state().get_state(FIRED)
        seen.update((seen.value() or 0) + 1)
        yield key, window.start, window.end, *elements, context.current_watermark(), seen.value()


FIRED = ValueStateDescriptor("fired", Types.LONG())


@dataclass
class Job:
    """Windows of an aggregate over scripted splits."""

    assigner: Any
    aggregate: Any
    steps: list[Step]
    trigger: Any = None
    delay: int | None = 0
    function: Any = field(default_factory=WindowDetails)
    known: tuple[str, ...] = ("s0", "s1")
    downstream: Callable[[DataStream[Any]], DataStream[Any]] | None = None
    lateness: int = 0
    late_output: bool = False

    def env(self, columnar: bool, groups: int) -> tuple[StreamExecutionEnvironment, DataStream[Any]]:
        env = StreamExecutionEnvironment()
        env.set_parallelism(groups)
        strategy = None if self.delay is None else WatermarkStrategy.for_bounded_out_of_orderness(self.delay)
        events = env.from_source(ScriptedSource(self.steps, known=self.known), strategy)
        windows = events.key_by(lambda e: e.key).window(self.assigner)
        if self.trigger is not None:
            windows = windows.trigger(self.trigger)
        if self.lateness:
            windows = windows.allowed_lateness(self.lateness)
        if self.late_output:
            windows = windows.side_output_late_data(LATE)
        aggregate = self.aggregate if columnar else as_custom_aggregate(self.aggregate)
        out = windows.aggregate(aggregate, self.function).uid(UID)
        if self.late_output:
            out = out.map(lambda v: ("taken", v)).union(out.get_side_output(LATE).map(lambda v: ("late", v)))
        return env, out if self.downstream is None else self.downstream(out)

    def run(self, columnar: bool, groups: int = 1, restores: dict[int, int] | None = None, seed: int = 0) -> Outcome:
        """Runs all batches. Before those in `restores` the job is restored with another number of slots."""
        harness, out = self._harness(columnar, groups, seed)
        outcome = Outcome([], [], 0)
        for batch in range(len(self.steps)):
            if restores and batch in restores:
                saved = harness.snapshot()
                late = harness.late_records()
                harness, out = self._harness(columnar, restores[batch], seed)
                harness.restore(saved)
                outcome.late_records += late
            harness.run(max_batches=1)
            outcome.outputs.append([(r.value, r.timestamp) for r in out.records])
            out.records.clear()
            outcome.watermarks.append(harness.watermark(UID))
        outcome.late_records += harness.late_records()
        running = next(o for o in harness.job.program.operators if o.uid == UID)
        assert (running.aggregation is not None) is columnar
        outcome.state_entries = sum(len(s.entries) for s in harness.job.states().values())
        outcome.next_wake = harness.next_wake()
        return outcome

    def _harness(self, columnar: bool, groups: int, seed: int) -> tuple[Harness, Any]:
        env, stream = self.env(columnar, groups)
        harness = Harness(env, seed=seed)
        return harness, harness.collect(stream)


@dataclass
class Outcome:
    """The results of each batch with timestamps, the number of late records, and the state entries at the end."""

    outputs: list[list[Any]]
    watermarks: list[int]
    late_records: int
    state_entries: int = 0
    next_wake: int | None = None

    def comparable(self) -> Any:
        """Returns everything that must be equal: results in order, watermarks, late records, and the next wake-up."""
        return self.outputs, self.watermarks, self.late_records, self.next_wake


def at(key: str, timestamp: int, value: Any = 1, other: Any = 0) -> At:
    return At(Event(key, value, other), timestamp)


__all__ = ["UID", "At", "Event", "Job", "Mark", "Outcome", "SessionDetails", "Step", "WindowDetails", "at"]
