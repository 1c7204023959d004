"""Columns of files as in Flink: the scale of decimals, separators and headers of CSV, null fields and unions of Avro in Parquet."""

from __future__ import annotations

import decimal
import io
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from penstock.formats import (
    AvroParquetReaders,
    AvroParquetWriters,
    AvroSchema,
    CsvBulkWriters,
    CsvReaderFormat,
    CsvSchema,
    ParquetBulkWriters,
)
from penstock.formats.csv.files import CsvSchemaBuilder
from penstock.formats.row_field import RowFieldExtractorSchema
from penstock.pyflink.tables import DataTypes
from penstock.row import Row

TWO_DIGITS = DataTypes.DECIMAL(2, 0)


def read_csv(text: str, columns: Callable[[CsvSchemaBuilder], CsvSchemaBuilder]) -> list[Any]:
    reader = CsvReaderFormat.for_schema(columns(CsvSchema.builder()).build())
    return [row for block in reader.read(io.BytesIO(text.encode())) for row in block]


def write(writers: Any, values: list[Any]) -> bytes:
    file = io.BytesIO()
    writer = writers.create(file)
    writer.write(values)
    writer.finish()
    return file.getvalue()


def test_decimals_have_the_scale_of_their_column() -> None:
    assert read_csv("1.5\n", lambda b: b.add_number_column("d", TWO_DIGITS)) == [Row(d=decimal.Decimal(2))]
    row_type = DataTypes.ROW([DataTypes.FIELD("d", TWO_DIGITS)])
    file = write(ParquetBulkWriters.for_row_type(row_type), [Row(d=decimal.Decimal("1.5")), Row(d=None)])
    table = pq.read_table(pa.BufferReader(file))
    assert table.schema.field("d").type == pa.decimal128(2, 0)
    assert table.to_pydict() == {"d": [decimal.Decimal(2), None]}


def test_a_decimal_with_too_many_digits_is_refused() -> None:
    with pytest.raises(ValueError, match=r"field 'd': 99.9 has too many digits for DECIMAL\(2, 0\)"):
        read_csv("99.9\n", lambda b: b.add_number_column("d", TWO_DIGITS))
    with pytest.raises(ValueError, match="precision must be from 1 to 38"):
        DataTypes.DECIMAL(39, 0)


def test_each_array_column_of_csv_has_its_own_separator() -> None:
    def columns(builder: CsvSchemaBuilder) -> CsvSchemaBuilder:
        builder.add_array_column("a", ";", DataTypes.INT()).add_array_column("b", ",", DataTypes.STRING())
        return builder.set_column_separator("|").disable_quote_char()

    rows = read_csv("1;2|x,y\n", columns)
    assert rows == [Row(a=[1, 2], b=["x", "y"])]
    schema = columns(CsvSchema.builder()).build()
    assert write(CsvBulkWriters.for_schema(schema), rows) == b"1;2|x,y\n"
    copied = CsvSchema.builder().add_columns_from(schema).set_column_separator("|").disable_quote_char().build()
    assert copied.array_delimiters == {"a": ";", "b": ","}


def test_a_csv_header_with_other_names_is_skipped() -> None:
    def columns(builder: CsvSchemaBuilder) -> CsvSchemaBuilder:
        return builder.add_string_column("s").add_number_column("n").set_use_header()

    assert read_csv("h1,h2\nx,1\n", columns) == [Row(s="x", n=1)]
    assert read_csv("n,s\n1,x\n", columns) == [Row(s="x", n=1)]
    with pytest.raises(ValueError, match=r"the columns \['n'\] are missing"):
        read_csv("s,other\nx,1\n", columns)
    with pytest.raises(ValueError, match="expected the columns"):
        read_csv("h1,h2\nx,1\n", lambda b: columns(b).set_strict_headers())


AVRO = """{"type": "record", "name": "test", "fields": [
  {"name": "nothing", "type": "null"},
  {"name": "either", "type": ["int", "double", "null"]},
  {"name": "inner", "type": {"type": "record", "name": "inner", "fields": [
    {"name": "nothing", "type": "null"}, {"name": "x", "type": "int"}]}}]}"""


def test_null_fields_and_unions_of_avro_in_parquet() -> None:
    schema = AvroSchema.parse_string(AVRO)
    inner = {"nothing": None, "x": 7}
    records = [{"nothing": None, "either": either, "inner": inner} for either in (1, 2.5, None)]
    file = write(AvroParquetWriters.for_generic_record(schema), records)
    table = pq.read_table(pa.BufferReader(file))
    assert table.column_names == ["either", "inner"], "parquet-avro writes no column for a null field"
    assert table.schema.field("either").type == pa.struct([("member0", pa.int32()), ("member1", pa.float64())])
    read = AvroParquetReaders.for_generic_record(schema).read(io.BytesIO(file))
    assert [record for block in read for record in block] == records


def test_a_value_outside_the_union_is_refused() -> None:
    schema = AvroSchema.parse_string(AVRO)
    with pytest.raises(ValueError, match=r"'text' has none of the types of the union: INT, DOUBLE"):
        write(AvroParquetWriters.for_generic_record(schema), [{"either": "text", "inner": {"x": 1}}])


def test_a_missing_row_field_is_written_as_empty_bytes() -> None:
    schema = RowFieldExtractorSchema(0)
    assert (schema.serialize(None), schema.serialize(Row(None, b"x"))) == (b"", b"")
    with pytest.raises(ValueError, match="Field index must be non-negative"):
        RowFieldExtractorSchema(-1)


def test_types_of_tables_for_files() -> None:
    assert DataTypes.BINARY(10).type_info == DataTypes.VARBINARY(5).bridged_to("[B").type_info
