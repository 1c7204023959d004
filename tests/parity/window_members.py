"""Calls of window names that exist only inside a running job: window functions, triggers, assigners, contexts."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

import penstock as ps
from penstock import windows
from penstock.testing import Harness, PushSource
from tests.parity import samples
from tests.parity.lookup import find
from tests.parity.member_calls import BUILT, MISSING, Verdict, call, call_all
from tests.parity.names import members

_VERDICTS: dict[str, Verdict] = {}


def verdicts() -> dict[str, Verdict]:
    """Runs all jobs and returns the results."""
    _VERDICTS.clear()
    _run_functions()
    _run_triggers()
    _run_sessions()
    return dict(_VERDICTS)


def _mark_called(name: str) -> None:
    _VERDICTS[name] = Verdict(BUILT)


def _call(owner: str, target: Any, member: str, *given: Any) -> None:
    """Calls a member with arguments from a running job."""
    for name in members(owner):
        if name.member == member:
            _VERDICTS[str(name)] = Verdict(MISSING) if target is None else call(name, target, given)


# -- functions


class Apply(ps.WindowFunction):
    def apply(self, key: Any, window: Any, inputs: Iterable[Any]) -> Iterable[Any]:
        _mark_called("WindowFunction.apply")
        return [key]


class ApplyAll(ps.AllWindowFunction):
    def apply(self, window: Any, inputs: Iterable[Any]) -> Iterable[Any]:
        _mark_called("AllWindowFunction.apply")
        return [1]


class Process(ps.ProcessWindowFunction):
    def process(self, key: Any, context: Any, elements: Iterable[Any]) -> Iterable[Any]:
        _mark_called("ProcessWindowFunction.process")
        _VERDICTS.update(call_all("ProcessWindowFunction.Context", context))
        return [key]

    def clear(self, context: Any) -> None:
        _mark_called("ProcessWindowFunction.clear")


class ProcessAll(ps.ProcessAllWindowFunction):
    def process(self, context: Any, elements: Iterable[Any]) -> Iterable[Any]:
        _mark_called("ProcessAllWindowFunction.process")
        _VERDICTS.update(call_all("ProcessAllWindowFunction.Context", context))
        return [1]

    def clear(self, context: Any) -> None:
        _mark_called("ProcessAllWindowFunction.clear")


def _run_functions() -> None:
    env = ps.StreamExecutionEnvironment()
    stream = env.from_source(PushSource())
    keyed = stream.key_by(samples.First())
    keyed.window(samples.tumbling()).apply(Apply())
    keyed.window(samples.tumbling()).process(Process())
    stream.window_all(samples.tumbling()).apply(ApplyAll())
    stream.window_all(samples.tumbling()).process(ProcessAll())
    for owner, given in (
        ("PassThroughWindowFunction", ("a", None, [1])),
        ("PassThroughAllWindowFunction", (None, [1])),
    ):
        found = find(owner)
        _call(owner, None if found is None else found(), "apply", *given)
    with Harness(env) as harness:
        harness.push(("a", 1), 1)
        harness.push_watermark(2000)


# -- triggers and assigners


def triggers() -> dict[str, Any]:
    """One of each of PyFlink's triggers."""
    of_a_second = (ps.Time.seconds(1),)
    made: dict[str, tuple[str, tuple[Any, ...]]] = {
        "EventTimeTrigger": ("create", ()),
        "ProcessingTimeTrigger": ("create", ()),
        "ContinuousEventTimeTrigger": ("of", of_a_second),
        "ContinuousProcessingTimeTrigger": ("of", of_a_second),
        "PurgingTrigger": ("of", (windows.EventTimeTrigger.create(),)),
        "CountTrigger": ("of", (2,)),
        "NeverTrigger": ("__call__", ()),
    }
    return {owner: _made(owner, how, given) for owner, (how, given) in made.items() if find(owner) is not None}


def _made(owner: str, how: str, given: tuple[Any, ...]) -> Any:
    return find(owner)(*given) if how == "__call__" else getattr(find(owner), how)(*given)


def assigners() -> dict[str, Any]:
    """One of each of PyFlink's assigners."""
    gap = samples.Gap()
    return {
        "CountTumblingWindowAssigner": windows.CountTumblingWindowAssigner.of(2),
        "CountSlidingWindowAssigner": windows.CountSlidingWindowAssigner.of(4, 2),
        "TumblingProcessingTimeWindows": windows.TumblingProcessingTimeWindows.of(ps.Time.seconds(1)),
        "TumblingEventTimeWindows": windows.TumblingEventTimeWindows.of(ps.Time.seconds(1)),
        "SlidingProcessingTimeWindows": windows.SlidingProcessingTimeWindows.of(ps.Time.seconds(2), ps.Time.seconds(1)),
        "SlidingEventTimeWindows": windows.SlidingEventTimeWindows.of(ps.Time.seconds(2), ps.Time.seconds(1)),
        "ProcessingTimeSessionWindows": windows.ProcessingTimeSessionWindows.with_gap(ps.Time.seconds(1)),
        "EventTimeSessionWindows": windows.EventTimeSessionWindows.with_gap(ps.Time.seconds(1)),
        "DynamicProcessingTimeSessionWindows": windows.DynamicProcessingTimeSessionWindows.with_dynamic_gap(gap),
        "DynamicEventTimeSessionWindows": windows.DynamicEventTimeSessionWindows.with_dynamic_gap(gap),
        "GlobalWindows": windows.GlobalWindows.create(),
    }


