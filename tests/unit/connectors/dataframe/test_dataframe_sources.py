"""DataFrame sources and sinks without Spark: types, columns, splits, stored rows."""

from __future__ import annotations

import datetime
import decimal
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import penstock as ps
from penstock import Row
from penstock.connectors import ForeachBatchSink
from penstock.connectors.dataframe import DataFrameStream, DataFrameTable
from penstock.connectors.dataframe.arrow_values import ArrowConverter
from penstock.connectors.dataframe.columns import Columns
from penstock.connectors.dataframe.spark_types import to_python_values
from penstock.connectors.dataframe.streaming_source import DataFrameTask
from penstock.errors import PenstockError, UnsupportedOperation
from penstock.testing import Harness
from penstock.time import NO_TIMESTAMP
from penstock.types import TypeInformation, Types

SCHEMA: dict[str, Any] = {
    "fields": [
        {"name": "topic", "type": "string"},
        {"name": "partition", "type": "integer"},
        {"name": "offset", "type": "long"},
        {"name": "ts", "type": "timestamp"},
    ]
}


def batch(*rows: tuple[str, int, int, int | None]) -> Any:
    """Rows of topic, partition, offset and microseconds."""
    columns = list(zip(*rows, strict=True))
    kinds = [pa.string(), pa.int32(), pa.int64(), pa.timestamp("us", "UTC")]
    return pa.record_batch(
        [pa.array(c, k) for c, k in zip(columns, kinds, strict=True)], ["topic", "partition", "offset", "ts"]
    )


def chunks(columns: Columns, task: int, *batches: Any) -> list[Any]:
    return list(DataFrameStream(None, columns).read(DataFrameTask(task, iter(batches))))


def test_tasks_are_splits_that_end_with_the_batch() -> None:
    first, second = chunks(
        Columns(SCHEMA, "ts"), 3, batch(("a", 0, 7, 1_999)), batch(("a", 0, 8, -1), ("b", 1, 9, None))
    )
    assert (first.split, first.transient, second.split) == ("000003", True, "000003")
    assert (second.start - first.start, first.start) == (1, 3 << 40)  # tasks do not overlap, whatever they read
    assert [*first.timestamps, *second.timestamps] == [1, -1, NO_TIMESTAMP]  # rounded down, also before 1970


def test_columns_name_splits_and_positions() -> None:
    columns = Columns(SCHEMA, "ts", ("topic", "partition"), "offset")
    result = chunks(columns, 0, batch(("a", 1, 7, 0), ("a", 0, 3, 0), ("a", 1, 8, 0)))
    assert [(c.split, c.start, list(c.positions), c.transient) for c in result] == [
        ("a/0", 3, [3], False),
        ("a/1", 7, [7, 8], False),
    ]
    assert [row.offset for row in result[1].values] == [7, 8]


def write_stored_rows(folder: Path, *partitions: int) -> DataFrameTable:
    """Writes a table with the given rows per partition, as Spark stores it, and returns its source."""
    (folder / "rows").mkdir()
    for number, rows in enumerate(partitions):
        table = pa.table({"n": pa.array(range(number * 100, number * 100 + rows), pa.int64())})
        pq.write_table(table, folder / "rows" / f"part-{number:05d}.parquet", row_group_size=7)
    source = DataFrameTable(None, Columns({"fields": [{"name": "n", "type": "long"}]}))
    source.attach(str(folder))
    return source


@given(
    partitions=st.lists(st.integers(0, 40), max_size=4),
    limit=st.integers(1, 50),
    parallelism=st.integers(1, 3),
)
def test_table_is_read_once_in_order_and_in_parallel(
    tmp_path_factory: pytest.TempPathFactory, partitions: list[int], limit: int, parallelism: int
) -> None:
    source = write_stored_rows(tmp_path_factory.mktemp("table"), *partitions)
    source.records_per_batch = limit
    offset, result = source.initial(), []
    while (end := source.latest(offset)) != offset:
        assert not set(source.waiting(end)) & set(source.ended(end))
        for task in source.plan(offset, end, parallelism):
            result += [(c.split, c.start + i, row.n) for c in source.read(task) for i, row in enumerate(c.values)]
        offset = end
    assert sorted(result) == [(f"{p:05d}", i, p * 100 + i) for p, rows in enumerate(partitions) for i in range(rows)]
    assert source.ended(offset) == source.splits(offset)
    assert not source.waiting(offset)


