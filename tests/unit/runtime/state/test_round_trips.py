"""Values of every type are the same, in value and class, wherever they are read: in the batch that wrote them, in the next one,
after a restore, in a savepoint, and after values were rewritten."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import penstock as ps
from penstock.engine.wire.arrow import arrow_packer
from penstock.engine.wire.body import pack_body, unpack_body
from penstock.state_processor import KeyedStateReaderFunction, SavepointReader
from penstock.testing import Harness, PushSource
from penstock.types import Misfit, TypeInformation, Types, type_information
from tests.unit.types.all_types import ALL_TYPES, canonical

READ = object


class Last(ps.AggregateFunction):
    """An accumulator that is the last value."""

    def create_accumulator(self) -> Any:
        return None

    def add(self, value: Any, accumulator: Any) -> Any:
        return value

    def get_result(self, accumulator: Any) -> Any:
        return accumulator

    def merge(self, first: Any, second: Any) -> Any:
        return second


class _States:
    """One state of each kind with the same type."""

    def __init__(self, kind: Any, version: int = 1) -> None:
        self.kind = kind
        self.version = version

    def open(self, runtime_context: Any) -> None:
        kind = self.kind
        lasting = ps.ValueStateDescriptor("lasting", kind)
        lasting.enable_time_to_live(ps.StateTtlConfig.new_builder(ps.Time.hours(5)).build())
        self.value = runtime_context.get_state(self._evolved(ps.ValueStateDescriptor("value", kind)))
        self.lasting = runtime_context.get_state(self._evolved(lasting))
        self.list = runtime_context.get_list_state(self._evolved(ps.ListStateDescriptor("list", kind)))
        self.map = runtime_context.get_map_state(self._evolved(ps.MapStateDescriptor("map", str, kind)))
        self.reduced = runtime_context.get_reducing_state(
            self._evolved(ps.ReducingStateDescriptor("reduced", lambda first, second: second, kind))
        )
        self.aggregated = runtime_context.get_aggregating_state(
            self._evolved(ps.AggregatingStateDescriptor("aggregated", Last(), kind))
        )

    def _evolved(self, descriptor: Any) -> Any:
        if self.version > 1:
            descriptor.evolve(version=self.version, migrate=lambda version, old: old)
        return descriptor

    def write(self, value: Any) -> None:
        self.value.update(value)
        self.lasting.update(value)
        self.list.add(value)
        self.map.put("k", value)
        self.reduced.add(value)
        self.aggregated.add(value)

    def read(self) -> list[Any]:
        found = [self.value.value(), self.lasting.value(), list(self.list.get()), self.map.get("k")]
        return [canonical(v) for v in (*found, list(self.map.items()), self.reduced.get(), self.aggregated.get())]


class Writer(_States, ps.KeyedProcessFunction):
    def process_element(self, element: Any, ctx: Any) -> Iterator[Any]:
        key, value = element
        if value is not READ:
            self.write(value)
        yield key, self.read()


class Reader(_States, KeyedStateReaderFunction[str, Any]):
    def read_key(self, key: str, ctx: Any) -> Iterator[Any]:
        yield key, self.read()


def _job(kind: Any, version: int = 1) -> tuple[Harness, Any]:
    env = ps.StreamExecutionEnvironment()
    stream = env.from_source(PushSource()).uid("in").key_by(lambda e: e[0], key_type=str)
    harness = Harness(env)
    return harness, harness.collect(stream.process(Writer(kind, version)).uid("states"))


# Without shrinking, which would take minutes, because each example runs several jobs.
ROUND_TRIP = settings(
    max_examples=2, deadline=None, suppress_health_check=list(HealthCheck), phases=[Phase.explicit, Phase.generate]
)


@pytest.mark.parametrize("name", ALL_TYPES)
@ROUND_TRIP
@given(data=st.data())
def test_a_value_of_state_is_the_same_wherever_it_is_read(
    name: str, data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    kind, values = ALL_TYPES[name]
    drawn = data.draw(st.lists(values, min_size=4, max_size=8))
    path = tmp_path_factory.mktemp("round-trip")
    written = {f"key{i}": value for i, value in enumerate(drawn)}
    reads = [(key, READ) for key in written]
    first, out = _job(kind)
    first.push_all([*written.items(), *reads])
    in_call, in_batch = dict(list(out)[: len(reads)]), dict(list(out)[len(reads) :])
    assert in_batch == in_call
    first.push_all(reads)
    assert dict(list(out)[2 * len(reads) :]) == in_call, "the next batch"
    second, after = _job(kind)
    second.restore(first.snapshot())
    second.push_all(reads)
    assert dict(after) == in_call, "a restored checkpoint"
    saved = first.savepoint(path / "savepoint")
    assert dict(SavepointReader.read(saved).read_keyed_state("states", Reader(kind))) == in_call, "a savepoint"
    for declared, version in ((kind, 1), (kind, 2), *((wider, 1) for wider in _wider(name, kind))):
        again, found = _job(declared, version)
        again.restore_savepoint(saved)
        again.push_all(reads)
        assert dict(found) == in_call, f"a restored savepoint, {declared}, version {version}"


def _wider(name: str, kind: Any) -> list[Any]:
    """Types that also accept all values of a type, and keep them as they are."""
    if isinstance(kind, TypeInformation):
        wider = {"BYTE": "SHORT", "SHORT": "INT", "INT": "LONG", "LONG": "BIG_INT", "FLOAT": "DOUBLE"}
        return [getattr(Types, wider[name])()] if name in wider else []
    return [] if kind is None or "Any" in name or "object" in name else [kind | None]


class KeyReader(ps.KeyedProcessFunction):
    """Emits the current key for each element and for a timer."""

    def process_element(self, element: Any, ctx: Any) -> Iterator[Any]:
        ctx.timer_service().register_processing_time_timer(ctx.timer_service().current_processing_time() + 10)
        yield canonical(ctx.get_current_key())

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Any]:
        yield canonical(ctx.get_current_key())


def _keyed_job(kind: Any) -> tuple[Harness, Any]:
    env = ps.StreamExecutionEnvironment()
    keyed = env.from_source(PushSource()).uid("in").key_by(lambda e: e[0], key_type=kind)
    harness = Harness(env)
    return harness, harness.collect(keyed.process(KeyReader()).uid("keys"))


KEY_TYPES = [
    *("STRING", "CHAR", "BOOLEAN", "BYTE", "SHORT", "INT", "LONG", "FLOAT", "DOUBLE", "BIG_INT", "BIG_DEC"),
    *("SQL_DATE", "SQL_TIME", "SQL_TIMESTAMP", "BYTES", "TUPLE<LONG,LONG>", "TUPLE<STRING,LONG>"),
    *("int", "float", "bool", "str", "bytes", "Decimal", "date", "time", "datetime", "UUID", "Enum", "IntEnum"),
    *("tuple[int, str]", "frozenset[int]", "frozen Struct", "frozen dataclass", "NamedTuple", "tuple[float, ...]"),
]


@pytest.mark.parametrize("name", KEY_TYPES)
@ROUND_TRIP
@given(data=st.data())
def test_a_key_is_the_same_in_a_timer_of_a_later_batch_and_after_a_restore(name: str, data: st.DataObject) -> None:
    kind, values = ALL_TYPES[name]
    keys = data.draw(st.lists(values.filter(_can_be_key), min_size=4, max_size=8))
    unique = list({k if not isinstance(k, list) else tuple(k): k for k in keys}.values())
    first, out = _keyed_job(kind)
    first.push_all([(key,) for key in unique])
    snapshot, in_call = first.snapshot(), sorted(out, key=repr)
    first.set_time(10)
    assert sorted(out[len(in_call) :], key=repr) == _distinct(in_call), "a timer of the next batch"
    second, after = _keyed_job(kind)
    second.restore(snapshot)
    second.set_time(10)
    assert sorted(after, key=repr) == _distinct(in_call), "a timer after a restore"


def _can_be_key(value: Any) -> bool:
    """Numbers of numpy are converted to a declared key type, but not inside an object.

    Numbers that become a negative zero of type FLOAT are left out: 0.0 and -0.0 are the same key.
    """
    if isinstance(value, (float, np.floating)) and 0 < abs(float(value)) < 1e-40:
        return False
    return value == value and not isinstance(value, bytearray) and type(getattr(value, "x", 0)) is int


def _distinct(keys: list[Any]) -> list[Any]:
    return [key for i, key in enumerate(keys) if key not in keys[:i]]


@pytest.mark.parametrize("name", ALL_TYPES)
@ROUND_TRIP
@given(data=st.data())
def test_an_element_is_the_same_in_another_process(name: str, data: st.DataObject) -> None:
    kind, values = ALL_TYPES[name]
    declared = type_information(kind)
    drawn = data.draw(st.lists(values, min_size=4, max_size=8))
    inferred = (drawn * 300)[:300]  # from this number on, elements are sent as Arrow columns
    assert list(map(canonical, _send(inferred, arrow_packer(declared, certain=False)))) == list(
        map(canonical, inferred)
    )
    try:
        converted = declared.convert_all(inferred)
    except Misfit:
        return  # elements are converted less than values of state
    sent = _send(converted, arrow_packer(declared, certain=declared.exact))
    assert list(map(canonical, sent)) == list(map(canonical, converted))


def _send(values: list[Any], packer: Any) -> list[Any]:
    return unpack_body(pack_body(None, values, packer))[1]
