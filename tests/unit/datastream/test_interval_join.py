"""The API of interval joins. The tests of the operator are in tests/unit/runtime."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import timedelta
from typing import Any

import pytest

import penstock as ps
from penstock.errors import PlanError, TimeError, UnsupportedOperation, UserFunctionError
from penstock.functions import JoinContext
from penstock.testing import At, Harness, Mark, PushSource

VIEWS_LATE, CLICKS_LATE, FAR = ps.OutputTag("views late"), ps.OutputTag("clicks late"), ps.OutputTag("far")


def streams(parallelism: int = 2) -> tuple[ps.StreamExecutionEnvironment, Any, Any]:
    env = ps.StreamExecutionEnvironment().set_parallelism(parallelism)
    views, clicks = (env.from_source(PushSource(), None, name) for name in ("views", "clicks"))
    return env, views.key_by(lambda e: e[0]), clicks.key_by(lambda e: e[0])


class Delay(ps.ProcessJoinFunction):
    """How long after a view a click came; far ones aside."""

    def open(self, runtime_context: ps.RuntimeContext) -> None:
        self.opened = True

    def process_element(self, left: Any, right: Any, ctx: JoinContext) -> Iterator[Any]:
        assert self.opened
        delay = ctx.get_right_timestamp() - ctx.get_left_timestamp()
        if delay > 4:
            ctx.output(FAR, (left[0], delay))
        elif delay < -4:
            yield FAR, (left[0], delay)
        else:
            yield left[0], delay


def test_pairs_with_side_outputs_and_late_elements() -> None:
    env, views, clicks = streams()
    joined = views.interval_join(clicks).in_event_time().between(timedelta(milliseconds=-9), ps.Duration.of_millis(9))
    joined = joined.side_output_left_late_data(VIEWS_LATE).side_output_right_late_data(CLICKS_LATE).process(Delay())
    harness = Harness(env)
    out, far = harness.collect(joined), harness.collect(joined.get_side_output(FAR))
    late = [harness.collect(joined.get_side_output(tag)) for tag in (VIEWS_LATE, CLICKS_LATE)]
    harness.push_all([At(("a", "view"), 10), At(("b", "view"), 10)], source="views")
    harness.push_all([At(("a", "click"), 12), At(("a", "click"), 16), At(("a", "click"), 3)], source="clicks")
    assert out.records == [At(("a", 2), 12)]
    assert far.records == [At(("a", 6), 16), At(("a", -7), 10)]
    harness.push_watermark(14, source="views")
    harness.push_watermark(15, source="clicks")
    harness.push(("a", "late view"), 13, source="views")
    harness.push(("b", "late click"), 12, source="clicks")
    harness.push(("b", "click"), 14, source="clicks")
    assert late == [[("a", "late view")], [("b", "late click")]]
    assert out[1:] == [("b", 4)]


def test_late_elements_without_a_tag_are_counted() -> None:
    env, views, clicks = streams()
    harness = Harness(env)
    harness.collect(views.interval_join(clicks).between(0, 5).process(Delay()))
    for source in ("views", "clicks"):
        harness.push_watermark(10, source=source)
    harness.push_all([At(("a", 1), 9), At(("a", 2), 10)], source="views")
    assert harness.late_records() == 1


def test_bounds_can_be_exclusive() -> None:
    found = []
    for lower in (True, False):
        for upper in (True, False):
            env, views, clicks = streams()
            joined = views.interval_join(clicks).between(1, 3)
            joined = joined if lower else joined.lower_bound_exclusive()
            joined = joined if upper else joined.upper_bound_exclusive()
            harness = Harness(env)
            out = harness.collect(joined.process(lambda left, right, ctx: [right[1]]))
            harness.push(("a", 0), 0, source="views")
            harness.push_all([At(("a", t), t) for t in range(5)], source="clicks")
            found.append(list(out))
    assert found == [[1, 2, 3], [1, 2], [2, 3], [2]]


def test_a_stream_can_be_joined_with_itself() -> None:
    env, views, _ = streams()
    harness = Harness(env)
    out = harness.collect(views.interval_join(views).between(1, 5).process(lambda a, b, ctx: [(a[1], b[1])]))
    with harness.batch():
        harness.push_all([At(("a", t), t) for t in (1, 4, 8)], source="views")
    harness.push(("a", 9), 9, source="views")
    assert sorted(out) == [(1, 4), (4, 8), (4, 9), (8, 9)]


def test_state_survives_another_parallelism_and_other_key_groups() -> None:
    def program(parallelism: int) -> tuple[Harness, Any]:
        env, views, clicks = streams(parallelism)
        harness = Harness(env, max_parallelism=16 * parallelism)
        return harness, harness.collect(views.interval_join(clicks).between(0, 500).process(Delay()).uid("join"))

    harness, _ = program(1)
    harness.push_all([At((key, "view"), 10) for key in "abcdef"], source="views")
    for parallelism in (3, 2):
        saved = harness.snapshot()
        harness, out = program(parallelism)
        harness.restore(saved).push_all([At((key, "click"), 12) for key in "fedcba"], source="clicks")
        assert sorted(out) == [(key, 2) for key in "abcdef"]


def test_state_of_either_backend_is_dropped_with_its_time() -> None:
    for backend in ("hashmap", "rocksdb"):
        env, views, clicks = streams(1)
        env.configuration.set("state.backend.type", backend)
        harness = Harness(env)
        harness.collect(views.interval_join(clicks).between(-5, 1000).process(Delay()))
        for start in range(0, 10_000, 100):
            for source in ("views", "clicks"):
                with harness.batch():
                    harness.push_all([At(("a", t), t) for t in range(start, start + 100, 7)], source=source)
                    harness.push_watermark(start + 90, source=source)
        harness.end()
        assert len(harness.snapshot()) < 1200, backend  # with its elements it would be ten times that


class Fragile(ps.ProcessJoinFunction):
    def process_element(self, left: Any, right: Any, ctx: JoinContext) -> Iterable[Any]:
        ctx.output(FAR, "of the failed call")
        yield left[1] / right[1]


def test_an_error_of_a_function_names_key_and_element() -> None:
    env, views, clicks = streams()
    joined = views.interval_join(clicks).between(0, 5).process(Fragile()).name("ratio")
    harness = Harness(env)
    harness.collect(joined)
    harness.push(("a", 1), 1, source="views")
    with pytest.raises(UserFunctionError, match=r"(?s)'ratio'.*ZeroDivisionError.*test_interval_join.py") as caught:
        harness.push(("a", 0), 2, source="clicks")
    assert caught.value.failed is not None
    assert (caught.value.failed.key, caught.value.failed.element) == ("'a'", "('a', 0)")


def test_dead_letters() -> None:
    env, views, clicks = streams()
    joined = views.interval_join(clicks).between(0, 5).process(Fragile(), on_error="dead_letter")
    harness = Harness(env)
    out, dead = harness.collect(joined), harness.collect(joined.get_side_output(ps.DEAD_LETTERS))
    far = harness.collect(joined.get_side_output(FAR))
    harness.push(("a", 6), 1, source="views")
    harness.push_all([At(("a", 0), 2), At(("a", 3), 3)], source="clicks")
    harness.push(("a", 12), 2, source="views")
    assert [letter.element for letter in dead] == [("a", 0)]
    assert out == [2.0, 4.0]  # the click that failed is not stored, so the second view is not joined with it
    assert far == ["of the failed call"] * 2


@pytest.mark.parametrize(
    ("wrong", "code"),
    [
        (lambda v, c: v.interval_join(c).between(5, 1), "JOIN_BOUNDS"),
        (lambda v, c: v.interval_join(c).between("1s", 5), "JOIN_BOUNDS"),
        (lambda v, c: v.interval_join(c._origin), "JOIN_WITHOUT_KEY"),
        (lambda v, c: v.interval_join(None), "JOIN_WITHOUT_KEY"),
        (lambda v, c: v.interval_join(streams()[1]), "TWO_ENVIRONMENTS"),
        (lambda v, c: v.interval_join(c).between(0, 1).process(Delay), "FUNCTION_TYPE"),
        (lambda v, c: v.interval_join(c).between(0, 1).process(None), "FUNCTION_TYPE"),
        (lambda v, c: v.interval_join(c).between(0, 1).side_output_left_late_data("late"), "LATE_OUTPUT_TAG"),
        (lambda v, c: v.interval_join(c).between(0, 1).side_output_right_late_data(None), "LATE_OUTPUT_TAG"),
        (lambda v, c: v.interval_join(c).between(0, 1).process(Delay(), on_error="skip"), "ON_ERROR"),
        (lambda v, c: v.interval_join(c).between(0, 1).process(lambda left, right: []), "FUNCTION_ARGUMENTS"),
    ],
)
def test_wrong_arguments_raise_an_error(wrong: Any, code: str) -> None:
    _, views, clicks = streams()
    with pytest.raises(PlanError) as caught:
        wrong(views, clicks)
    assert caught.value.code == code


def test_processing_time_is_not_supported() -> None:
    _, views, clicks = streams()
    with pytest.raises(UnsupportedOperation, match="JOIN_IN_PROCESSING_TIME"):
        views.interval_join(clicks).in_processing_time()


def test_elements_need_timestamps() -> None:
    env, views, clicks = streams()
    harness = Harness(env)
    harness.collect(views.interval_join(clicks).between(0, 1).process(Delay()))
    with pytest.raises(TimeError, match="ELEMENT_WITHOUT_TIMESTAMP"):
        harness.push(("a", 1), source="views")


def test_types_are_inferred_from_the_function_and_used_in_state() -> None:
    class Sum(ps.ProcessJoinFunction):
        def process_element(self, left: Any, right: Any, ctx: JoinContext) -> Iterator[int]:
            yield left[1] + right[1]

    env = ps.StreamExecutionEnvironment()
    pair = ps.Types.TUPLE([ps.Types.STRING(), ps.Types.LONG()])
    left = env.from_collection([("a", 1)], pair).map(lambda e: (e[0], e[1]), pair)
    keyed = left.assign_timestamps_and_watermarks(
        ps.WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda e, _: 5)
    ).key_by(lambda e: e[0])
    joined = keyed.interval_join(keyed).between(0, 0).process(Sum())
    assert joined.get_type() == ps.Types.of(int)
    harness = Harness(env)
    out = harness.collect(joined)
    harness.run()
    assert out == [2]
    assert b"msgspec:" in harness.snapshot()


def test_marks_inside_a_batch_count() -> None:
    env, views, clicks = streams()
    harness = Harness(env)
    out = harness.collect(views.interval_join(clicks).between(0, 0).process(Delay()))
    with harness.batch():
        harness.push_all([At(("a", 1), 10), Mark(10), At(("b", 1), 10), Mark(11)], source="views")
        harness.push_all([Mark(10), At(("a", 1), 10), At(("b", 1), 10), Mark(11)], source="clicks")
    # the view of a was removed when the watermark reached it; the view of b arrived later and remains until the next watermark
    assert out == [("b", 0)]
