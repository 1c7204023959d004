"""Declared types in running jobs: elements are converted, and an element that does not fit fails with its location."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import msgspec
import pytest

import penstock as ps
from penstock import OutputTag, Row, RowKind, Types
from penstock.connectors import json_lines
from penstock.engine.program.builder import build_program
from penstock.engine.program.steps import SinkStep, all_steps
from penstock.errors import ElementError
from penstock.testing import Harness
from penstock.types import TypeInformation

PERSON = Types.ROW_NAMED(["name", "age"], [Types.STRING(), Types.INT()])
PARALLELISM = 2


def environment() -> ps.StreamExecutionEnvironment:
    return ps.StreamExecutionEnvironment().set_parallelism(PARALLELISM)


def run(stream: ps.DataStream[Any]) -> list[Any]:
    harness = Harness(stream.get_execution_environment())
    out = harness.collect(stream)
    harness.run()
    return list(out)


def test_tuples_of_a_collection_become_rows() -> None:
    people = environment().from_collection([("Ada", 36), ("Bob", None)], PERSON)
    assert run(people.map(lambda row: row)) == [Row(name="Ada", age=36), Row(name="Bob", age=None)]


def test_a_collection_that_does_not_fit_raises_an_error() -> None:
    with pytest.raises(ElementError) as caught:
        environment().from_collection([("Ada", 36), ("Bob", "old")], PERSON)
    assert caught.value.code == "ELEMENT_TYPE"
    text = str(caught.value)
    assert "test_streams.py:" in text
    assert "('Bob', 'old')" in text
    assert "field 'age': 'old' is a str, but INT takes an integer" in text
    assert PERSON.name in text


@pytest.mark.parametrize("keyed", [False, True])
def test_results_of_an_operator_are_converted_before_the_next_operator(keyed: bool) -> None:
    people = environment().from_collection(["Ada", "Bob"])
    rows: ps.DataStream[Any] = (people.key_by(lambda n: n) if keyed else people).map(
        lambda n: (n, len(n)), output_type=PERSON
    )
    assert sorted(run(rows.map(lambda row: (row.name, row.age, row.get_row_kind())))) == [
        ("Ada", 3, RowKind.INSERT),
        ("Bob", 3, RowKind.INSERT),
    ]


@pytest.mark.parametrize("keyed", [False, True])
def test_an_element_that_does_not_fit_fails_the_job_with_its_location(keyed: bool) -> None:
    numbers = environment().from_collection(list(range(5)))
    line = "test_streams.py"
    stream = (numbers.key_by(lambda n: n % 2) if keyed else numbers).map(
        lambda n: n if n < 3 else f"number {n}" + "!" * 500, output_type=Types.LONG()
    )
    with pytest.raises(ElementError) as caught:
        run(stream.name("parse").map(lambda n: n))
    text = str(caught.value)
    assert caught.value.code == "ELEMENT_TYPE"
    assert "'parse'" in text
    assert line in text
    assert "LONG" in text
    assert "number 3!!!" in text or "number 4!!!" in text
    assert len(text) < 700


class Tagging(ps.ProcessFunction[int, int]):
    def process_element(self, value: int, ctx: ps.ProcessFunction.Context) -> Iterator[Any]:
        yield value
        yield OutputTag("names"), str(value) if value < 2 else value


def test_side_outputs_have_separate_types() -> None:
    numbers = environment().from_collection([0, 1])
    names = numbers.process(Tagging()).get_side_output(OutputTag("names", Types.STRING()))
    assert sorted(run(names)) == ["0", "1"]
    numbers = environment().from_collection([0, 1, 2])
    names = numbers.process(Tagging()).get_side_output(OutputTag("names", Types.STRING()))
    with pytest.raises(ElementError, match="side:names"):
        run(names.map(str.upper))


VALUES: list[tuple[TypeInformation, list[Any]]] = [
    (Types.FLOAT(), [0.1]),
    (Types.SQL_TIMESTAMP(), [datetime.datetime(2024, 1, 1, tzinfo=datetime.UTC), None]),
    (Types.BIG_DEC(), [Decimal("1.10"), None]),
    (Types.MAP(Types.STRING(), PERSON), [{"a": ("Ada", 1), "b": None}]),
    (Types.LIST(PERSON), [[("Ada", 1)], []]),
    (Types.TUPLE([Types.PRIMITIVE_ARRAY(Types.INT()), Types.STRING()]), [([1, 2], None)]),
]


@pytest.mark.parametrize(("type_info", "values"), VALUES, ids=lambda v: repr(v)[:40])
def test_values_are_the_same_before_and_after_a_shuffle(type_info: TypeInformation, values: list[Any]) -> None:
    many = values * 5000  # enough to be sent as Arrow
    before = environment().from_collection(values).map(lambda v: v, output_type=type_info)
    after = environment().from_collection(many).map(lambda v: v, output_type=type_info).rebalance()
    assert {repr(v) for v in run(before)} == {repr(v) for v in run(after)}
    assert len(run(after)) == len(many)


@dataclass
class Order:
    user: str
    amount: float


def parse(number: int) -> Order:
    return Order(f"user-{number % 10}", number)  # not a float: an annotation changes nothing


def test_annotations_change_no_value() -> None:
    orders = environment().from_collection(list(range(10_000))).map(parse)
    assert orders.get_type() == Types.of(Order)
    totals = orders.key_by(lambda o: o.user).reduce(lambda a, b: Order(a.user, a.amount + b.amount))
    amounts = [o.amount for o in run(totals)]
    assert {type(a) for a in amounts} == {int}
    assert max(amounts) == sum(range(9, 10_000, 10))


def certain(stream: ps.DataStream[Any]) -> bool:
    """Whether what reaches the stream's sink need not be looked at."""
    stream.print()
    program = build_program(stream.get_execution_environment().graph())
    chains = [*(s.chain for s in program.sources), *(o.chain for o in program.operators)]
    (known,) = (s.element_type for chain in chains for s in all_steps(chain) if isinstance(s, SinkStep))
    return known is not None and known.certain


