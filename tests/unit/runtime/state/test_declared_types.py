"""A declared type is applied when a value is written, so that reading does not depend on the boundaries of batches."""

from __future__ import annotations

import dataclasses
import datetime
import decimal
import inspect
import uuid
from collections.abc import Callable, Iterator
from typing import Any
from zoneinfo import ZoneInfo

import msgspec
import numpy as np
import pytest

import penstock as ps
from penstock.errors import InvalidKeyError, PenstockError, StateError
from penstock.row import Row
from penstock.testing import Harness, PushSource
from penstock.types import Misfit, Types
from penstock.windows import TumblingEventTimeWindows
from tests.unit.types.all_types import Color, Settings, canonical

BERLIN = datetime.datetime(2026, 7, 1, 12, tzinfo=ZoneInfo("Europe/Berlin"))


class Order(msgspec.Struct):
    user: str
    amount: float


class GiftOrder(Order):
    text: str = ""


@dataclasses.dataclass
class Limits:
    low: float
    when: datetime.datetime | None = None


class Previous(ps.KeyedProcessFunction):
    """Emits the previous value of each state and stores the new one."""

    def __init__(self, kind: Any) -> None:
        self.kind = kind

    def open(self, runtime_context: Any) -> None:
        self.value = runtime_context.get_state(ps.ValueStateDescriptor("value", self.kind))
        self.list = runtime_context.get_list_state(ps.ListStateDescriptor("list", self.kind))
        self.map = runtime_context.get_map_state(ps.MapStateDescriptor("map", str, self.kind))

    def process_element(self, element: Any, ctx: Any) -> Iterator[Any]:
        yield canonical([self.value.value(), list(self.list.get()), self.map.get("k")])
        self.value.update(element[1])
        self.list.add(element[1])
        self.map.put("k", element[1])


def run(build: Callable[[Any], Any], elements: list[Any], batches: list[int]) -> list[Any]:
    """Runs a job with batches of some sizes, and restores it before each of them."""
    found: list[Any] = []
    snapshot, start = None, 0
    for size in batches:
        env = ps.StreamExecutionEnvironment()
        harness = Harness(env)
        out = harness.collect(build(env.from_source(PushSource()).uid("in")))
        if snapshot is not None:
            harness.restore(snapshot)
        harness.push_all(elements[start : start + size])
        if start + size >= len(elements):
            harness.end()
        snapshot, start = harness.snapshot(), start + size
        found += out
    return found


VALUES: list[tuple[Any, Any, Any]] = [
    (datetime.datetime, BERLIN, BERLIN.astimezone(datetime.UTC)),
    (Types.SQL_TIMESTAMP(), BERLIN, datetime.datetime(2026, 7, 1, 10)),
    (list, [(1, 2), [3]], [[1, 2], [3]]),
    (list, [{1}], [[1]]),
    (list[tuple[int, int]], [(1, 2)], [(1, 2)]),
    (set[int], {1, 2}, {1, 2}),
    (Types.FLOAT(), 0.1, 0.1),
    (Types.FLOAT(), 1, 1.0),
    (Types.ROW_NAMED(["a"], [Types.DOUBLE()]), {"a": 1}, Row(a=1.0)),
    (float, 1, 1.0),
    (int, np.int64(7), 7),
    (float, np.float32(0.5), 0.5),
    (Types.LONG(), np.int64(7), 7),
    (list[int], [np.int64(7)], [7]),
    (Order, Order("ann", 1), Order("ann", 1.0)),
    (Limits, Limits(np.float64(0.5), BERLIN), Limits(0.5, BERLIN.astimezone(datetime.UTC))),
]


@pytest.mark.parametrize(("kind", "value", "expected"), VALUES, ids=lambda v: repr(v)[:40])
def test_a_value_is_the_same_in_one_batch_and_in_two(kind: Any, value: Any, expected: Any) -> None:
    elements = [("a", value), ("a", value), ("a", value)]

    def build(stream: Any) -> Any:
        return stream.key_by(lambda e: e[0]).process(Previous(kind)).uid("p")

    together = run(build, elements, [3])
    assert together == run(build, elements, [1, 1, 1])
    assert together[2] == canonical([expected, [expected, expected], expected])


class _Append(ps.KeyedProcessFunction):
    """Changes a value in place, without update() except for the first one."""

    def open(self, runtime_context: Any) -> None:
        self.seen = runtime_context.get_state(ps.ValueStateDescriptor("seen", list))

    def process_element(self, element: Any, ctx: Any) -> Iterator[Any]:
        seen = self.seen.value()
        yield canonical(seen)
        if seen is None:
            seen = []
            self.seen.update(seen)
        seen.append(element)


def test_a_value_that_was_changed_in_place_is_converted_when_it_is_read_again() -> None:
    def build(stream: Any) -> Any:
        return stream.key_by(lambda e: 1).process(_Append()).uid("p")

    together = run(build, [(1, 2), (3, 4), (5, 6)], [3])
    assert together == run(build, [(1, 2), (3, 4), (5, 6)], [1, 1, 1])
    assert together[2] == canonical([[1, 2], [3, 4]])


class Sum(ps.AggregateFunction):
    def create_accumulator(self) -> Any:
        return 0

    def add(self, value: Any, accumulator: Any) -> Any:
        return accumulator + value

    def get_result(self, accumulator: Any) -> Any:
        return canonical(accumulator)

    def merge(self, first: Any, second: Any) -> Any:
        return first + second


class All(ps.ProcessWindowFunction):
    def process(self, key: Any, context: Any, elements: Any) -> Iterator[Any]:
        yield canonical(list(elements))


def as_float(element: Any) -> float:
    """Returns what it gets, because annotations are not enforced."""
    number: float = element
    return number


