"""Bulk file formats: Parquet, ORC, Avro, CSV."""

from __future__ import annotations

import dataclasses
import io
import pickle
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings

import penstock as ps
from penstock.connectors import FileSink, FileSource
from penstock.errors import ConfigError, PlanError, UnsupportedOperation, UserFunctionError
from penstock.formats import (
    AvroBulkWriters,
    AvroInputFormat,
    AvroParquetReaders,
    AvroParquetWriters,
    AvroSchema,
    BulkFormat,
    BulkWriterFactory,
    CsvBulkWriters,
    CsvReaderFormat,
    CsvSchema,
    OrcBulkWriters,
    OrcColumnarRowInputFormat,
    ParquetBulkWriters,
    ParquetColumnarRowInputFormat,
)
from penstock.pyflink.tables import DataTypes
from penstock.row import Row
from penstock.testing import Harness
from penstock.types import BasicType, BasicTypeInfo, RowTypeInfo, Types
from tests.unit.formats.strategies import CLOCKS, INSTANTS, SINGLE, Kind, nested, rows, same


def is_unbounded(kind: Kind) -> bool:
    return isinstance(kind[0], BasicTypeInfo) and kind[0].basic_type in (BasicType.BIG_DEC, BasicType.BIG_INT)


FIXED = [kind for kind in [*SINGLE, INSTANTS] if not is_unbounded(kind)]


def through(writers: BulkWriterFactory, reader: BulkFormat, *batches: list[Any]) -> list[Any]:
    file = io.BytesIO()
    writer = pickle.loads(pickle.dumps(writers)).create(file)
    for values in batches:
        writer.write(values)
    writer.finish()
    assert not file.closed
    file.seek(0)
    return [value for some in pickle.loads(pickle.dumps(reader)).read(file) for value in some]


@settings(max_examples=60, deadline=None)
@given(rows(nested([*FIXED, CLOCKS])))
def test_parquet_round_trip(drawn: tuple[RowTypeInfo, list[Row]]) -> None:
    kind, values = drawn
    result = through(ParquetBulkWriters.for_row_type(kind), ParquetColumnarRowInputFormat(kind), values, values)
    assert same(result, values + values)


@settings(max_examples=60, deadline=None)
@given(rows(nested(FIXED)))
def test_orc_round_trip(drawn: tuple[RowTypeInfo, list[Row]]) -> None:
    kind, values = drawn
    result = through(OrcBulkWriters.for_row_type(kind), OrcColumnarRowInputFormat(kind), values, values)
    assert same(result, values + values)


class Order(msgspec.Struct):
    id: int
    items: list[str]
    note: str | None = None


@dataclasses.dataclass
class Point:
    x: float


@pytest.mark.parametrize(
    ("writers", "reader"),
    [(ParquetBulkWriters, ParquetColumnarRowInputFormat), (OrcBulkWriters, OrcColumnarRowInputFormat)],
)
def test_objects(writers: Any, reader: Any) -> None:
    orders = [Order(1, ["a"]), Order(2, [], "x")]
    assert through(writers.for_row_type(Order), reader(Order), orders) == orders
    assert through(writers.for_row_type(Types.of(Point)), reader(Types.of(Point)), [Point(1.5)]) == [Point(1.5)]
    assert through(writers.for_row_type(Order), reader(Order)) == []
    with pytest.raises(PlanError, match="ROW_TYPE_EXPECTED"):
        writers.for_row_type(Types.STRING())
    with pytest.raises(PlanError, match="COLUMN_TYPE"):
        reader(Types.ROW([Types.PICKLED_BYTE_ARRAY()]))
    with pytest.raises(UserFunctionError, match="ELEMENT_TYPE"):
        through(writers.for_row_type(Types.ROW([Types.INT()])), reader(Order), [("x",)])


def test_orc_does_not_support_time() -> None:
    with pytest.raises(UnsupportedOperation, match="ORC_TYPE"):
        OrcBulkWriters.for_row_type(Types.ROW_NAMED(["t"], [Types.SQL_TIME()]))


