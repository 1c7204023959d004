"""One window job in two forms: by columns, and element by element. Both must say the same."""

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


class OneByOne(NamedAggregate[Any]):
    """A named aggregate that nobody recognises."""


class AllOneByOne(NamedAggregates):
    """The same of several."""


def unrecognised(aggregate: Any) -> Any:
    if isinstance(aggregate, NamedAggregates):
        made = AllOneByOne(n=NamedAggregate("count"))
        made.names, made.aggregates = aggregate.names, aggregate.aggregates
        return made
    return OneByOne(aggregate.kind, aggregate.field)


class Told(ProcessWindowFunction[Any, Any, Any, Any]):
    """Shows all that a window function can see, and counts firings in the window's state."""

    def process(self, key: Any, context: Any, elements: Any) -> Any:
        fired = context.window_state().get_state(FIRED)
        fired.update((fired.value() or 0) + 1)
        window = context.window()
        yield key, window.start, window.end, *elements, context.current_watermark(), fired.value()

    def clear(self, context: Any) -> None:
        context.window_state().get_state(FIRED).clear()


class Shown(ProcessWindowFunction[Any, Any, Any, Any]):
    """The same for windows that merge, which have no state of their own."""

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
    function: Any = field(default_factory=Told)
    known: tuple[str, ...] = ("s0", "s1")
    then: Callable[[DataStream[Any]], DataStream[Any]] | None = None
    lateness: int = 0
    late_output: bool = False

    def env(self, vector: bool, groups: int) -> tuple[StreamExecutionEnvironment, DataStream[Any]]:
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
        aggregate = self.aggregate if vector else unrecognised(self.aggregate)
        out = windows.aggregate(aggregate, self.function).uid(UID)
        if self.late_output:
            out = out.map(lambda v: ("taken", v)).union(out.get_side_output(LATE).map(lambda v: ("late", v)))
        return env, out if self.then is None else self.then(out)

    def run(self, vector: bool, groups: int = 1, restores: dict[int, int] | None = None, seed: int = 0) -> Outcome:
        """All batches; before those in `restores` the job goes on with another number of slots."""
        harness, out = self._harness(vector, groups, seed)
        outcome = Outcome([], [], 0)
        for batch in range(len(self.steps)):
            if restores and batch in restores:
                saved = harness.snapshot()
                late = harness.late_records()
                harness, out = self._harness(vector, restores[batch], seed)
                harness.restore(saved)
                outcome.late += late
            harness.run(max_batches=1)
            outcome.outputs.append([(r.value, r.timestamp) for r in out.records])
            out.records.clear()
            outcome.watermarks.append(harness.watermark(UID))
        outcome.late += harness.late_records()
        running = next(o for o in harness.job.program.operators if o.uid == UID)
        assert (running.aggregation is not None) is vector
        outcome.left = sum(len(s.entries) for s in harness.job.states().values())
        outcome.wake = harness.next_wake()
        return outcome

    def _harness(self, vector: bool, groups: int, seed: int) -> tuple[Harness, Any]:
        env, stream = self.env(vector, groups)
        harness = Harness(env, seed=seed)
        return harness, harness.collect(stream)


@dataclass
class Outcome:
    """What came out of each batch, with timestamps; how many late records were counted; entries of state at the end."""

    outputs: list[list[Any]]
    watermarks: list[int]
    late: int
    left: int = 0
    wake: int | None = None

    def told(self) -> Any:
        """What must be equal: results in their order, watermarks, late records, and when the clock is needed next."""
        return self.outputs, self.watermarks, self.late, self.wake


def at(key: str, timestamp: int, value: Any = 1, other: Any = 0) -> At:
    return At(Event(key, value, other), timestamp)


__all__ = ["UID", "At", "Event", "Job", "Mark", "Outcome", "Shown", "Step", "Told", "at"]
