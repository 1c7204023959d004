"""The type of a stream: declared, inferred from annotations, or inherited from the input stream."""

from __future__ import annotations

import functools
from collections.abc import Generator, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Optional, TypeVar

import msgspec
import pytest

import penstock as ps
from penstock import OutputTag, Types
from penstock.connectors import json_lines
from penstock.connectors.basic_sinks import PrintSink
from penstock.connectors.collection import CollectionSource
from penstock.datastream import DataStream
from penstock.plan.inference import infer_type
from penstock.plan.nodes import SinkNode
from penstock.types import TypeInformation

if TYPE_CHECKING:
    from nowhere import Missing  # type: ignore[import-not-found]

T = TypeVar("T")


@dataclass
class Order:
    user: str
    amount: float


class Event(msgspec.Struct):
    k: str


class Point(NamedTuple):
    x: int
    y: int


def to_order(line: str) -> Order:
    return Order(line, 0.0)


def untyped(line):  # type: ignore[no-untyped-def]
    return line


def anything(line: str) -> Any:
    return line


def same(value: T) -> T:
    return value


def unresolved(line: str) -> Missing:
    return line


class Callable_:  # noqa: N801
    def __call__(self, value: int) -> str:
        return str(value)


class Parse(ps.MapFunction[str, Order]):
    def map(self, value: str) -> Order:
        return to_order(value)


class Bare(ps.MapFunction[Any, Any]):
    def map(self, value):  # type: ignore[no-untyped-def]
        return value


def of(python_type: Any) -> TypeInformation:
    return Types.of(python_type)


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (to_order, of(Order)),
        (lambda line: to_order(line), None),
        (untyped, None),
        (anything, None),
        (same, None),
        (unresolved, None),
        (Parse(), of(Order)),
        (Bare(), None),
        (Callable_(), of(str)),
        (functools.partial(to_order), of(Order)),
        (Event, of(Event)),
        (str, of(str)),
        (Parse().map, of(Order)),
        (len, None),
    ],
)
def test_type_of_a_map_function(function: Any, expected: TypeInformation | None) -> None:
    assert infer_type(function, ["map"], many=False) == expected


def iterator(value: str) -> Iterator[Order]:
    yield to_order(value)


def iterable_or_none(value: str) -> Iterable[tuple[str, int]] | None:
    return None


def old_style(value: str) -> Optional[Iterable[int]]:  # noqa: UP045
    return None


def generator(value: str) -> Generator[Point, None, None]:
    yield Point(1, 2)


def listed(value: str) -> list[str]:
    return [value]


def with_side_output(value: str) -> Iterator[int | tuple[OutputTag[str], str]]:
    yield 1


def only_side_output(value: str) -> Iterator[tuple[OutputTag[str], str]]:
    yield OutputTag("a"), value


def several(value: str) -> Iterator[int | str]:
    yield 1


def bare_iterator(value: str) -> Iterator:  # type: ignore[type-arg]
    yield value


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (iterator, of(Order)),
        (iterable_or_none, of(tuple[str, int])),
        (old_style, of(int)),
        (generator, of(Point)),
        (listed, of(str)),
        (with_side_output, of(int)),
        (only_side_output, None),
        (several, of(int | str)),
        (bare_iterator, None),
        (to_order, None),
    ],
)
def test_type_of_a_flat_map_function(function: Any, expected: TypeInformation | None) -> None:
    assert infer_type(function, ["flat_map"], many=True) == expected


class Agreeing(ps.KeyedProcessFunction[str, str, Order]):
    def process_element(self, value: str, ctx: ps.KeyedProcessFunction.Context) -> Iterator[Order]:
        yield to_order(value)


class WithTimer(Agreeing):
    def on_timer(self, timestamp: int, ctx: ps.KeyedProcessFunction.OnTimerContext) -> Iterator[Order]:
        yield to_order("")


class Disagreeing(ps.KeyedProcessFunction[str, str, Any]):
    def process_element(self, value: str, ctx: ps.KeyedProcessFunction.Context) -> Iterator[Order]:
        yield to_order(value)

    def on_timer(self, timestamp: int, ctx: ps.KeyedProcessFunction.OnTimerContext) -> Iterator[str]:
        yield ""


