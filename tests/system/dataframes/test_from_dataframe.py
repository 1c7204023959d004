"""DataFrames as sources, on Spark."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.functions import col, timestamp_millis

import penstock as ps
from penstock import Row
from penstock.errors import PenstockError, PlanError, UnsupportedOperation
from penstock.windows import TumblingEventTimeWindows

pytestmark = pytest.mark.spark
FINAL = ps.WatermarkStrategy.for_monotonous_timestamps()


def env_in(tmp_path: Path, **options: Any) -> ps.StreamExecutionEnvironment:
    settings = {"execution.checkpointing.dir": str(tmp_path / "checkpoints"), **options}
    env = ps.StreamExecutionEnvironment.get_execution_environment(ps.Configuration(settings))
    env.set_parallelism(2)
    return env


def totals(env: ps.StreamExecutionEnvironment, frame: Any) -> list[Any]:
    stream = env.from_dataframe(frame, FINAL, timestamp_column="ts")
    windows = stream.key_by(lambda r: r.key).window(TumblingEventTimeWindows.of(ps.Time.seconds(1)))
    counted = windows.reduce(lambda a, b: Row(key=a.key, ts=a.ts, n=a.n + b.n)).map(lambda r: (r.key, r.n))
    return sorted(counted.execute_and_collect())


@pytest.mark.parametrize("mode", ["STREAMING", "BATCH"])
def test_a_batch_dataframe_is_a_bounded_source(spark: SparkSession, tmp_path: Path, mode: str) -> None:
    """Partitions are splits that are read in parallel. Rows that are in order within a partition are not late."""
    frame = spark.range(0, 3000, 1, 3).select(
        (col("id") % 2).cast("string").alias("key"),
        timestamp_millis(col("id") % 1000 * 3).alias("ts"),
        col("id").alias("n"),
    )
    env = env_in(tmp_path, **{"execution.runtime-mode": mode, "source.batch.records": 500})
    expected: dict[tuple[str, int], int] = {}
    for i in range(3000):
        window = (str(i % 2), i % 1000 * 3 // 1000)
        expected[window] = expected.get(window, 0) + i
    assert totals(env, frame) == sorted((key, n) for (key, _), n in expected.items())


def collected(env: ps.StreamExecutionEnvironment, frame: Any, **how: Any) -> list[Any]:
    return list(env.from_dataframe(frame, **how).execute_and_collect())


def test_rows_have_the_types_of_their_columns(spark: SparkSession, tmp_path: Path) -> None:
    frame = spark.sql(
        """select 1L a, 'x' b, 1.5D c, true d, binary('y') e, date'2026-01-02' f, timestamp'2026-01-02 03:04:05.678' g,
                  12.30BD h, named_struct('i', 1, 'j', array('k')) l, map('m', named_struct('n', 2)) o, array(array(1)) p,
                  cast(null as string) q, cast(null as struct<r:int>) s, cast(1 as tinyint) t"""
    )
    import decimal

    (row,) = collected(env_in(tmp_path), frame)
    assert row == Row(
        a=1, b="x", c=1.5, d=True, e=b"y", f=datetime.date(2026, 1, 2), g=datetime.datetime(2026, 1, 2, 3, 4, 5, 678000),
        h=decimal.Decimal("12.30"), l=Row(i=1, j=["k"]), o={"m": Row(n=2)}, p=[[1]], q=None, s=None, t=1,
    )  # fmt: skip


def test_an_empty_dataframe_ends_immediately(spark: SparkSession, tmp_path: Path) -> None:
    assert collected(env_in(tmp_path), spark.range(0)) == []


def test_a_table_is_evaluated_once_and_read_again_from_the_checkpoint(spark: SparkSession, tmp_path: Path) -> None:
    """The job stops, and the table changes. The resumed job reads the original rows."""
    table = tmp_path / "table"
    spark.range(0, 2000, 1, 2).write.parquet(str(table))
    env = env_in(tmp_path, **{"source.batch.records": 200})
    with env.from_dataframe(spark.read.parquet(str(table))).execute_and_collect() as rows:
        first = [row.id for row, _ in zip(rows, range(150), strict=False)]
    (checkpoint,) = (tmp_path / "checkpoints").iterdir()
    spark.range(5000, 5001).write.mode("overwrite").parquet(str(table))
    env = env_in(tmp_path, **{"execution.resume": str(checkpoint)})
    spark.catalog.clearCache()
    rest = [row.id for row in env.from_dataframe(spark.read.parquet(str(table))).execute_and_collect()]
    # The number of committed batches is unknown. The rows after them must be complete in both splits.
    assert set(first) <= set(range(2000))
    below, above = [n for n in rest if n < 1000], [n for n in rest if n >= 1000]
    assert below == list(range(below[0], 1000))
    assert above == list(range(above[0], 2000))


class Sums(ps.KeyedProcessFunction[int, Row, tuple[int, int]]):
    """Sums the values of rows by key. Fails once at a given value."""

    def __init__(self, fails_at: int = -1, mark: str = "") -> None:
        self._fails_at, self._mark = fails_at, mark

    def open(self, runtime_context: ps.RuntimeContext) -> None:
        self._sum = runtime_context.get_state(ps.ValueStateDescriptor("sum", ps.Types.LONG()))

    def process_element(self, value: Row, ctx: Any) -> Any:
        if value.value == self._fails_at and not Path(self._mark).exists():
            Path(self._mark).touch()
            raise ValueError("once")
        total = (self._sum.value() or 0) + value.value
        self._sum.update(total)
        yield value.value, total


def test_a_streaming_dataframe_after_a_failure(spark: SparkSession, tmp_path: Path) -> None:
    """Spark reads JSON files, three per batch. State is correct although a batch fails and runs again."""
    folder = tmp_path / "in"
    folder.mkdir()
    for i in range(6):
        (folder / f"{i}.json").write_text("".join(f'{{"value": {i * 10 + j}}}\n' for j in range(10)))
    frame = spark.readStream.schema("value long").option("maxFilesPerTrigger", 3).json(str(folder))
    env = env_in(tmp_path, **{"restart-strategy.type": "fixed-delay", "restart-strategy.fixed-delay.attempts": 3})
    keyed = env.from_dataframe(frame).key_by(lambda r: r.value % 3)
    sums = keyed.process(Sums(37, str(tmp_path / "failed")))
    with sums.execute_and_collect() as found:
        rows = [next(found) for _ in range(60)]
    assert (tmp_path / "failed").exists()
    assert sorted(value for value, _ in rows) == list(range(60))
    assert {max(t for v, t in rows if v % 3 == k) for k in range(3)} == {sum(range(k, 60, 3)) for k in range(3)}


def test_each_task_of_a_batch_is_a_split(spark: SparkSession, tmp_path: Path) -> None:
    """Two files in one batch, each in order. Rows of the second are not late although the first one is ahead."""
    folder = tmp_path / "in"
    folder.mkdir()
    for name in "ab":
        (folder / f"{name}.json").write_text(
            "".join(f'{{"key": "{name}", "ts": {t}, "n": 1}}\n' for t in range(0, 5000, 10))
        )
    spark.conf.set("spark.sql.files.openCostInBytes", str(128 << 20))  # one task per file
    try:
        frame = spark.readStream.schema("key string, ts long, n long").json(str(folder))
        stream = env_in(tmp_path).from_dataframe(frame, FINAL, timestamp_column="ts")
        windows = stream.key_by(lambda r: r.key).window(TumblingEventTimeWindows.of(ps.Time.seconds(1)))
        counted = windows.reduce(lambda a, b: Row(key=a.key, ts=a.ts, n=a.n + b.n)).map(lambda r: (r.key, r.n))
        with counted.execute_and_collect() as found:
            rows = [next(found) for _ in range(8)]  # the last window of each key does not end
    finally:
        spark.conf.unset("spark.sql.files.openCostInBytes")
    assert sorted(rows) == [("a", 100)] * 4 + [("b", 100)] * 4


def test_unsupported_dataframes_are_errors_when_the_job_is_built(spark: SparkSession, tmp_path: Path) -> None:
    env = env_in(tmp_path)
    with pytest.raises(UnsupportedOperation, match=r"DATAFRAME_TYPE.*Column 'i' .*interval.*selectExpr"):
        env.from_dataframe(spark.sql("select interval 1 day i"))
    with pytest.raises(PlanError, match=r"DATAFRAME_COLUMN.*no column 'tz'; its columns are id"):
        env.from_dataframe(spark.range(1), timestamp_column="tz")
    with pytest.raises(PlanError, match=r"DATAFRAME_COLUMN.*'id' has the type string"):
        env.from_dataframe(spark.sql("select 'a' id"), timestamp_column="id")
    with pytest.raises(PlanError, match=r"NOT_A_DATAFRAME.*list"):
        env.from_dataframe([1, 2])
    with pytest.raises(PlanError, match=r"DATAFRAME_POSITION"):
        env.from_dataframe(spark.range(1), position_column="id")
    with pytest.raises(PlanError, match=r"DATAFRAME_SPLITS"):
        env.from_dataframe(spark.range(1), split_by=["id"])


def test_an_error_in_the_dataframe_names_the_source(spark: SparkSession, tmp_path: Path) -> None:
    frame = spark.sql("select cast(raise_error('no such customer') as string) x")
    with pytest.raises(PenstockError, match=r"(?s)[Ss]ource 'customers'.*no such customer"):
        list(env_in(tmp_path).from_dataframe(frame, None, "customers").execute_and_collect())


def test_alignment_of_a_streaming_dataframe_is_an_error(spark: SparkSession, tmp_path: Path) -> None:
    aligned = FINAL.with_watermark_alignment("group", ps.Duration.of_seconds(1))
    env = env_in(tmp_path)
    env.from_dataframe(spark.readStream.format("rate").load(), aligned).print()
    with pytest.raises(PlanError, match=r"ALIGNMENT_PLACE.*streaming DataFrame"):
        env.execute()
