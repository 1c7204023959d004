"""Types on Spark: classes of the program reach workers, rows come back, and a wrong type has its own error code."""

from __future__ import annotations

import datetime
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import pytest
from pyspark.sql import SparkSession

import penstock as ps
from penstock import Row, Types
from penstock.errors import PenstockError

pytestmark = pytest.mark.spark


@dataclass
class Reading:
    sensor: str
    at: datetime.datetime
    values: list[float]


def reading(number: int) -> Reading:
    return Reading(f"sensor-{number % 7}", datetime.datetime(2024, 1, 1, 0, 0, number % 60), [number / 2])


COUNTED = Types.ROW_NAMED(["sensor", "last", "sum"], [Types.STRING(), Types.SQL_TIMESTAMP(), Types.BIG_DEC()])


class Count(ps.KeyedProcessFunction[str, Reading, Any]):
    def open(self, runtime_context: ps.RuntimeContext) -> None:
        self.seen = runtime_context.get_state(ps.ValueStateDescriptor("seen", COUNTED))

    def process_element(self, value: Reading, ctx: ps.KeyedProcessFunction.Context) -> Any:
        seen = self.seen.value()
        total = (seen.sum if seen is not None else 0) + 1
        self.seen.update(Row(sensor=value.sensor, last=value.at, sum=total))
        yield value.sensor, value.at, total


def environment(folder: Path) -> ps.StreamExecutionEnvironment:
    settings = {"execution.checkpointing.dir": str(folder / "checkpoints"), "state.local.dir": str(folder / "local")}
    return ps.StreamExecutionEnvironment(ps.Configuration(settings)).set_parallelism(2)


def test_typed_elements_and_state(spark: SparkSession, tmp_path: Path) -> None:
    numbers = environment(tmp_path).from_collection(list(range(2100)))
    readings = numbers.map(reading)
    assert readings.get_type() == Types.of(Reading)
    counted: Any = readings.key_by(lambda r: r.sensor).process(Count(), output_type=COUNTED)
    with counted.rebalance().map(lambda row: row).execute_and_collect() as rows:
        found = list(rows)
    assert len(found) == 2100
    assert {type(row) for row in found} == {Row}
    assert {row.sensor: row.sum for row in found if row.sum == 300} == {f"sensor-{i}": 300 for i in range(7)}
    assert all(isinstance(row.last, datetime.datetime) for row in found)


def test_an_element_of_a_wrong_type_is_an_error(spark: SparkSession, tmp_path: Path) -> None:
    numbers = environment(tmp_path).from_collection(list(range(10)))
    wrong = numbers.key_by(lambda n: n % 2).map(lambda n: n if n < 9 else "nine", output_type=Types.LONG()).name("last")
    with pytest.raises(PenstockError, match="ELEMENT_TYPE") as caught, wrong.execute_and_collect() as found:
        list(found)
    assert "'last'" in str(caught.value)
    assert "'nine'" in str(caught.value)


@pytest.fixture
def main_struct(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A Struct of the main module of the program, which workers do not import."""
    made = msgspec.defstruct("OfMain", [("number", int), ("word", str, "none")], module="__main__")
    monkeypatch.setattr(sys.modules["__main__"], "OfMain", made, raising=False)
    return made


def test_a_struct_of_the_main_module_is_returned_as_the_same_class(
    spark: SparkSession, tmp_path: Path, main_struct: Any
) -> None:
    stream = environment(tmp_path).from_collection([1, 2, 3]).map(lambda n: main_struct(n))
    found = list(stream.key_by(lambda s: s.number).map(lambda s: main_struct(-s.number, "there")).execute_and_collect())
    assert sorted(found, key=lambda s: -s.number) == [main_struct(-n, "there") for n in (1, 2, 3)]
    assert {type(s) for s in found} == {main_struct}
