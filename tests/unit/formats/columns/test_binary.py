"""Avro, Parquet, ORC and raw bytes by columns."""

from __future__ import annotations

import datetime
import io
import json
import pickle
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.errors import ConfigError, ElementError
from penstock.formats.avro.schema_registry import InMemoryRegistry
from penstock.formats.columns.arrow_files import ArrowFileReader, ArrowFileWriters, BatchDecoder, BatchEncoder
from penstock.formats.columns.avro import AvroDecoder, AvroEncoder
from penstock.formats.columns.avro_schema import avro_schema
from penstock.formats.columns.raw import RawValues
from tests.unit.formats.columns.tables import NESTED, SCALARS, changes, columns_of, fields, random_rows, rows_of

EVERY = {**SCALARS, **NESTED}
_NEAR = st.datetimes(datetime.datetime(1900, 1, 1), datetime.datetime(2100, 1, 1)).map(
    lambda t: t.replace(microsecond=0)
)
# ORC has no time of day, and its timestamps have nanoseconds, which end in 2262.
IN_FILES = {name: s for name, s in EVERY.items() if name != "TIME(3)"} | {
    "TIMESTAMP(3)": _NEAR,
    "TIMESTAMP_LTZ(3)": _NEAR.map(lambda t: t.replace(tzinfo=datetime.UTC)),
}


@given(random_rows(EVERY))
@settings(max_examples=20, deadline=None)
def test_avro_records_come_back(rows: list[Any]) -> None:
    columns = columns_of(EVERY)
    written = changes(columns, rows)
    records, _ = AvroEncoder(fields(columns), legacy=False).encode(written)
    decoded = AvroDecoder(fields(columns), fields(columns), legacy=False).decode(records)
    assert (rows_of(decoded), decoded.bad) == (rows_of(written), [])


def test_avro_columns_are_chosen_and_bad_records_found() -> None:
    columns = "a INT, b STRING NOT NULL"
    records, _ = AvroEncoder(fields(columns)).encode(changes(columns, [(1, "x"), (None, "y")]))
    decoder = pickle.loads(pickle.dumps(AvroDecoder(fields(columns), fields(columns)[1:])))
    decoded = decoder.decode([records[0], b"\x02", None, records[1]])
    assert rows_of(decoded) == [("x",), ("y",)]
    assert (decoded.origins.tolist(), [at for at, _ in decoded.bad]) == ([0, 3], [1])


def test_avro_with_a_registry() -> None:
    registry = InMemoryRegistry()
    columns = "a INT, d DECIMAL(5, 2), b STRING"
    encoder = AvroEncoder(fields(columns), registry=registry, subject="t-value")
    records, _ = encoder.encode(changes(columns, [(1, None, "x")]))
    assert records[0][:5] == b"\0\0\0\0\1"
    assert json.loads(registry.schemas[1])["fields"][1]["type"][1]["logicalType"] == "decimal"
    read = AvroDecoder(fields(columns), fields("b STRING, a INT"), registry=registry).decode(records)
    assert rows_of(read) == [("x", 1)]


def test_avro_types() -> None:
    legacy = avro_schema(fields("t TIMESTAMP(3) NOT NULL"))["fields"][0]["type"]
    assert legacy == {"type": "long", "logicalType": "timestamp-millis"}
    new = avro_schema(fields("t TIMESTAMP(6) NOT NULL, l TIMESTAMP_LTZ(3) NOT NULL"), legacy=False)["fields"]
    assert [f["type"]["logicalType"] for f in new] == ["local-timestamp-micros", "timestamp-millis"]
    for columns in ("l TIMESTAMP_LTZ(3)", "t TIMESTAMP(6)", "m MAP<INT, INT>", "t TIME(6)", "`a b` INT"):
        with pytest.raises(ConfigError):
            avro_schema(fields(columns))


@pytest.mark.parametrize("kind", ["parquet", "orc"])
@given(rows=random_rows(IN_FILES))
@settings(max_examples=10, deadline=None)
def test_files_come_back(kind: Any, rows: list[Any]) -> None:
    columns = columns_of(IN_FILES)
    written = changes(columns, rows)
    file = io.BytesIO()
    writer = ArrowFileWriters(kind, fields(columns), "SNAPPY").create(file)
    writer.write(BatchEncoder(fields(columns)).encode(written)[0])
    writer.finish()
    reader = ArrowFileReader(kind, [f.name for f in fields(columns)])
    batches = [batch for block in reader.read(io.BytesIO(file.getvalue())) for batch in block]
    assert rows_of(BatchDecoder(fields(columns)).decode(batches)) == rows_of(written)


def test_columns_of_files_fit_or_are_refused() -> None:
    batch = pa.record_batch({"a": pa.array([1], pa.int64()), "t": pa.array([1_500_000_123], pa.timestamp("ns"))})
    decoded = BatchDecoder(fields("t TIMESTAMP(3), a INT, missing STRING")).decode([batch, batch])
    assert [row[1:] for row in rows_of(decoded)] == [(1, None)] * 2
    assert decoded.origins is not None
    assert decoded.origins.tolist() == [0, 1]
    with pytest.raises(ElementError, match="Column 'a' has the type ROW"):
        BatchDecoder(fields("a ROW<x BOOLEAN>")).decode([batch])


@pytest.mark.parametrize(
    ("type_", "value", "data"),
    [
        ("STRING", "é", b"\xc3\xa9"), ("BYTES", b"\0", b"\0"), ("TINYINT", -1, b"\xff"), ("SMALLINT", 1, b"\0\1"),
        ("INT", 1, b"\0\0\0\1"), ("BIGINT", 1, b"\0\0\0\0\0\0\0\1"), ("BOOLEAN", True, b"\1"),
        ("DOUBLE", 1.0, b"\x3f\xf0" + b"\0" * 6),
    ],
)  # fmt: skip
def test_raw_values(type_: str, value: Any, data: bytes) -> None:
    raw = RawValues(fields(f"a {type_}")[0])
    assert rows_of(raw.decode([data, None])) == [(value,), (None,)]
    assert raw.encode(changes(f"a {type_}", [(value,), (None,)]))[0] == [data, None]


def test_bad_raw_values() -> None:
    assert [at for at, _ in RawValues(fields("a INT")[0]).decode([b"\0\0\0\1", b"\0"]).bad] == [1]
    assert [at for at, _ in RawValues(fields("a STRING")[0]).decode([b"\xff", b"x"]).bad] == [0]
    assert rows_of(RawValues(fields("a INT")[0], little_endian=True).decode([b"\1\0\0\0"])) == [(1,)]
    with pytest.raises(ConfigError, match="ARRAY"):
        RawValues(fields("a ARRAY<INT>")[0])
