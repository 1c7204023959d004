"""Rescaling moves state to another number of slots and key groups, and changes no results."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock import KeyedProcessFunction, StreamExecutionEnvironment, WatermarkStrategy
from penstock.engine.slots.rescale import SlotState, rescale
from penstock.engine.slots.slot_metadata import SlotMetadata
from penstock.errors import CheckpointError
from penstock.runtime.state.tables import StateTable
from penstock.testing import At, Harness, Mark, PushSource
from tests.unit.engine.all_states_job import KEYS, pipeline

SCALES = st.tuples(st.sampled_from([1, 2, 3, 5]), st.sampled_from([5, 16, 128]))
EVENTS = st.one_of(
    st.tuples(st.just("push"), st.sampled_from(range(len(KEYS))), st.integers(0, 40)),
    st.tuples(st.just("rule"), st.sampled_from(["r", "rr", "rrr"])),
    st.tuples(st.just("watermark"), st.integers(0, 50)),
    st.tuples(st.just("time"), st.integers(0, 5)),
    st.tuples(st.just("rescale"), SCALES),
)


def run(events: list[Any], rescaling: bool) -> list[Any]:
    env, stream = pipeline()
    harness = Harness(env)
    out = harness.collect(stream)
    earlier: list[Any] = []
    for number, (event, *rest) in enumerate(events):
        if event == "push":
            harness.push((KEYS[rest[0]], number), rest[1], source="main")
        elif event == "rule":
            harness.push(rest[0], source="rules")
        elif event == "watermark":
            with harness.batch():
                harness.push_watermark(rest[0], source="main")
                harness.push_watermark(rest[0], source="rules")
        elif event == "time":
            harness.advance_time(rest[0])
        elif rescaling:
            saved = harness.snapshot()
            env, stream = pipeline()
            parallelism, max_parallelism = rest[0]
            harness = Harness(env, parallelism=parallelism, max_parallelism=max_parallelism)
            earlier += out
            out = harness.collect(stream)
            harness.restore(saved)
    harness.end()
    return earlier + out


@settings(max_examples=40, deadline=None)
@given(st.lists(EVENTS, max_size=25))
def test_a_rescaled_job_has_the_same_results(events: list[Any]) -> None:
    assert run(events, rescaling=True) == run(events, rescaling=False)


def test_every_slot_has_the_state_of_its_keys() -> None:
    """Uses all keys, so that each slot of the new job needs the state of its own keys."""
    env, stream = pipeline()
    first = Harness(env, parallelism=1)
    first.push_all([At((key, 1), 0) for key in KEYS], source="main")
    second = Harness(env, parallelism=5, max_parallelism=7)
    out = second.collect(stream)
    second.restore(first.snapshot())
    second.push_all([At((key, 2), 0) for key in KEYS], source="main")
    assert [seen[3][1] for seen in out] == [[1, 2] for _ in KEYS]
    assert all(state.entries for state in second.job.states().values())


class WithWatermark(KeyedProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Any:
        yield value, ctx.timer_service().current_watermark()


def test_watermarks_and_clock_are_restored() -> None:
    env = StreamExecutionEnvironment()
    source = env.from_source(PushSource(splits=["s0", "s1"]), WatermarkStrategy.for_monotonous_timestamps())
    shown = source.key_by(lambda value: value).process(WithWatermark())
    first = Harness(env, parallelism=2)
    first.set_time(77)
    first.push("a", 10, split="s0")
    first.push("a", 20, split="s1")
    second = Harness(env, parallelism=3)
    out = second.collect(shown)
    second.restore(first.snapshot())
    assert (second.time, second.watermark()) == (77, 9)
    second.push("b", 30, split="s0")
    assert out == [("b", 9)]
    assert second.watermark() == 19


def test_an_operator_with_lower_parallelism_has_state_in_its_slots_only() -> None:
    env, stream = pipeline()
    stream.set_parallelism(2)
    first, second = Harness(env, parallelism=2), Harness(env, parallelism=4)
    first.push("r", source="rules")
    first.push_all([At((key, 1), 0) for key in KEYS], source="main")
    second.restore(first.snapshot())
    assert [slot for (_, slot), state in second.job.states().items() if state.entries] == [0, 1]


def entry(table: int, group: int, rest: bytes) -> bytes:
    return table.to_bytes(2, "big") + group.to_bytes(2, "big") + rest


def test_a_table_may_have_a_different_number_in_each_slot() -> None:
    first = SlotMetadata(
        tables=[StateTable(1, "op", "x", "value", "pickle"), StateTable(2, "op", "y", "value", "pickle")]
    )
    second = SlotMetadata(
        tables=[StateTable(1, "op", "y", "value", "pickle"), StateTable(2, "op", "x", "value", "pickle")]
    )
    slots = [
        SlotState(first, {entry(1, 0, b"\x01"): b"x of 1", entry(2, 0, b"\x01"): b"y of 1"}),
        SlotState(second, {entry(1, 1, b"\x02"): b"y of 2", entry(2, 1, b"\x02"): b"x of 2"}),
    ]
    (only,) = rescale(slots, {"op": 1}, parallelism=1, max_parallelism=2, max_parallelism_before=2)
    names = {t.number.to_bytes(2, "big"): t.name for t in only.meta.tables}
    assert sorted((names[key[:2]], value) for key, value in only.entries.items()) == [
        ("x", b"x of 1"),
        ("x", b"x of 2"),
        ("y", b"y of 1"),
        ("y", b"y of 2"),
    ]


def test_state_without_an_operator_is_dropped() -> None:
    meta = SlotMetadata(
        tables=[StateTable(1, "gone", "x", "value", "pickle"), StateTable(2, "op", "x", "value", "pickle")]
    )
    slots = [SlotState(meta, {entry(1, 0, b"\x01"): b"old", entry(2, 0, b"\x01"): b"current"})]
    (only,) = rescale(slots, {"op": 1}, parallelism=1, max_parallelism=2, max_parallelism_before=2)
    assert list(only.entries.values()) == [b"current"]
    assert [(t.number, t.operator) for t in only.meta.tables] == [(1, "op")]


def test_new_slots_are_deep_copies() -> None:
    slots = [SlotState(SlotMetadata(tables=[StateTable(1, "op", "x", "value", "pickle")]))]
    first, second = rescale(slots, {"op": 2}, parallelism=2, max_parallelism=2, max_parallelism_before=2)
    first.meta.tables[0].schema = "other"
    first.meta.watermarks["op"] = 5
    assert second.meta.tables[0].schema == "pickle"
    assert (second.meta.watermarks, slots[0].meta.watermarks) == ({}, {})


def test_slots_with_different_clocks_are_rejected() -> None:
    slots = [SlotState(SlotMetadata(now=1)), SlotState(SlotMetadata(now=2))]
    with pytest.raises(CheckpointError, match="SLOTS_DIFFER"):
        rescale(slots, {}, parallelism=1, max_parallelism=2, max_parallelism_before=2)


def test_slots_with_different_tables_are_rejected() -> None:
    metas = [SlotMetadata(tables=[StateTable(1, "op", "x", kind, "pickle")]) for kind in ("value", "list")]
    with pytest.raises(CheckpointError, match="SLOTS_DIFFER"):
        rescale([SlotState(m) for m in metas], {"op": 1}, parallelism=1, max_parallelism=2, max_parallelism_before=2)


def test_timers_move_with_their_keys() -> None:
    env, stream = pipeline()
    first = Harness(env, parallelism=3)
    first.push_all([At((key, 1), 0) for key in KEYS], source="main")
    second = Harness(env, parallelism=2, max_parallelism=11)
    out = second.collect(stream)
    second.restore(first.snapshot())
    second.push_all([Mark(100)], source="main")
    second.push_all([Mark(100)], source="rules")
    assert [seen[0] for seen in out] == ["timer 0 at 7"] * len(KEYS)
    assert {seen[2] for seen in out} == set(KEYS)