class Event(msgspec.Struct):
    k: str
    x: float = 0.0


class Careless(msgspec.Struct):
    x: float = 0


def test_which_elements_are_certain() -> None:
    """Others are looked at before they are packed: an annotation changes no value, and objects are never converted."""
    pair = Types.TUPLE([Types.INT(), Types.of(Order)])
    assert certain(environment().from_collection([1]).map(lambda n: n, Types.LONG()).filter(bool).rebalance())
    assert certain(environment().from_sequence(1, 2))
    assert certain(environment().from_source(json_lines("nowhere", Event)))
    assert not certain(environment().from_source(json_lines("nowhere", Careless)))
    assert not certain(environment().from_collection([1]).map(parse))
    assert not certain(environment().from_collection([1]).map(parse, Types.of(Order)))
    assert not certain(environment().from_collection([1]).map(lambda n: (n, parse(n)), pair))


def test_rows_as_keys() -> None:
    rows = environment().from_collection([("Ada", 1), ("Bob", 2), ("Ada", 1)], PERSON)
    counted = rows.map(lambda r: (r, 1)).key_by(lambda pair: pair[0]).reduce(lambda a, b: (a[0], a[1] + b[1]))
    assert (Row(name="Ada", age=1), 2) in run(counted)


class Remember(ps.KeyedProcessFunction[str, Row, Row]):
    def open(self, runtime_context: ps.RuntimeContext) -> None:
        self.last = runtime_context.get_state(ps.ValueStateDescriptor("last", PERSON))
        self.all = runtime_context.get_list_state(ps.ListStateDescriptor("all", PERSON))
        self.by_age = runtime_context.get_map_state(ps.MapStateDescriptor("by_age", Types.INT(), PERSON))

    def process_element(self, value: Row, ctx: ps.KeyedProcessFunction.Context) -> Iterator[Any]:
        yield self.last.value(), list(self.all.get()), sorted(self.by_age.keys())
        self.last.update(value)
        self.all.add(value)
        self.by_age.put(value.age, value)


def test_state_of_rows() -> None:
    env = environment()
    source = ps_push()
    harness = Harness(env)
    rows = env.from_source(source, type_info=PERSON)
    out = harness.collect(rows.key_by(lambda r: r.name).process(Remember()))
    harness.push(("Ada", 1))  # each push is a batch: state is encoded and decoded between them
    harness.push(("Ada", 2))
    ada = Row(name="Ada", age=1)
    assert list(out) == [(None, [], []), (ada, [ada], [1])]


def ps_push() -> Any:
    from penstock.testing import PushSource

    return PushSource()


def test_types_do_not_change_the_checkpoint() -> None:
    def described(output_type: Any) -> Any:
        env = environment()
        env.from_collection([1]).key_by(lambda n: n).map(lambda n: n, output_type).print()
        return build_program(env.graph()).describe_operators()

    assert described(None) == described(Types.LONG())


def test_a_tuple_becomes_a_row_although_a_field_is_pickled() -> None:
    kind = ps.Types.ROW_NAMED(["id", "thing"], [ps.Types.INT(), ps.Types.PICKLED_BYTE_ARRAY()])
    rows: ps.DataStream[Any] = environment().from_collection([1], ps.Types.INT()).map(lambda n: (n, {"n": n}), kind)
    assert run(rows.map(lambda row: (row.id, row.thing))) == [(1, {"n": 1})]


def test_a_collected_keyed_stream_contains_keys() -> None:
    keyed = environment().from_collection([("a", 1)]).key_by(lambda e: e[0])
    assert run(keyed._collected()) == [Row(f0="a", f1=("a", 1))]
