"""The API of window joins and co_group."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import pytest

import penstock as ps
from penstock.errors import PlanError, UserFunctionError
from penstock.functions import TaggedUnion
from penstock.testing import At, Harness, PushSource
from penstock.windows import (
    CountTrigger,
    EventTimeSessionWindows,
    Evictor,
    GlobalWindows,
    PurgingTrigger,
    SlidingEventTimeWindows,
    Trigger,
    TriggerResult,
    TumblingEventTimeWindows,
    TumblingProcessingTimeWindows,
    WindowAssigner,
)

TEN = TumblingEventTimeWindows.of(10)


def streams(parallelism: int = 2) -> tuple[ps.StreamExecutionEnvironment, Any, Any]:
    env = ps.StreamExecutionEnvironment().set_parallelism(parallelism)
    return env, env.from_source(PushSource(), None, "views"), env.from_source(PushSource(), None, "clicks")


def first(element: tuple[str, int]) -> str:
    return element[0]


def joined(views: Any, clicks: Any, assigner: WindowAssigner[Any, Any] = TEN) -> Any:
    return views.join(clicks).where(first).equal_to(first).window(assigner)


def grouped(views: Any, clicks: Any, assigner: WindowAssigner[Any, Any] = TEN) -> Any:
    return views.co_group(clicks).where(first).equal_to(first).window(assigner)


def pair(view: Any, click: Any) -> Any:
    return view[1], click[1]


def groups(views: list[Any], clicks: list[Any]) -> list[Any]:
    return [([v[1] for v in views], [c[1] for c in clicks])]


def push(harness: Harness, views: list[int] | None = None, clicks: list[int] | None = None, key: str = "a") -> None:
    """Elements whose value is their time, in one batch."""
    with harness.batch():
        harness.push_all([At((key, t), t) for t in views or ()], source="views")
        harness.push_all([At((key, t), t) for t in clicks or ()], source="clicks")


def watermark(harness: Harness, time: int) -> None:
    with harness.batch():
        harness.push_watermark(time, source="views")
        harness.push_watermark(time, source="clicks")


def test_a_window_emits_the_pairs_of_each_key_with_its_maximum_timestamp() -> None:
    env, views, clicks = streams()
    harness = Harness(env)
    out = harness.collect(joined(views, clicks).apply(pair))
    push(harness, [1, 2, 11], [3, 12])
    push(harness, [4], [], key="b")
    assert out == []
    watermark(harness, 9)
    assert out.records == [At((1, 3), 9), At((2, 3), 9)]
    harness.end()
    assert out.records[2:] == [At((11, 12), 19)]


def test_groups_may_be_empty_on_one_side() -> None:
    env, views, clicks = streams()
    harness = Harness(env)
    out = harness.collect(grouped(views, clicks).apply(groups))
    push(harness, [1, 2, 11], [3, 22])
    harness.end()
    assert out.records == [At(([1, 2], [3]), 9), At(([11], []), 19), At(([], [22]), 29)]


class Join(ps.JoinFunction):
    def open(self, runtime_context: ps.RuntimeContext) -> None:
        self.opened = runtime_context.get_task_name()

    def join(self, first: Any, second: Any) -> Any:
        return self.opened, first[1], second[1]


class FlatJoin(ps.FlatJoinFunction):
    def join(self, first: Any, second: Any) -> Iterable[Any] | None:
        return [first[1]] * (second[1] - first[1]) if second[1] > first[1] else None


class Groups(ps.CoGroupFunction):
    def open(self, runtime_context: ps.RuntimeContext) -> None:
        self.opened = True

    def co_group(self, first: Iterable[Any], second: Iterable[Any]) -> Iterator[Any]:
        assert self.opened
        yield len(list(first)), len(list(second))
        yield "one more"


def test_functions_of_classes() -> None:
    env, views, clicks = streams()
    harness = Harness(env)
    outs = [
        harness.collect(joined(views, clicks).apply(Join()).name("pairs")),
        harness.collect(joined(views, clicks).apply(FlatJoin())),
        harness.collect(grouped(views, clicks).apply(Groups())),
    ]
    push(harness, [1, 3], [3])
    harness.end()
    assert outs == [[("pairs", 1, 3), ("pairs", 3, 3)], [1, 1], [(2, 1), "one more"]]


def test_sliding_windows_and_sessions() -> None:
    env, views, clicks = streams()
    harness = Harness(env)
    sliding = harness.collect(grouped(views, clicks, SlidingEventTimeWindows.of(10, 5)).apply(groups))
    sessions = harness.collect(grouped(views, clicks, EventTimeSessionWindows.with_gap(5)).apply(groups))
    push(harness, [1, 9], [7])  # the view at 9 and the click at 7 are one session, and the one at 1 is another
    push(harness, [3], [])  # makes one of them all
    harness.end()
    assert sliding.records == [At(([1, 3], []), 4), At(([1, 9, 3], [7]), 9), At(([9], [7]), 14)]
    assert sessions.records == [At(([1, 9, 3], [7]), 13)]


def test_processing_time_windows_need_no_timestamps() -> None:
    env, views, clicks = streams()
    harness = Harness(env)
    out = harness.collect(joined(views, clicks, TumblingProcessingTimeWindows.of(10)).apply(pair))
    harness.push(("a", 1), source="views")
    harness.push(("a", 2), source="clicks")
    harness.set_time(9)
    assert out == [(1, 2)]


def test_late_elements_fire_again_within_the_allowed_lateness() -> None:
    env, views, clicks = streams()
    harness = Harness(env)
    out = harness.collect(joined(views, clicks).allowed_lateness(ps.Duration.of_millis(5)).apply(pair))
    push(harness, [1], [2])
    watermark(harness, 12)
    push(harness, [3], [])
    assert out.batches[1:] == [[(1, 2)], [(1, 2), (3, 2)]]
    watermark(harness, 14)
    push(harness, [4], [])
    assert harness.late_records() == 1
    assert len(out) == 3


class OnClick(Trigger[TaggedUnion[Any, Any], Any]):
    """Fires when an element of the second stream comes."""

    def on_element(self, element: TaggedUnion[Any, Any], timestamp: int, window: Any, ctx: Any) -> TriggerResult:
        return TriggerResult.FIRE if element.is_two() else TriggerResult.CONTINUE

    def on_event_time(self, time: int, window: Any, ctx: Any) -> TriggerResult:
        return TriggerResult.CONTINUE

    def on_processing_time(self, time: int, window: Any, ctx: Any) -> TriggerResult:
        return TriggerResult.CONTINUE

    def clear(self, window: Any, ctx: Any) -> None:
        """Nothing is kept."""


class LastView(Evictor):
    """Keeps the last element of the first stream, and all of the second."""

    def evict_before(self, elements: Any, size: int, window: Any, evictor_context: Any) -> None:
        views = [e for e in elements if e.value.is_one()]
        for old in views[:-1]:
            elements.remove(old)

    def evict_after(self, elements: Any, size: int, window: Any, evictor_context: Any) -> None:
        """Nothing more."""


def test_triggers_and_evictors_see_which_stream_an_element_is_of() -> None:
    env, views, clicks = streams()
    harness = Harness(env)
    out = harness.collect(
        grouped(views, clicks, GlobalWindows.create()).trigger(OnClick()).evictor(LastView()).apply(groups)
    )
    push(harness, [1, 2])
    push(harness, [], [3])
    push(harness, [4])
    push(harness, [], [5])
    assert out == [([2], [3]), ([4], [3, 5])]


def test_a_purging_trigger_starts_anew() -> None:
    env, views, clicks = streams()
    harness = Harness(env)
    windows = grouped(views, clicks, GlobalWindows.create()).trigger(PurgingTrigger.of(CountTrigger.of(2)))
    out = harness.collect(windows.apply(groups))
    push(harness, [1], [2])
    push(harness, [3, 4])
    assert out == [([1], [2]), ([3, 4], [])]


def test_a_stream_can_be_joined_with_itself() -> None:
    env, views, _ = streams()
    harness = Harness(env)
    out = harness.collect(joined(views, views).apply(pair))
    push(harness, [1, 2])
    harness.end()
    assert out == [(1, 1), (1, 2), (2, 1), (2, 2)]


def test_keys_of_keyed_streams_are_chosen_anew() -> None:
    env, views, clicks = streams()
    harness = Harness(env)
    out = harness.collect(joined(views.key_by(lambda e: e[1]), clicks).apply(pair))
    push(harness, [1, 2], [3])
    harness.end()
    assert out == [(1, 3), (2, 3)]


def test_state_survives_another_parallelism_and_other_key_groups() -> None:
    def program(parallelism: int) -> tuple[Harness, Any]:
        env, views, clicks = streams(parallelism)
        harness = Harness(env, max_parallelism=16 * parallelism)
        return harness, harness.collect(joined(views, clicks).apply(lambda v, c: v[0]).uid("join"))

    harness, out = program(1)
    for key in "abcdef":
        push(harness, [1], [], key)
    for parallelism, keys in ((3, "abc"), (2, "def")):
        saved = harness.snapshot()
        harness, out = program(parallelism)
        harness.restore(saved)
        for key in keys:
            push(harness, [], [2], key)
    harness.end()
    assert sorted(out) == list("abcdef")


def test_no_state_remains() -> None:
    for assigner in (TEN, SlidingEventTimeWindows.of(10, 5), EventTimeSessionWindows.with_gap(5)):
        env, views, clicks = streams(1)
        harness = Harness(env)
        harness.collect(joined(views, clicks, assigner).apply(pair))
        for start in range(0, 2000, 20):
            push(harness, [start, start + 3], [start + 1, start + 8])
            watermark(harness, start + 10)
        harness.end()
        assert len(harness.snapshot()) < 1500, assigner  # its elements would take more


def test_an_error_of_a_function_names_the_key() -> None:
    env, views, clicks = streams()
    harness = Harness(env)
    harness.collect(joined(views, clicks).apply(lambda view, click: view[1] / click[1]).name("ratio"))
    push(harness, [1], [0])
    with pytest.raises(UserFunctionError, match=r"(?s)'ratio'.*ZeroDivisionError.*test_joined_streams.py") as caught:
        harness.end()
    assert caught.value.failed is not None
    assert (caught.value.failed.key, caught.value.failed.timer) == ("'a'", 9)


def test_dead_letters_of_windows_and_of_keys() -> None:
    env, views, clicks = streams()
    harness = Harness(env)
    windows = views.join(clicks).where(first, on_error="dead_letter").equal_to(first).window(TEN)
    result = windows.apply(lambda view, click: view[1] / click[1], on_error="dead_letter")
    out, dead = harness.collect(result), harness.collect(result.get_side_output(ps.DEAD_LETTERS))
    without_key = harness.collect(windows.stream1.get_side_output(ps.DEAD_LETTERS))
    push(harness, [1], [0])
    push(harness, [1], [2], key="b")
    harness.push(None, 3, source="views")
    harness.end()
    assert out == [0.5]
    assert [(letter.key, letter.error) for letter in dead] == [("a", "ZeroDivisionError")]
    assert [letter.element for letter in without_key] == [None]


NO_MERGE = OnClick()


@pytest.mark.parametrize(
    ("wrong", "code"),
    [
        (lambda v, c: v.join(None), "JOINED_STREAM"),
        (lambda v, c: v.co_group([1]), "JOINED_STREAM"),
        (lambda v, c: v.join(streams()[1]), "TWO_ENVIRONMENTS"),
        (lambda v, c: v.join(c).where("user"), "FUNCTION_TYPE"),
        (lambda v, c: v.join(c).where(first).equal_to(None), "FUNCTION_TYPE"),
        (lambda v, c: v.join(c).where(first, ps.Types.STRING()).equal_to(first, ps.Types.LONG()), "JOIN_KEY_TYPES"),
        (lambda v, c: v.join(c).where(first).equal_to(first).window(10), "WINDOW_SETTING"),
        (lambda v, c: v.join(c).where(first).equal_to(first).window(TumblingEventTimeWindows), "WINDOW_SETTING"),
        (lambda v, c: joined(v, c, TumblingEventTimeWindows.of(0)), "WINDOW_SIZE"),
        (lambda v, c: joined(v, c).trigger(CountTrigger), "WINDOW_SETTING"),
        (lambda v, c: joined(v, c).evictor(3), "WINDOW_SETTING"),
        (lambda v, c: joined(v, c).allowed_lateness(-1), "ALLOWED_LATENESS"),
        (lambda v, c: joined(v, c, EventTimeSessionWindows.with_gap(5)).trigger(NO_MERGE), "TRIGGER_CANNOT_MERGE"),
        (lambda v, c: joined(v, c).apply(Join), "FUNCTION_TYPE"),
        (lambda v, c: joined(v, c).apply(Groups()), "FUNCTION_TYPE"),
        (lambda v, c: grouped(v, c).apply(Join()), "FUNCTION_TYPE"),
        (lambda v, c: grouped(v, c).apply(None), "FUNCTION_TYPE"),
        (lambda v, c: joined(v, c).apply(lambda view: view), "FUNCTION_ARGUMENTS"),
        (lambda v, c: grouped(v, c).apply(lambda views, clicks, window: []), "FUNCTION_ARGUMENTS"),
    ],
)
def test_wrong_arguments_raise_an_error(wrong: Any, code: str) -> None:
    _, views, clicks = streams()
    with pytest.raises(PlanError) as caught:
        wrong(views, clicks)
    assert caught.value.code == code


def test_types_are_read_from_the_function() -> None:
    def number(one: Any, two: Any) -> int:
        return 1

    def numbers(one: list[Any], two: list[Any]) -> Iterator[int]:
        yield 1

    _, views, clicks = streams()
    assert joined(views, clicks).apply(number).get_type() == ps.Types.of(int)
    assert grouped(views, clicks).apply(numbers).get_type() == ps.Types.of(int)
    assert joined(views, clicks).apply(pair, ps.Types.STRING()).get_type() == ps.Types.STRING()


def test_settings_do_not_change_the_original_windows() -> None:
    env, views, clicks = streams()
    windows = joined(views, clicks)
    windows.allowed_lateness(5)
    harness = Harness(env)
    out = harness.collect(windows.apply(pair))
    watermark(harness, 9)
    push(harness, [1], [2])
    assert (out, harness.late_records()) == ([], 2)


def test_batch_mode_emits_the_same_results() -> None:
    found = []
    for batch_mode in (False, True):
        env, views, clicks = streams()
        harness = Harness(env, batch_mode=batch_mode)
        outs = [
            harness.collect(joined(views, clicks, assigner).apply(pair))
            for assigner in (TEN, EventTimeSessionWindows.with_gap(3))
        ]
        near = views.key_by(first).interval_join(clicks.key_by(first)).between(-2, 2)
        outs.append(harness.collect(near.process(lambda view, click, ctx: [pair(view, click)])))
        push(harness, [1, 12, 30], [2, 11, 25])
        harness.end()
        found.append([sorted(out) for out in outs])
    assert found[0] == found[1]
    assert all(found[0])