class Looking(windows.Trigger[Any, Any]):
    """Calls all triggers with the contexts that it gets itself."""

    def on_element(self, element: Any, timestamp: int, window: Any, ctx: Any) -> windows.TriggerResult:
        _mark_called("Trigger.on_element")
        _VERDICTS.update(call_all("Trigger.TriggerContext", ctx))
        for owner, trigger in triggers().items():
            _call(owner, trigger, "on_element", element, timestamp, window, ctx)
            _call(
                owner,
                trigger,
                "register_next_fire_timestamp",
                0,
                window,
                ctx,
                ctx.get_partitioned_state(samples.REDUCED),
            )
        ctx.register_event_time_timer(window.max_timestamp())
        ctx.register_processing_time_timer(ctx.get_current_processing_time() + 1)
        return windows.TriggerResult.CONTINUE

    def on_event_time(self, time: int, window: Any, ctx: Any) -> windows.TriggerResult:
        _mark_called("Trigger.on_event_time")
        for owner, trigger in triggers().items():
            _call(owner, trigger, "on_event_time", time, window, ctx)
        return windows.TriggerResult.FIRE

    def on_processing_time(self, time: int, window: Any, ctx: Any) -> windows.TriggerResult:
        _mark_called("Trigger.on_processing_time")
        for owner, trigger in triggers().items():
            _call(owner, trigger, "on_processing_time", time, window, ctx)
        return windows.TriggerResult.CONTINUE

    def can_merge(self) -> bool:
        _mark_called("Trigger.can_merge")
        return True

    def on_merge(self, window: Any, ctx: Any) -> None:
        _mark_called("Trigger.on_merge")
        _call("Trigger.OnMergeContext", ctx, "merge_partitioned_state", samples.REDUCED)
        for owner, trigger in triggers().items():
            _call(owner, trigger, "on_merge", window, ctx)

    def clear(self, window: Any, ctx: Any) -> None:
        _mark_called("Trigger.clear")
        for owner, trigger in triggers().items():
            _call(owner, trigger, "clear", window, ctx)


class OneSecond(windows.WindowAssigner[Any, windows.TimeWindow]):
    """Calls all assigners with the context that it gets itself."""

    def assign_windows(self, element: Any, timestamp: int, context: Any) -> Collection[windows.TimeWindow]:
        _mark_called("WindowAssigner.assign_windows")
        _VERDICTS.update(call_all("WindowAssigner.WindowAssignerContext", context))
        for owner, assigner in assigners().items():
            _call(owner, assigner, "assign_windows", element, timestamp, context)
        return [windows.TimeWindow(0, 1000)]

    def get_default_trigger(self, env: Any = None) -> Any:
        _mark_called("WindowAssigner.get_default_trigger")
        return Looking()

    def is_event_time(self) -> bool:
        _mark_called("WindowAssigner.is_event_time")
        return True


class Sessions(windows.MergingWindowAssigner[Any, windows.TimeWindow]):
    """Windows that merge, by a method of its own."""

    def assign_windows(self, element: Any, timestamp: int, context: Any) -> Collection[windows.TimeWindow]:
        return [windows.TimeWindow(timestamp, timestamp + 100)]

    def get_default_trigger(self, env: Any = None) -> Any:
        return Looking()

    def is_event_time(self) -> bool:
        return True

    def merge_windows(self, windows: Iterable[Any], callback: Any) -> None:
        _mark_called("MergingWindowAssigner.merge_windows")
        given = sorted(windows, key=lambda window: int(window.start))
        if len(given) > 1 and given[1].start < given[0].end:
            _call("MergingWindowAssigner.MergeCallback", callback, "merge", given[:2], given[0].cover(given[1]))


class Gap(windows.SessionWindowTimeGapExtractor):
    def extract(self, element: Any) -> int:
        _mark_called("SessionWindowTimeGapExtractor.extract")
        return 100


def _run_triggers() -> None:
    env = ps.StreamExecutionEnvironment()
    env.from_source(PushSource()).key_by(samples.First()).window(OneSecond()).process(Process())
    with Harness(env) as harness:
        harness.push(("a", 1), 1)
        harness.advance_time(10)
        harness.push_watermark(2000)


def _run_sessions() -> None:
    env = ps.StreamExecutionEnvironment()
    keyed = env.from_source(PushSource()).key_by(samples.First())
    keyed.window(Sessions()).process(samples.ProcessWindow())
    keyed.window(windows.EventTimeSessionWindows.with_dynamic_gap(Gap())).process(samples.ProcessWindow())
    with Harness(env) as harness:
        harness.push(("a", 1), 1)
        harness.push(("a", 1), 50)
        harness.push_watermark(2000)