def test_columns_of_parquet() -> None:
    """Reads declared columns by name; missing columns are None."""
    file = io.BytesIO()
    pq.write_table(pa.table({"B": [1, 2], "a": ["x", "y"], "c": [0.5, None]}), file)
    row_type = DataTypes.ROW(
        [
            DataTypes.FIELD("a", DataTypes.STRING()),
            DataTypes.FIELD("b", DataTypes.INT()),
            DataTypes.FIELD("d", DataTypes.ARRAY(DataTypes.BIGINT())),
        ]
    )
    exact = ParquetColumnarRowInputFormat(row_type=row_type, batch_size=1)
    assert list(exact.read(io.BytesIO(file.getvalue()))) == [[Row(a="x", b=None, d=None)], [Row(a="y", b=None, d=None)]]
    folded = ParquetColumnarRowInputFormat(row_type=row_type, is_case_sensitive=False)
    assert list(folded.read(io.BytesIO(file.getvalue()))) == [[Row(a="x", b=1, d=None), Row(a="y", b=2, d=None)]]
    wrong = ParquetColumnarRowInputFormat(Types.ROW_NAMED(["a"], [Types.INT()]))
    with pytest.raises(ValueError, match="column 'a' has the type string and cannot be read as int32"):
        list(wrong.read(io.BytesIO(file.getvalue())))


def test_truncated_file() -> None:
    kind = Types.ROW_NAMED(["a"], [Types.INT()])
    schema = AvroSchema('{"type": "record", "name": "P", "fields": [{"name": "a", "type": "int"}]}')
    for writers, reader, value in (
        (ParquetBulkWriters.for_row_type(kind), ParquetColumnarRowInputFormat(kind), Row(a=1)),
        (OrcBulkWriters.for_row_type(kind), OrcColumnarRowInputFormat(kind), Row(a=1)),
        (AvroBulkWriters.for_generic_record(schema), AvroInputFormat("x", schema), {"a": 1}),
    ):
        file = io.BytesIO()
        writer = writers.create(file)
        writer.write([value] * 100)
        writer.finish()
        with pytest.raises(Exception):  # noqa: B017, PT011 - each library has its own errors, which the file source converts
            list(reader.read(io.BytesIO(file.getvalue()[:-10])))


RECORD = """{"type": "record", "name": "P", "fields": [{"name": "a", "type": "int"},
  {"name": "tags", "type": {"type": "map", "values": "string"}},
  {"name": "in", "type": ["null", {"type": "record", "name": "Q", "fields": [{"name": "z", "type": "double"}]}]}]}"""


def test_records_of_avro() -> None:
    schema = AvroSchema(RECORD)
    records = [{"a": 1, "tags": {"k": "v"}, "in": {"z": 0.5}}, {"a": 2, "tags": {}, "in": None}]
    assert (
        through(AvroBulkWriters.for_generic_record(schema), AvroInputFormat("", schema), records, records)
        == records * 2
    )
    parquet = AvroParquetWriters.for_generic_record(schema), AvroParquetReaders.for_generic_record(schema)
    assert through(*parquet, records) == records
    assert through(AvroBulkWriters.for_generic_record(schema), AvroInputFormat("", schema)) == []


def csv_schema() -> Any:
    builder = CsvSchema.builder().add_number_column("id", DataTypes.INT()).add_string_column("name")
    return builder.add_array_column("list", ",", DataTypes.STRING()).set_column_separator("|").set_escape_char("\\")


def test_csv() -> None:
    schema = csv_schema().build()
    assert (len(schema), repr(schema.row_type())) == (
        3,
        "RowTypeInfo(id: Integer, name: String, list: ListTypeInfo<String>)",
    )
    values = [Row(id=1, name='a "b"\n|', list=["x", "y"]), Row(id=2, name="", list=[])]
    assert through(CsvBulkWriters.for_schema(schema), CsvReaderFormat.for_schema(schema), values) == values
    with_header = csv_schema().set_use_header().set_strict_headers().build()
    assert through(CsvBulkWriters.for_schema(with_header), CsvReaderFormat.for_schema(with_header), values) == values


