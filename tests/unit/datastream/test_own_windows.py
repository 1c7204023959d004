"""Custom window assigners, triggers and evictors, as in PyFlink and Flink."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from io import BytesIO
from typing import Any

import pytest

import penstock as ps
from penstock.connectors.scripted import At, Mark
from penstock.datastream import DataStream
from penstock.testing import Harness, PushSource
from penstock.windows import (
    CountEvictor,
    CountTrigger,
    CountWindow,
    CountWindowSerializer,
    EventTimeSessionWindows,
    EventTimeTrigger,
    Evictor,
    GlobalWindow,
    GlobalWindowSerializer,
    MergingWindowAssigner,
    TimestampedValue,
    TimeWindow,
    TimeWindowSerializer,
    Trigger,
    TriggerResult,
    TumblingEventTimeWindows,
    Window,
    WindowAssigner,
)
from tests.unit.datastream.words import Total, Word, added, keyed

TEN = TumblingEventTimeWindows.of(10)


def run(stream: DataStream[Any], *batches: list[Any]) -> list[Any]:
    """Runs batches, each after a restart from a snapshot with another parallelism."""
    saved: bytes | None = None
    out: list[Any] = []
    for number, batch in enumerate(batches):
        harness = Harness(stream.get_execution_environment(), parallelism=1 + number % 3)
        seen = harness.collect(stream)
        if saved is not None:
            harness.restore(saved)
        harness.push_all(batch)
        saved = harness.snapshot()
        out += seen
    return out


class Listed(ps.WindowFunction[Word, Any, str, Any]):
    def apply(self, key: str, window: Any, inputs: Iterable[Word]) -> Iterable[Any]:
        yield (*window.namespace(), [n for _, n in inputs])


# -- assigners


class Named(Window):
    """A window with a name, written as a plain class."""

    def __init__(self, name: str, until: int) -> None:
        super().__init__()
        self.name = name
        self.until = until

    def max_timestamp(self) -> int:
        return self.until

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Named) and other.namespace() == self.namespace()

    def __hash__(self) -> int:
        return hash(self.name)


class ByParity(WindowAssigner[Word, Named]):
    """Odd and even numbers of each ten milliseconds."""

    def assign_windows(self, element: Word, timestamp: int, context: Any) -> Collection[Named]:
        return [Named("odd" if element[1] % 2 else "even", timestamp - timestamp % 10 + 9)]

    def get_default_trigger(self, env: Any) -> Trigger[Any, Any]:
        return EventTimeTrigger.create()

    def is_event_time(self) -> bool:
        return True


def test_custom_window_class() -> None:
    items = [At(("a", n), n) for n in (1, 2, 3, 4, 15)]
    found = run(keyed().window(ByParity()).apply(Listed()), items, [Mark(9)], [Mark(19)])
    assert sorted(found) == [("even", 9, [2, 4]), ("odd", 9, [1, 3]), ("odd", 19, [15])]
    assert found[-1][1] == 19


class OldSessions(MergingWindowAssigner):  # type: ignore[type-arg]
    """Sessions as in PyFlink, with custom merging and serialization."""

    def __init__(self, gap: int) -> None:
        self.gap = gap

    def merge_windows(self, windows: Iterable[TimeWindow], callback: Any) -> None:
        TimeWindow.merge_windows(windows, callback)

    def assign_windows(self, element: Any, timestamp: int, context: Any) -> Collection[TimeWindow]:
        return [TimeWindow(timestamp, timestamp + self.gap)]

    def get_default_trigger(self, env: Any) -> Trigger[Any, Any]:
        return EventTimeTrigger()

    def get_window_serializer(self) -> TimeWindowSerializer:
        return TimeWindowSerializer()

    def is_event_time(self) -> bool:
        return True


def test_custom_merging_windows_are_sessions() -> None:
    items = [[At(("a", n), n) for n in part] for part in ([1, 20], [12, 8], [40])]
    batches: list[list[Any]] = [*items, [Mark(29)], [Mark(60)]]
    ours = run(keyed().window(EventTimeSessionWindows.with_gap(10)).apply(Listed()), *batches)
    theirs = run(keyed().window(OldSessions(10)).apply(Listed()), *batches)
    assert [(a, b, sorted(n)) for a, b, n in ours] == [(1, 30, [1, 8, 12, 20]), (40, 50, [40])]
    assert [(a, b, sorted(n)) for a, b, n in theirs] == [(a, b, sorted(n)) for a, b, n in ours]


class Numbered(WindowAssigner):  # type: ignore[type-arg]
    """Names the class of its windows by the serializer alone."""

    def assign_windows(self, element: Word, timestamp: int, context: Any) -> Collection[CountWindow]:
        return [CountWindow(element[1] % 2)]

    def get_default_trigger(self, env: Any) -> Trigger[Any, Any]:
        return CountTrigger.of(2)

    def get_window_serializer(self) -> CountWindowSerializer:
        return CountWindowSerializer()

    def is_event_time(self) -> bool:
        return False


def test_a_serializer_determines_the_window_class() -> None:
    found = run(keyed().window(Numbered()).apply(Listed()), [("a", 1), ("a", 2)], [("a", 3), ("a", 4)])
    assert found == [(1, [1, 3]), (0, [2, 4])]


@pytest.mark.parametrize(
    ("serializer", "window"),
    [
        (TimeWindowSerializer(), TimeWindow(-5, 10)),
        (CountWindowSerializer(), CountWindow(7)),
        (GlobalWindowSerializer(), GlobalWindow()),
        (ByParity().get_window_serializer(), Named("odd", 9)),
    ],
)
def test_serializers_round_trip(serializer: Any, window: Any) -> None:
    stream = BytesIO()
    serializer.serialize(window, stream)
    assert serializer.deserialize(BytesIO(stream.getvalue())) == window


# -- triggers


class Quiet(Trigger[Word, TimeWindow]):
    """Fires five milliseconds before the end, with the sum of the numbers so far in its state; then purges at the end."""

    total = ps.ReducingStateDescriptor("total", max, int)

    def on_element(
        self, element: Word, timestamp: int, window: TimeWindow, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        ctx.get_partitioned_state(self.total).add(element[1])
        ctx.get_metric_group().counter("asked").inc()
        ctx.register_event_time_timer(window.end - 5)
        return TriggerResult.PURGE if element[1] < 0 else TriggerResult.CONTINUE

    def on_event_time(self, time: int, window: TimeWindow, ctx: Trigger.TriggerContext) -> TriggerResult:
        large = (ctx.get_partitioned_state(self.total).get() or 0) > 3
        return TriggerResult.FIRE if large and time == window.end - 5 else TriggerResult.CONTINUE

    def on_processing_time(self, time: int, window: TimeWindow, ctx: Trigger.TriggerContext) -> TriggerResult:
        return TriggerResult.CONTINUE

    def can_merge(self) -> bool:
        return True

    def on_merge(self, window: TimeWindow, ctx: Trigger.OnMergeContext) -> None:
        ctx.merge_partitioned_state(self.total)
        ctx.register_event_time_timer(window.end - 5)

    def clear(self, window: TimeWindow, ctx: Trigger.TriggerContext) -> None:
        ctx.delete_event_time_timer(window.end - 5)
        ctx.get_partitioned_state(self.total).clear()


def test_a_trigger_with_state_timers_and_merging() -> None:
    windows = keyed().window(EventTimeSessionWindows.with_gap(10)).trigger(Quiet())
    batches: list[list[Any]] = [
        [At(("a", 4), 0), At(("b", 2), 0)],
        [At(("a", 1), 8), At(("b", 1), 8)],
        [Mark(12)],
        [Mark(13)],
        [Mark(30)],
    ]
    assert run(windows.apply(Listed()), *batches) == [(0, 18, [4, 1])]


def test_a_trigger_that_purges_keeps_the_window() -> None:
    windows = keyed().window(TEN).trigger(Quiet())
    assert run(windows.apply(Listed()), [At(("a", 4), 0)], [At(("a", -1), 1)], [At(("a", 5), 2), Mark(9)]) == [
        (0, 10, [5])
    ]


def test_a_trigger_counts_with_metrics() -> None:
    stream = keyed().window(TEN).trigger(Quiet()).reduce(added)
    harness = Harness(stream.get_execution_environment())
    harness.push_all([At(("a", 1), 1), At(("b", 1), 1)])
    assert "asked" in str(harness.metrics)


# -- evictors


@dataclass(frozen=True)
class Negatives(Evictor):
    """Takes negative numbers out before the function, and the largest after it."""

    def evict_before(
        self, elements: list[TimestampedValue], size: int, window: Window, ctx: Evictor.EvictorContext
    ) -> None:
        assert size == len(elements)
        assert all(e.has_timestamp() for e in elements)
        elements[:] = [e for e in elements if e.get_value()[1] >= 0]

    def evict_after(
        self, elements: list[TimestampedValue], size: int, window: Window, ctx: Evictor.EvictorContext
    ) -> None:
        assert size == len(elements)
        if elements:
            elements.remove(max(elements, key=lambda e: e.value[1]))


def test_custom_evictor() -> None:
    windows = keyed().window(TEN).trigger(CountTrigger.of(2)).evictor(Negatives())
    batches = [
        [At(("a", 5), 1), At(("a", -1), 2)],
        [At(("a", 3), 3), At(("a", 4), 4)],
        [At(("a", -2), 5), At(("a", 1), 6)],
    ]
    assert run(windows.apply(Listed()), *batches) == [(0, 10, [5]), (0, 10, [3, 4]), (0, 10, [3, 1])]


def test_evictors_with_reduce_and_aggregate_get_all_elements() -> None:
    def windows() -> Any:
        return keyed().window(TEN).trigger(CountTrigger.of(2)).evictor(CountEvictor.of(3))

    batches = [[At(("a", n), n) for n in (1, 2)], [At(("a", n), n) for n in (3, 4)]]
    assert run(windows().reduce(added), *batches) == [("a", 3), ("a", 9)]
    typed = windows().aggregate(Total(), accumulator_type=ps.Types.LONG(), output_type=ps.Types.LONG())
    assert run(typed, *batches) == [3, 9]


def test_declared_elements_keep_their_type() -> None:
    declared = ps.Types.TUPLE([ps.Types.STRING(), ps.Types.INT()])
    words = ps.StreamExecutionEnvironment().from_source(PushSource()).map(lambda w: w, declared)
    windows = words.key_by(lambda word: word[0]).window(TEN)
    batches: list[list[Any]] = [[At(("a", 1), 1)], [At(("a", 2), 2)], [Mark(9)]]
    assert run(windows.apply(Listed()), *batches) == [(0, 10, [1, 2])]
    assert run(windows.reduce(added), *batches) == [("a", 3)]
    assert run(windows.evictor(CountEvictor.of(1)).apply(Listed()), *batches) == [(0, 10, [2])]