class Both(ps.CoMapFunction[str, int, str]):
    def map1(self, value: str) -> str:
        return value

    def map2(self, value: int) -> str:
        return str(value)


@pytest.fixture
def words() -> DataStream[str]:
    return ps.StreamExecutionEnvironment().set_parallelism(1).from_collection(["a"], Types.STRING())


def test_functions_of_classes_agree_with_themselves(words: DataStream[str]) -> None:
    keyed = words.key_by(lambda w: w)
    assert keyed.process(Agreeing()).get_type() == of(Order)
    assert keyed.process(WithTimer()).get_type() == of(Order)
    assert keyed.process(Disagreeing()).get_type() == Types.PICKLED_BYTE_ARRAY()
    assert words.connect(words.map(len)).map(Both()).get_type() == of(str)


def test_a_declared_type_counts_more_than_an_annotation(words: DataStream[str]) -> None:
    assert words.map(to_order, Types.PICKLED_BYTE_ARRAY()).get_type() == Types.PICKLED_BYTE_ARRAY()
    row = Types.ROW_NAMED(["user", "amount"], [Types.STRING(), Types.DOUBLE()])
    assert words.map(to_order, row).get_type() == row
    assert words.map(to_order, output_type=Order).get_type() == of(Order)
    assert words.key_by(len).map(to_order, row).get_type() == row
    assert words.key_by(lambda w: w).process(Agreeing(), output_type=row).get_type() == row
    assert words.flat_map(listed, Types.STRING()).get_type() == Types.STRING()


def test_the_type_of_a_format_is_declared() -> None:
    """Elements are printed as in Flink, although the type was not declared on the stream."""
    env = ps.StreamExecutionEnvironment(ps.Configuration({"print.style": "flink"}))
    source = CollectionSource([])
    source.output_type = Types.ROW([Types.INT(), Types.STRING()])
    env.from_source(source, ps.WatermarkStrategy.no_watermarks()).print()
    (sink,) = [node.sink for node in env.nodes() if isinstance(node, SinkNode)]
    assert isinstance(sink, PrintSink)
    assert sink.line(ps.Row(1, "hi")) == "+I[1,hi]"


def test_filtered_elements_keep_their_type(words: DataStream[str]) -> None:
    for stream in (
        words.filter(bool),
        words.rebalance(),
        words.key_by(lambda w: w),
        words.key_by(lambda w: w).filter(bool),
        words.key_by(lambda w: w).reduce(lambda a, b: a + b),
        words.union(words.filter(bool)),
        words.assign_timestamps_and_watermarks(ps.WatermarkStrategy.no_watermarks()),
        words.materialize(),
    ):
        assert stream.get_type() == Types.STRING()
    assert words.union(words.map(len)).get_type() == Types.PICKLED_BYTE_ARRAY()  # type: ignore[arg-type]


def test_types_of_keyed_functions(words: DataStream[str]) -> None:
    keyed = words.key_by(lambda w: w)
    assert keyed.map(to_order).get_type() == of(Order)
    assert keyed.flat_map(iterator).get_type() == of(Order)
    assert keyed.map(Parse()).get_type() == of(Order)


def test_sources_and_side_outputs(words: DataStream[str]) -> None:
    env = words.get_execution_environment()
    assert env.from_sequence(1, 2).get_type() == of(int)
    assert env.from_collection([1]).get_type() == Types.PICKLED_BYTE_ARRAY()
    assert env.from_source(json_lines("lines", Event), type_info=None).get_type() == of(Event)
    assert env.from_source(json_lines("lines")).get_type() == Types.PICKLED_BYTE_ARRAY()
    assert words.map(to_order).get_side_output(OutputTag("late", Types.LONG())).get_type() == Types.LONG()
    assert words.map(to_order).get_side_output(OutputTag("late")).get_type() == Types.PICKLED_BYTE_ARRAY()