def read_csv(text: str, builder: Any) -> list[Any]:
    return [
        tuple(row)
        for some in CsvReaderFormat.for_schema(builder.build()).read(io.BytesIO(text.encode()))
        for row in some
    ]


def test_headers_comments_and_first_rows() -> None:
    def two() -> Any:
        return CsvSchema.builder().add_string_column("a").add_number_column("b")

    assert read_csv("# c\na,1\r\n\nb,2", two().set_allow_comments()) == [("a", 1), ("b", 2)]
    assert read_csv("x,y\na,1\n", two().set_skip_first_data_row()) == [("a", 1)]
    assert read_csv("b,c,a\n1,-,x\n", two().set_use_header()) == [("x", 1)]
    assert read_csv("", two().set_use_header()) == []
    with pytest.raises(ValueError, match="are missing"):
        read_csv("b,c\n1,2\n", two().set_use_header())
    with pytest.raises(ValueError, match="expected the columns"):
        read_csv("b,a\n1,x\n", two().set_use_header().set_strict_headers())
    with pytest.raises(ValueError, match="field 'b'"):
        read_csv("a,x\n", two())
    with pytest.raises(ValueError, match="cannot be read"):
        read_csv('"a,1\n', two())
    with pytest.raises(ConfigError, match="CSV_SIGN"):
        CsvBulkWriters.for_schema(two().set_line_separator("").build())
    assert len(two().add_columns_from(two().build())) == 4
    assert two().clear_columns().size() == 0


def test_round_trip_through_a_job(tmp_path: Path) -> None:
    """A file sink writes files that a file source reads."""
    kind = Types.ROW_NAMED(["a", "b"], [Types.LONG(), Types.STRING()])
    values = [Row(a=n, b=str(n)) for n in range(100)]
    csv = CsvSchema.builder().add_number_column("a").add_string_column("b").build()
    ways: dict[str, tuple[Any, Any]] = {
        "parquet": (ParquetBulkWriters.for_row_type(kind), ParquetColumnarRowInputFormat(kind)),
        "orc": (OrcBulkWriters.for_row_type(kind), OrcColumnarRowInputFormat(kind)),
        "csv": (CsvBulkWriters.for_schema(csv), CsvReaderFormat.for_schema(csv)),
    }
    env = ps.StreamExecutionEnvironment()
    stream = env.from_collection(values, kind)
    for name, (writers, _) in ways.items():
        stream.sink_to(FileSink.for_bulk_format(str(tmp_path / name), writers).build())
    Harness(env, real_sinks=True).run()
    for name, (_, reader) in ways.items():
        env = ps.StreamExecutionEnvironment()
        source = FileSource.for_bulk_file_format(reader, str(tmp_path / name)).build()
        harness = Harness(env)
        result = harness.collect(env.from_source(source))
        harness.run()
        assert sorted(result, key=lambda row: row.a) == values, name


def test_create_input(tmp_path: Path) -> None:
    schema = AvroSchema(RECORD)
    records: list[Any] = [{"a": n, "tags": {}, "in": None} for n in range(10)]
    env = ps.StreamExecutionEnvironment()
    sink = FileSink.for_bulk_format(str(tmp_path / "out"), AvroBulkWriters.for_generic_record(schema)).build()
    env.from_collection(records).sink_to(sink)
    Harness(env, real_sinks=True).run()
    env = ps.StreamExecutionEnvironment()
    harness = Harness(env)
    result = harness.collect(env.create_input(AvroInputFormat(str(tmp_path / "out"), schema)))
    harness.run()
    assert list(result) == records
    with pytest.raises(UnsupportedOperation, match="INPUT_FORMAT"):
        env.create_input(object())
