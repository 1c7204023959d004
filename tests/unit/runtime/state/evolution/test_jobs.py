"""Jobs with changed state types, restored from a savepoint of the earlier job in the harness."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from penstock import (
    AggregateFunction,
    DataStream,
    KeyedProcessFunction,
    MapStateDescriptor,
    RuntimeContext,
    StreamExecutionEnvironment,
    Types,
    ValueStateDescriptor,
)
from penstock.cep import CEP, Pattern
from penstock.engine.program.builder import build_program
from penstock.engine.program.declared_state import declared_states, key_types
from penstock.engine.program.program import Program
from penstock.errors import CheckpointError, StateError
from penstock.functions import KeyedBroadcastProcessFunction
from penstock.functions.named_aggregates import count, max_of, sum_of
from penstock.savepoints import open_savepoint
from penstock.savepoints.check import KEY_ROW, UNKNOWN, StateCheck, check_restore
from penstock.savepoints.evolution import AFTER_MIGRATION, AS_IS
from penstock.savepoints.parts import DROPPED, NEW
from penstock.state import StateDescriptor
from penstock.testing import Harness, PushSource
from penstock.time import Time, WatermarkStrategy
from penstock.types.evolution import state_type
from penstock.windows import TumblingEventTimeWindows


@dataclass
class Before:
    count: int
    last: str


@state_type(aliases={"n": "count"})
@dataclass
class After:
    last: str
    n: float
    first: str = "?"


class ValueStore(KeyedProcessFunction[Any, Any, Any]):
    """Stores and emits the result of `step` for the stored value and the element."""

    def __init__(self, descriptor: StateDescriptor, step: Callable[[Any, Any], Any]) -> None:
        self._descriptor = descriptor
        self._step = step

    def open(self, runtime_context: RuntimeContext) -> None:
        self.stored: Any = runtime_context.get_state(self._descriptor)  # type: ignore[arg-type]

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        self.stored.update(self._step(self.stored.value(), value))
        yield self.stored.value()


def before(old: Before | None, word: str) -> Before:
    return Before(1, word) if old is None else Before(old.count + 1, word)


def after(old: After | None, word: str) -> After:
    return After(word, 1.0, word) if old is None else After(word, old.n + 1, old.first)


def state_rows(saved: str, program: Program) -> list[StateCheck]:
    """The rows of states, and of keys that can be compared before the job runs."""
    rows = check_restore(open_savepoint(saved), program).rows
    return [row for row in rows if (row.state, row.verdict) != (KEY_ROW, UNKNOWN)]


class Job:
    """A pipeline in a harness, and its output."""

    def __init__(self, make: Callable[[DataStream[Any]], DataStream[Any]], parallelism: int = 2) -> None:
        env = StreamExecutionEnvironment()
        self.out_of = make(env.from_source(PushSource()).uid("source"))
        self.harness = Harness(env, parallelism=parallelism)
        self.out = self.harness.collect(self.out_of)

    def rows(self, saved: str) -> list[StateCheck]:
        """Checks a savepoint and returns the results, without those of internal tables."""
        return state_rows(saved, self.harness.job.program)


def keyed(descriptor: StateDescriptor, step: Callable[[Any, Any], Any], uid: str = "stored") -> Any:
    return lambda stream: stream.key_by(lambda w: w[0]).process(ValueStore(descriptor, step)).uid(uid)


def test_a_changed_class_continues_with_its_values(tmp_path: Path) -> None:
    first = Job(keyed(ValueStateDescriptor("stored", Before), before))
    first.harness.push_all(["a1", "a2", "b1"])
    saved = first.harness.savepoint(tmp_path / "saved")

    second = Job(keyed(ValueStateDescriptor("stored", After), after), parallelism=3)
    (row,) = second.rows(saved)
    assert (row.operator, row.state, row.verdict) == ("stored", "stored", AFTER_MIGRATION)
    assert row.before == "value: Before(count: int, last: str)"
    assert row.after == "value: After(last: str, n: float, first: str)"
    assert "n: was called 'count'" in row.differences
    second.harness.restore_savepoint(saved).push_all(["a3", "b2", "c1"])
    assert sorted(second.out, key=lambda v: v.last) == [After("a3", 3.0), After("b2", 2.0), After("c1", 1.0, "c1")]


def test_migrated_values_are_saved_as_the_new_type(tmp_path: Path) -> None:
    first = Job(keyed(ValueStateDescriptor("stored", Before), before))
    first.harness.push("a1")
    second = Job(keyed(ValueStateDescriptor("stored", After), after))
    second.harness.restore_savepoint(first.harness.savepoint(tmp_path / "one"))
    third = Job(keyed(ValueStateDescriptor("stored", After), after))
    saved = second.harness.savepoint(tmp_path / "two")
    assert [(r.verdict, r.differences) for r in third.rows(saved)] == [(AS_IS, [])]
    third.harness.restore_savepoint(saved).push("a2")
    assert third.out == [After("a2", 2.0)]


def test_an_incompatible_type_is_rejected_before_the_job_runs(tmp_path: Path) -> None:
    first = Job(keyed(ValueStateDescriptor("stored", Before), before))
    first.harness.push("a1")
    saved = first.harness.savepoint(tmp_path / "saved")
    second = Job(keyed(ValueStateDescriptor("stored", Types.LONG()), lambda old, word: 1))
    with pytest.raises(CheckpointError, match=r"stored: stored: Before cannot be converted to LONG.*migrate") as raised:
        second.harness.restore_savepoint(saved)
    assert raised.value.code == "SAVEPOINT_STATE_INCOMPATIBLE"


def test_a_state_replaced_by_a_migrate_function(tmp_path: Path) -> None:
    first = Job(keyed(ValueStateDescriptor("stored", Before), before))
    first.harness.push_all(["a1", "a2"])
    saved = first.harness.savepoint(tmp_path / "saved")
    current = ValueStateDescriptor("stored", int).evolve(version=2, migrate=lambda version, old: old["count"] * 10)
    second = Job(keyed(current, lambda old, word: (old or 0) + 1))
    second.harness.restore_savepoint(saved).push("a3")
    assert second.out == [21]


def test_an_error_for_a_value_that_does_not_fit_names_its_state(tmp_path: Path) -> None:
    first = Job(keyed(ValueStateDescriptor("stored"), lambda old, word: word))
    first.harness.push("a1")
    saved = first.harness.savepoint(tmp_path / "saved")
    second = Job(keyed(ValueStateDescriptor("stored", int), lambda old, word: 1))
    (row,) = second.rows(saved)
    assert "no declared type became int" in row.differences[0]
    assert row.verdict == AFTER_MIGRATION
    with pytest.raises(StateError, match=r"State 'stored' of operator 'stored'.*'a1'"):
        second.harness.restore_savepoint(saved)


class Mean(AggregateFunction[Any, Any, Any]):
    """A mean whose accumulator is a class with a sum and a count."""

    def __init__(self, kind: type) -> None:
        self._kind = kind

    def create_accumulator(self) -> Any:
        return self._kind()

    def add(self, value: Any, accumulator: Any) -> Any:
        accumulator.total += value[1]
        accumulator.n += 1
        return accumulator

    def get_result(self, accumulator: Any) -> Any:
        return accumulator

    def merge(self, acc_a: Any, acc_b: Any) -> Any:
        return self._kind(acc_a.total + acc_b.total, acc_a.n + acc_b.n)


@dataclass
class SumBefore:
    total: int = 0
    n: int = 0


@dataclass
class SumAfter:
    total: float = 0.0
    n: int = 0
    note: str = "-"


def windowed(kind: type) -> Any:
    def make(stream: DataStream[Any]) -> DataStream[Any]:
        timed = stream.assign_timestamps_and_watermarks(WatermarkStrategy.for_monotonous_timestamps())
        windows = timed.key_by(lambda v: v[0]).window(TumblingEventTimeWindows.of(Time.milliseconds(100)))
        return windows.aggregate(Mean(kind), accumulator_type=Types.of(kind)).uid("windows")

    return make


def test_contents_of_windows(tmp_path: Path) -> None:
    first = Job(windowed(SumBefore))
    first.harness.push(("a", 1), 10)
    first.harness.push(("a", 2), 20)
    saved = first.harness.savepoint(tmp_path / "saved")
    second = Job(windowed(SumAfter))
    rows = {r.state: r for r in second.rows(saved)}
    assert rows["namespace:__contents__"].verdict == AFTER_MIGRATION
    second.harness.restore_savepoint(saved).push(("a", 4), 30)
    second.harness.end()
    assert second.out == [SumAfter(7.0, 3)]


class Ruled(KeyedBroadcastProcessFunction[Any, Any, Any, Any]):
    """Emits the rules with each element."""

    def __init__(self, rules: MapStateDescriptor) -> None:
        self._rules = rules

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        yield sorted(ctx.get_broadcast_state(self._rules).items())

    def process_broadcast_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        ctx.get_broadcast_state(self._rules).put(*value)
        return iter(())


@pytest.mark.parametrize("parallelism", [1, 3])
def test_broadcast_state(tmp_path: Path, parallelism: int) -> None:
    def job(value_type: Any, parallelism: int) -> tuple[Harness, Any]:
        rules = MapStateDescriptor("rules", str, value_type)
        env = StreamExecutionEnvironment()
        words = env.from_source(PushSource(), source_name="words").uid("words").key_by(lambda w: w)
        broadcast_rules = env.from_source(PushSource(), source_name="rules").uid("rules").broadcast(rules)
        out = words.connect(broadcast_rules).process(Ruled(rules)).uid("ruled")
        harness = Harness(env, parallelism=parallelism)
        return harness, harness.collect(out)

    first, _ = job(int, 2)
    first.push(("limit", 5), source="rules")
    second, out = job(float, parallelism)
    second.restore_savepoint(first.savepoint(tmp_path / "saved"))
    second.push("a", source="words")
    second.push(("more", 1.5), source="rules")  # the slots agree about broadcast state
    second.push("b", source="words")
    assert list(out) == [[("limit", 5.0)], [("limit", 5.0), ("more", 1.5)]]


def test_a_state_that_is_requested_later_is_reported_as_unknown(tmp_path: Path) -> None:
    class Late(KeyedProcessFunction[Any, Any, Any]):
        def open(self, runtime_context: RuntimeContext) -> None:
            self._context = runtime_context

        def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
            state = self._context.get_state(ValueStateDescriptor("stored", int))
            state.update((state.value() or 0) + 1)
            yield state.value()

    def late(stream: DataStream[Any]) -> DataStream[Any]:
        return stream.key_by(lambda w: w).process(Late()).uid("stored")

    first = Job(late)
    first.harness.push("a")
    saved = first.harness.savepoint(tmp_path / "saved")
    second = Job(late)
    (row,) = second.rows(saved)
    assert (row.state, row.verdict) == ("stored", UNKNOWN)
    second.harness.restore_savepoint(saved).push("a")
    assert second.out == [2]


def test_new_and_dropped_states(tmp_path: Path) -> None:
    first = Job(keyed(ValueStateDescriptor("stored", Before), before, uid="one"))
    first.harness.push("a")
    saved = first.harness.savepoint(tmp_path / "saved")
    second = Job(keyed(ValueStateDescriptor("stored", Before), before, uid="two"))
    assert [(r.operator, r.verdict, r.compatible) for r in second.rows(saved)] == [
        ("two", NEW, True),
        ("one", DROPPED, False),
    ]


def test_a_function_that_cannot_be_opened_here_is_reported(tmp_path: Path) -> None:
    class Elsewhere(ValueStore):
        def open(self, runtime_context: RuntimeContext) -> None:
            raise OSError("no such server")

    first = Job(keyed(ValueStateDescriptor("stored", Before), before))
    first.harness.push("a")
    saved = first.harness.savepoint(tmp_path / "saved")
    env = StreamExecutionEnvironment()
    stream = env.from_source(PushSource()).key_by(lambda w: w)
    stream.process(Elsewhere(ValueStateDescriptor("stored", Before), before)).uid("stored").print()
    program = build_program(env.graph("job"))
    assert isinstance(declared_states(program)["stored"].error, OSError)
    (row,) = state_rows(saved, program)
    assert (row.verdict, row.differences) == (UNKNOWN, ["open() raised OSError: no such server"])


def test_functions_are_opened_as_copies() -> None:
    function = ValueStore(ValueStateDescriptor("stored", Before), before)
    env = StreamExecutionEnvironment()
    env.from_source(PushSource()).key_by(lambda w: w, key_type=Types.STRING()).process(function).uid("stored").print()
    program = build_program(env.graph("job"))
    assert list(declared_states(program)["stored"].states) == ["stored"]
    assert not hasattr(function, "stored")
    assert key_types(program)["stored"] == Types.STRING()


@pytest.mark.parametrize(("key_type", "fits"), [(Types.LONG(), True), (Types.DOUBLE(), True), (Types.STRING(), False)])
def test_types_of_keys(tmp_path: Path, key_type: Any, fits: bool) -> None:
    def job(key_type: Any) -> Job:
        def make(stream: DataStream[Any]) -> DataStream[Any]:
            by_length = stream.key_by(lambda w: len(w), key_type=key_type)
            return by_length.process(ValueStore(ValueStateDescriptor("stored", Before), before)).uid("stored")

        return Job(make)

    first = job(Types.INT())
    first.harness.push("a")
    saved = first.harness.savepoint(tmp_path / "saved")
    rows = [r for r in job(key_type).rows(saved) if r.state == "(key)"]
    assert [r.compatible for r in rows] == [fits]


def measured(**named: Any) -> Any:
    def make(stream: DataStream[Any]) -> DataStream[Any]:
        timed = stream.assign_timestamps_and_watermarks(WatermarkStrategy.for_monotonous_timestamps())
        windows = timed.key_by(lambda v: v["k"]).window(TumblingEventTimeWindows.of(Time.milliseconds(100)))
        return windows.aggregates(**named).uid("windows")

    return make


def test_windows_on_columns_match_measures_by_name(tmp_path: Path) -> None:
    first = Job(measured(total=sum_of("n"), top=max_of("m")))
    first.harness.push({"k": "a", "n": 1, "m": 10}, 10)
    first.harness.push({"k": "a", "n": 2, "m": 5}, 20)
    saved = first.harness.savepoint(tmp_path / "saved")

    second = Job(measured(best=max_of("m"), how_many=count()))
    rows = [r for r in second.rows(saved) if r.state.startswith("__")]
    assert [(r.verdict, r.differences) for r in rows] == [(AFTER_MIGRATION, ["sum(n) was removed"])]
    second.harness.restore_savepoint(saved).push({"k": "a", "n": 4, "m": 7}, 30)
    second.harness.end()
    assert [(row.best, row.how_many) for row in second.out] == [(10, 3)]

    third = Job(measured(total=sum_of("m")))
    with pytest.raises(CheckpointError, match=r"sum\(m\) was not stored before"):
        third.harness.restore_savepoint(saved)


def matched(*kinds: Any) -> Any:
    def make(stream: DataStream[Any]) -> DataStream[Any]:
        pattern = Pattern.begin("one").where(lambda e: e[1] == 1).next("two").where(lambda e: e[1] == 2)
        typed = stream.map(lambda e: e, output_type=Types.TUPLE(list(kinds))).uid("typed")
        timed = typed.assign_timestamps_and_watermarks(WatermarkStrategy.for_monotonous_timestamps())
        matches = CEP.pattern(timed.key_by(lambda e: e[0]), pattern)
        return matches.select(lambda match: (match["one"][0], match["two"][0])).uid("patterns")

    return make


def test_events_that_patterns_keep(tmp_path: Path) -> None:
    first = Job(matched(Types.STRING(), Types.INT()))
    first.harness.push(("a", 1), 10)
    first.harness.push(("b", 7), 20)  # the watermark passes the first event: a partial match has it
    first.harness.push(("a", 2), 30)  # waits for the watermark
    saved = first.harness.savepoint(tmp_path / "saved")
    second = Job(matched(Types.STRING(), Types.DOUBLE(), Types.STRING()))
    (row,) = [r for r in second.rows(saved) if r.operator == "patterns"]
    assert (row.verdict, row.differences) == (AFTER_MIGRATION, ["[1]: INT became float", "[2] was added; it is None"])
    second.harness.restore_savepoint(saved)
    second.harness.end()
    assert second.out == [(("a", 1.0, None), ("a", 2.0, None))]
