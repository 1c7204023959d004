"""Reading savepoints as tables: every kind of state, windows, joins, timers, times to live."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import penstock as ps
from penstock.errors import StateError
from penstock.state_processor import KeyedStateReaderFunction, SavepointReader
from penstock.testing import Harness, PushSource
from penstock.windows import TumblingEventTimeWindows
from tests.unit.state_processor.harness_savepoint import save


@dataclass
class Order:
    name: str
    amount: float
    day: datetime.date


class Keeps(ps.KeyedProcessFunction):
    """One state of every kind."""

    def open(self, runtime_context: Any) -> None:
        lasting = ps.ValueStateDescriptor("lasting", int)
        lasting.enable_time_to_live(ps.StateTtlConfig.new_builder(ps.Time.seconds(5)).build())
        self.lasting = runtime_context.get_state(lasting)
        self.last = runtime_context.get_state(ps.ValueStateDescriptor("last", Order))
        self.any = runtime_context.get_state(ps.ValueStateDescriptor("any"))
        self.names = runtime_context.get_list_state(ps.ListStateDescriptor("names", str))
        self.days = runtime_context.get_map_state(ps.MapStateDescriptor("days", None, float))
        self.sum = runtime_context.get_reducing_state(ps.ReducingStateDescriptor("sum", lambda a, b: a + b, float))

    def process_element(self, value: Order, ctx: Any) -> Iterator[Any]:
        self.lasting.update(int(value.amount))
        self.last.update(value)
        self.any.update((value.name, 1))
        self.names.add(value.name)
        self.days.put(value.day, value.amount)
        self.sum.add(value.amount)
        ctx.timer_service().register_event_time_timer(10_000)
        ctx.timer_service().register_processing_time_timer(90_000)
        yield from ()


ORDERS = [
    Order("a", 1.5, datetime.date(2026, 1, 2)),
    Order("b", 2.0, datetime.date(2026, 1, 3)),
    Order("a", 4.0, datetime.date(2026, 1, 4)),
]


@pytest.fixture
def reader(tmp_path: Path) -> SavepointReader:
    env = ps.StreamExecutionEnvironment()
    out = env.from_source(PushSource()).key_by(lambda o: o.name).process(Keeps()).uid("orders")
    harness = Harness(env, parallelism=3, max_parallelism=8)
    harness.collect(out)
    harness.set_time(1000)
    for order in ORDERS:
        harness.push(order)
    return SavepointReader.read(save(harness, tmp_path).path)


def rows(table: pa.Table) -> list[dict[str, Any]]:
    return sorted(table.to_pylist(), key=str)


def test_operators_and_states_are_listed(reader: SavepointReader) -> None:
    assert [o.uid for o in reader.operators()] == ["orders"]
    assert {(s.name, s.kind) for s in reader.states("orders")} == {
        ("lasting", "value"),
        ("last", "value"),
        ("any", "value"),
        ("names", "list"),
        ("days", "map"),
        ("sum", "reducing"),
    }


def test_an_object_is_a_struct_of_its_fields(reader: SavepointReader) -> None:
    table = reader.table("orders", "last")
    assert table.schema.field("value").type == pa.struct(
        [("name", pa.string()), ("amount", pa.float64()), ("day", pa.date32())]
    )
    assert rows(table) == [
        {"key": "a", "value": {"name": "a", "amount": 4.0, "day": datetime.date(2026, 1, 4)}},
        {"key": "b", "value": {"name": "b", "amount": 2.0, "day": datetime.date(2026, 1, 3)}},
    ]


def test_values_without_a_type_are_unpickled(reader: SavepointReader) -> None:
    assert rows(reader.table("orders", "any"))[0] == {"key": "a", "value": {"f0": "a", "f1": 1}}


def test_elements_of_a_list_have_a_position(reader: SavepointReader) -> None:
    assert rows(reader.table("orders", "names")) == [
        {"key": "a", "position": 0, "value": "a"},
        {"key": "a", "position": 1, "value": "a"},
        {"key": "b", "position": 0, "value": "b"},
    ]


def test_map_keys_are_read_as_they_were_written(reader: SavepointReader) -> None:
    table = reader.table("orders", "days")
    assert table.schema.field("map_key").type == pa.date32()
    assert rows(table)[0] == {"key": "a", "map_key": datetime.date(2026, 1, 2), "value": 1.5}


def test_reducing_state_is_one_value(reader: SavepointReader) -> None:
    assert rows(reader.table("orders", "sum")) == [{"key": "a", "value": 5.5}, {"key": "b", "value": 2.0}]


def test_entries_with_a_time_to_live_have_an_expiry(reader: SavepointReader) -> None:
    (first, _) = rows(reader.table("orders", "lasting"))
    assert first["value"] == 4
    assert first["written"] == datetime.datetime(1970, 1, 1, 0, 0, 1, tzinfo=datetime.UTC)
    assert first["expires"] == datetime.datetime(1970, 1, 1, 0, 0, 6, tzinfo=datetime.UTC)


def test_event_time_and_processing_time_timers(reader: SavepointReader) -> None:
    assert rows(reader.timers("orders")) == [
        {"key": "a", "time": 10_000, "kind": "event"},
        {"key": "a", "time": 90_000, "kind": "processing"},
        {"key": "b", "time": 10_000, "kind": "event"},
        {"key": "b", "time": 90_000, "kind": "processing"},
    ]


def test_a_state_as_a_pandas_dataframe(reader: SavepointReader) -> None:
    frame = reader.pandas("orders", "sum")
    assert dict(zip(frame["key"], frame["value"], strict=True)) == {"a": 5.5, "b": 2.0}


@pytest.mark.parametrize(
    ("operator", "state", "code"), [("ordres", "last", "NO_SUCH_OPERATOR"), ("orders", "lst", "NO_SUCH_STATE")]
)
def test_an_unknown_operator_or_state_is_refused(reader: SavepointReader, operator: str, state: str, code: str) -> None:
    with pytest.raises(StateError, match=rf"{code}.*orders") as error:
        reader.table(operator, state)
    assert "It has:" in error.value.text


def windowed(tmp_path: Path, work: Any) -> SavepointReader:
    env = ps.StreamExecutionEnvironment()
    in_order = ps.WatermarkStrategy.for_monotonous_timestamps()
    stream = env.from_source(PushSource(), in_order).key_by(lambda v: v[0]).window(TumblingEventTimeWindows.of(1000))
    harness = Harness(env, parallelism=2, max_parallelism=8)
    harness.collect(work(stream).uid("windows"))
    for value, at in ((("a", 1), 100), (("b", 2), 300), (("a", 3), 400)):
        harness.push(value, timestamp=at)
    return SavepointReader.read(save(harness, tmp_path).path)


def test_the_state_of_open_windows(tmp_path: Path) -> None:
    reader = windowed(tmp_path, lambda w: w.reduce(lambda a, b: (a[0], a[1] + b[1])))
    found = {(r["key"], r["window_start"], r["window_end"]): r["value"] for r in reader.windows("windows").to_pylist()}
    assert found == {("a", 0, 1000): [{"f0": "a", "f1": 4}], ("b", 0, 1000): [{"f0": "b", "f1": 2}]}
    assert {(r["key"], r["window_end"], r["time"]) for r in reader.timers("windows").to_pylist()} == {
        ("a", 1000, 999),
        ("b", 1000, 999),
    }


def test_columnar_windows(tmp_path: Path) -> None:
    reader = windowed(tmp_path, lambda w: w.count())
    assert {r["key"] for r in reader.windows("windows").to_pylist()} == {"a", "b"}
    assert {r["time"] for r in reader.windows("windows").to_pylist()} == {0}


class Rules(ps.KeyedBroadcastProcessFunction):
    RULES = ps.MapStateDescriptor("rules", str, int)

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        yield from ()

    def process_broadcast_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        ctx.get_broadcast_state(self.RULES).put(*value)
        yield from ()


def test_broadcast_state_is_read_once(tmp_path: Path) -> None:
    env = ps.StreamExecutionEnvironment()
    rules = env.from_source(PushSource()).uid("rules").broadcast(Rules.RULES)
    elements = env.from_source(PushSource()).uid("elements").key_by(lambda v: v)
    harness = Harness(env, parallelism=3, max_parallelism=8)
    harness.collect(elements.connect(rules).process(Rules()).uid("ruled"))
    harness.push(("limit", 3), source="rules")
    reader = SavepointReader.read(save(harness, tmp_path).path)
    assert reader.table("ruled", "rules").to_pylist() == [{"map_key": "limit", "value": 3}]


def test_keys_of_several_types_become_text(tmp_path: Path) -> None:
    env = ps.StreamExecutionEnvironment()
    harness = Harness(env, parallelism=2, max_parallelism=8)
    harness.collect(env.from_source(PushSource()).key_by(lambda v: v).reduce(lambda a, b: a).uid("any"))
    for value in (1, "one", ("one", 1)):
        harness.push(value)
    reader = SavepointReader.read(save(harness, tmp_path).path)
    (state,) = reader.states("any")
    assert set(reader.table("any", state.name).column("key").to_pylist()) == {"1", "'one'", "('one', 1)"}


class Together(KeyedStateReaderFunction[str, tuple[Any, ...]]):
    """Several states of a key in one row."""

    def __init__(self, kind: Any = float) -> None:
        self.kind = kind

    def open(self, runtime_context: Any) -> None:
        self.sum = runtime_context.get_reducing_state(ps.ReducingStateDescriptor("sum", max, self.kind))
        self.names = runtime_context.get_list_state(ps.ListStateDescriptor("names", str))
        self.days = runtime_context.get_map_state(ps.MapStateDescriptor("days", None, float))

    def read_key(self, key: str, ctx: Any) -> Iterator[tuple[Any, ...]]:
        timers = (ctx.registered_event_time_timers(), ctx.registered_processing_time_timers())
        yield key, self.sum.get(), list(self.names.get()), sorted(self.days.values()), timers


def test_a_function_reads_all_states_of_a_key_together(reader: SavepointReader) -> None:
    timers = ({10_000}, {90_000})
    assert sorted(reader.read_keyed_state("orders", Together())) == [
        ("a", 5.5, ["a", "a"], [1.5, 4.0], timers),
        ("b", 2.0, ["b"], [2.0], timers),
    ]


def test_a_function_that_declares_another_type_is_refused(reader: SavepointReader) -> None:
    with pytest.raises(StateError, match=r"STATE_CHANGED.*'sum'"):
        list(reader.read_keyed_state("orders", Together(int)))