def test_paused_partition_is_not_advanced(tmp_path: Path) -> None:
    source = write_stored_rows(tmp_path, 5, 5)
    source.paused = frozenset({"00001"})
    assert source.latest(source.initial()) == {"rows": [5, 0]}


@dataclass
class Place:
    name: str
    at: tuple[float, float]


LISTS = Types.ROW_NAMED(["a", "b"], [Types.LIST(Types.INT()), Types.MAP(Types.STRING(), Types.DOUBLE())])
ROWS = Types.ROW_NAMED(["a"], [Types.ROW_NAMED(["b"], [Types.SQL_DATE()])])
MOMENTS = Types.TUPLE([Types.SQL_TIMESTAMP(), Types.BOOLEAN()])


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        (Types.LONG(), [1, None]),
        (Types.BIG_DEC(), [decimal.Decimal("1.5")]),
        (LISTS, [Row(a=[1], b={"x": 1.5})]),
        (ROWS, [Row(a=Row(b=datetime.date(2026, 1, 2))), Row(a=None)]),
        (MOMENTS, [(datetime.datetime(2026, 1, 2, 3), True)]),
    ],
    ids=["long", "decimal", "lists and maps", "rows in rows", "moments"],
)
def test_elements_round_trip_through_arrow(kind: TypeInformation, values: list[Any]) -> None:
    arrow_batch = ArrowConverter(kind).batch(values)
    columns = [to_python_values(column) for column in arrow_batch.columns]
    fields = [[v] if arrow_batch.schema.names == ["value"] else list(v) for v in values]
    assert [list(row) for row in zip(*columns, strict=True)] == fields


def test_objects_and_tuples_have_a_column_per_field() -> None:
    form = ArrowConverter(ps.types.type_information(Place))
    assert form.batch([Place("a", (1.0, 2.0))]).to_pylist() == [{"name": "a", "at": {"f0": 1.0, "f1": 2.0}}]


def test_slices_of_lists_and_maps_are_read_correctly() -> None:
    lists = pa.array([[1], [2, 3], None, [4]])
    maps = pa.array([[("a", 1)], [("b", 2), ("c", 3)], None], pa.map_(pa.string(), pa.int64()))
    structs = pa.array([{"x": 1}, None, {"x": 3}])
    assert to_python_values(lists.slice(1)) == [[2, 3], None, [4]]
    assert to_python_values(maps.slice(1)) == [{"b": 2, "c": 3}, None]
    assert to_python_values(structs.slice(1)) == [None, Row(x=3)]


class FakeFrame:
    """A stand-in for a DataFrame."""

    isStreaming = True  # noqa: N815 - its name in Spark

    class schema:  # noqa: N801 - its name in Spark
        @staticmethod
        def jsonValue() -> dict[str, Any]:  # noqa: N802 - its name in Spark
            return SCHEMA

    def mapInArrow(self) -> None: ...  # noqa: N802 - its name in Spark


def test_harness_error_says_that_dataframes_need_spark() -> None:
    env = ps.StreamExecutionEnvironment.get_execution_environment()
    stream = env.from_dataframe(FakeFrame())
    harness = Harness(env)
    harness.collect(stream)
    with pytest.raises(PenstockError, match="Only Spark can read a DataFrame"):
        harness.run()


def test_harness_shows_the_arguments_of_a_batch_function() -> None:
    env = ps.StreamExecutionEnvironment.get_execution_environment()
    numbers = env.from_collection([1, 2]).map(lambda n: n, output_type=Types.LONG())
    numbers.sink_to(ForeachBatchSink(print)).name("warehouse")
    harness = Harness(env)
    harness.run()
    assert list(harness.sink("warehouse")) == [1, 2]


def test_function_of_a_sink_is_not_pickled() -> None:
    import pickle

    sink = ForeachBatchSink(lambda frame, number: None, Types.LONG())
    assert pickle.loads(pickle.dumps(sink)).schema.names == ["value"]
    with pytest.raises(UnsupportedOperation, match="DATAFRAME_WITHOUT_SPARK"):
        sink.commit(0, [])