@pytest.mark.parametrize("kind", [Types.FLOAT(), float])
def test_accumulators_and_elements_of_windows_do_not_depend_on_batches(kind: Any) -> None:
    strategy = ps.WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda e, t: int(e * 10))

    def windows(stream: Any) -> Any:
        stamped = stream.map(as_float).assign_timestamps_and_watermarks(strategy)
        return stamped.key_by(lambda e: 1).window(TumblingEventTimeWindows.of(ps.Time.milliseconds(100)))

    def summed(stream: Any) -> Any:
        return windows(stream).aggregate(Sum(), accumulator_type=kind).uid("w")

    def listed(stream: Any) -> Any:
        return windows(stream).process(All()).uid("w")

    for elements in ([0.1] * 7, [1, 1, 2]):
        for build in (summed, listed):
            one_batch = run(build, [*elements, 100], [len(elements) + 1])
            assert one_batch == run(build, [*elements, 100], [1] * (len(elements) + 1))


WRONG: list[tuple[Any, Any, str]] = [
    (str, decimal.Decimal("1.5"), "which would be read as '1.5'"),
    (str, uuid.UUID(int=1), "which would be read as '00000000-"),
    (Types.STRING(), datetime.date(2026, 1, 1), "is a date, which would be read as '2026-01-01'"),
    (str, Color.RED, "is a Color, which would be read as 'red'"),
    (list, [decimal.Decimal("1.5")], "would be read as '1.5'"),
    (list, [Order("a", 1.0)], "would be read as {'user': 'a', 'amount': 1.0}"),
    (Order, GiftOrder("a", 1.0, "b"), "would be read as Order(user='a', amount=1.0)"),
    (Limits, {"low": 1.0, "high": 2.0}, "would be read as Limits(low=1.0, when=None)"),
    (Types.CHAR(), "ab", "CHAR takes a str of one character"),
    (Types.CHAR(), "", "CHAR takes a str of one character"),
    (int, 2**64, "found 18446744073709551616"),
    (int, "5", "'5' is a str"),
]


class Writes(ps.KeyedProcessFunction):
    """Writes a value in a line of its own for each kind of state."""

    def __init__(self, kind: Any, state: str) -> None:
        self.kind = kind
        self.state = state

    def open(self, runtime_context: Any) -> None:
        self.value = runtime_context.get_state(ps.ValueStateDescriptor("value", self.kind))
        self.list = runtime_context.get_list_state(ps.ListStateDescriptor("list", self.kind))
        self.map = runtime_context.get_map_state(ps.MapStateDescriptor("map", None, self.kind))
        self.reduced = runtime_context.get_reducing_state(ps.ReducingStateDescriptor("reduced", max, self.kind))

    def process_element(self, element: Any, ctx: Any) -> None:
        if self.state == "value":
            self.value.update(element)
        elif self.state == "list":
            self.list.add(element)
        elif self.state == "map":
            self.map.put("k", element)
        elif self.state == "map key":
            self.map.put(element, 1)
        else:
            self.reduced.add(element)


LINES = {"value": 2, "list": 4, "map": 6, "map key": 8, "reduced": 10}


def error_of_write(kind: Any, state: str, element: Any) -> PenstockError:
    env = ps.StreamExecutionEnvironment()
    harness = Harness(env)
    harness.collect(env.from_source(PushSource()).key_by(lambda e: 1).process(Writes(kind, state)))
    with pytest.raises(PenstockError) as caught:
        harness.push(element)
    assert caught.value.failed is not None
    first = inspect.getsourcelines(Writes.process_element)[1]
    assert caught.value.failed.location.endswith(f"test_declared_types.py:{first + LINES[state]}")
    return caught.value


@pytest.mark.parametrize(("kind", "value", "reason"), WRONG, ids=lambda v: repr(v)[:40])
def test_a_value_that_would_change_its_meaning_is_rejected_in_the_line_that_writes_it(
    kind: Any, value: Any, reason: str
) -> None:
    for state in ("value", "list", "map", "reduced"):
        error = error_of_write(kind, state, value)
        assert isinstance(error, StateError)
        assert error.code == "STATE_VALUE"
        assert f"State '{state}': A value does not fit the declared type" in str(error)
        assert reason in str(error)


def test_a_map_key_that_cannot_be_a_key_is_rejected_in_the_line_that_writes_it() -> None:
    error = error_of_write(int, "map key", object())
    assert isinstance(error, InvalidKeyError)
    assert error.code == "KEY_TYPE"


def test_types_accept_single_values_of_numpy() -> None:
    assert canonical(Types.BOOLEAN().convert(np.True_)) == canonical(True)
    assert canonical(Types.of(int).convert(np.int64(3))) == canonical(3)
    assert canonical(Types.of(list[float]).convert([np.float32(0.5), np.float64(1.5)])) == canonical([0.5, 1.5])
    with pytest.raises(Misfit):
        Types.of(int).convert(np.True_)
    with pytest.raises(Misfit):
        Types.BOOLEAN().convert(np.array([True, False]))


def test_an_element_of_type_typed_dict_is_a_dict() -> None:
    assert Types.of(Settings).convert({"name": "a", "rate": 1.0}) == {"name": "a", "rate": 1.0}
    with pytest.raises(Misfit):
        Types.of(Settings).convert(["name"])


def test_an_element_of_type_char_has_one_character() -> None:
    assert Types.CHAR().fits(["a", None, "é"])
    assert not Types.CHAR().fits(["a", "ab"])
    env = ps.StreamExecutionEnvironment()
    harness = Harness(env)
    harness.collect(env.from_source(PushSource()).map(lambda e: e, output_type=Types.CHAR()))
    with pytest.raises(PenstockError, match=r"ELEMENT_TYPE.*CHAR takes a str of one character"):
        harness.push("ab")
