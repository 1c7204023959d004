"""Batches passed to a function as DataFrames: at least once, and exactly once if the function writes each batch id once."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from pyspark.sql import SparkSession

import penstock as ps
from penstock.connectors import ForeachBatchSink, SparkSink
from penstock.errors import PenstockError, PlanError, UserFunctionError
from tests.system.dataframes.test_from_dataframe import env_in

WORD = ps.Types.ROW_NAMED(["word", "n"], [ps.Types.STRING(), ps.Types.LONG()])


class Event(NamedTuple):
    name: str
    when: datetime.datetime
    tags: list[str]
    sizes: dict[str, int]


def event(n: int) -> Event:
    return Event(f"n{n}", datetime.datetime(2026, 1, 1, 0, 0, n), ["a", "b"], {"x": n})


@pytest.mark.spark
@pytest.mark.parametrize("mode", ["STREAMING", "BATCH"])
def test_each_batch_is_a_dataframe_of_the_elements(spark: SparkSession, tmp_path: Path, mode: str) -> None:
    """The function runs in the driver program, so it can use its variables."""
    batches: dict[int, list[Any]] = {}

    def collect(frame: Any, batch: int) -> None:
        assert frame.schema.simpleString() == "struct<word:string,n:bigint>"
        batches[batch] = sorted((row.word, row.n) for row in frame.collect())

    env = env_in(tmp_path, **{"execution.runtime-mode": mode, "source.batch.records": 40})
    numbers = env.from_sequence(0, 99).map(lambda n: ps.Row(word=f"w{n % 3}", n=n), output_type=WORD)
    numbers.sink_to(ForeachBatchSink(collect))
    env.execute()
    assert sorted(row for rows in batches.values() for row in rows) == sorted((f"w{n % 3}", n) for n in range(100))
    assert len(batches) == (1 if mode == "BATCH" else 3)
    assert not list((tmp_path / "checkpoints").rglob("*.parquet"))  # the files of the batches are removed


@pytest.mark.spark
def test_a_failed_batch_is_passed_again_with_the_same_id(spark: SparkSession, tmp_path: Path) -> None:
    calls: list[int] = []
    out = tmp_path / "out"

    def write(frame: Any, batch: int) -> None:
        """Overwrites the folder of the batch, so its rows are written exactly once."""
        calls.append(batch)
        frame.write.mode("overwrite").parquet(f"{out}/batch={batch}")
        if calls.count(1) == 1 and batch == 1:
            raise OSError("the warehouse is not available")

    env = env_in(
        tmp_path,
        **{
            "source.batch.records": 40,
            "restart-strategy.type": "fixed-delay",
            "restart-strategy.fixed-delay.attempts": 2,
            "restart-strategy.fixed-delay.delay": "10 ms",
        },
    )
    stream = env.from_sequence(0, 99).key_by(lambda n: n % 3).reduce(lambda a, b: a + b)
    stream.map(lambda n: n, output_type=ps.Types.LONG()).sink_to(ForeachBatchSink(write))
    env.execute()
    assert calls.count(1) == 2
    written = sorted(row.value for row in spark.read.parquet(str(out)).collect())
    running = [sum(range(n % 3, n + 1, 3)) for n in range(100)]
    assert written == sorted(running)


@pytest.mark.spark
def test_an_error_in_the_function_names_the_sink(spark: SparkSession, tmp_path: Path) -> None:
    def broken(frame: Any, batch: int) -> None:
        raise ValueError("no such table")

    env = env_in(tmp_path)
    env.from_sequence(0, 9).map(lambda n: n, output_type=ps.Types.LONG()).sink_to(ForeachBatchSink(broken)).name(
        "warehouse"
    )
    with pytest.raises(UserFunctionError, match=r"(?s)[Ss]ink 'warehouse'.*test_foreach_batch.py.*no such table"):
        env.execute()


@pytest.mark.spark
def test_a_spark_sink_with_a_type_from_annotations(spark: SparkSession, tmp_path: Path) -> None:
    env = env_in(tmp_path)
    env.from_sequence(1, 3).map(event).sink_to(SparkSink("json", {"path": str(tmp_path / "out")}))
    env.execute()
    read = spark.read.schema("name string, when timestamp, tags array<string>, sizes map<string,int>").json(
        str(tmp_path / "out")
    )
    rows = sorted(read.collect())
    assert [(r.name, r.tags, r.sizes) for r in rows] == [(f"n{n}", ["a", "b"], {"x": n}) for n in (1, 2, 3)]


@pytest.mark.spark
def test_to_dataframe(spark: SparkSession, tmp_path: Path) -> None:
    env = env_in(tmp_path, **{"source.batch.records": 40})
    frame = (
        env.from_sequence(0, 99)
        .map(lambda n: (n % 3, n), output_type=ps.Types.TUPLE([ps.Types.INT(), ps.Types.LONG()]))
        .to_dataframe()
    )
    found = {
        row.f0: row.total
        for row in frame.groupBy("f0").agg({"f1": "sum"}).withColumnRenamed("sum(f1)", "total").collect()
    }
    assert found == {k: sum(range(k, 100, 3)) for k in range(3)}
    none = env.from_sequence(0, 9).filter(lambda n: n > 9).map(lambda n: n, output_type=ps.Types.LONG()).to_dataframe()
    assert (none.count(), none.schema.simpleString()) == (0, "struct<value:bigint>")


@pytest.mark.spark
def test_to_dataframe_needs_bounded_input(spark: SparkSession, tmp_path: Path) -> None:
    stream = env_in(tmp_path).from_dataframe(spark.readStream.format("rate").load(), None, "ticks")
    with pytest.raises(PlanError, match=r"UNBOUNDED_DATAFRAME.*source 'ticks'.*ForeachBatchSink"):
        stream.to_dataframe()


def test_an_unknown_type_is_an_error_when_the_job_is_built() -> None:
    env = ps.StreamExecutionEnvironment.get_execution_environment()
    with pytest.raises(PlanError, match=r"FOREACH_BATCH_TYPE.*output_type=Types.ROW_NAMED"):
        env.from_collection([object()]).map(lambda x: x).sink_to(ForeachBatchSink(print))
    pickled = env.from_collection([1]).map(lambda x: x, output_type=ps.Types.PICKLED_BYTE_ARRAY())
    with pytest.raises(PenstockError, match=r"DATAFRAME_TYPE|FOREACH_BATCH_TYPE"):
        pickled.sink_to(ForeachBatchSink(print))
    with pytest.raises(PlanError, match=r"FOREACH_BATCH_FUNCTION"):
        ForeachBatchSink("warehouse")  # type: ignore[arg-type]


def test_secrets_of_a_spark_sink_are_redacted() -> None:
    sink = SparkSink("jdbc", {"url": "jdbc:x", "password": "open-sesame-4711"})
    assert "open-sesame-4711" not in f"{sink} {sink!r} {vars(sink)} {sink.__getstate__()}"
    assert sink.plain_options()["password"] == "open-sesame-4711"
