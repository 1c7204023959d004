"""Change capture by columns: rows and texts are those of Flink 2.3, recorded with PyFlink."""

from __future__ import annotations

import json
import pickle
from typing import Any

import pytest

from penstock.formats.columns.change_encoders import ChangeEncoder
from penstock.formats.columns.change_records import DEBEZIUM, OGG, BeforeAfterDecoder, MetadataField
from penstock.formats.columns.json_decoder import JsonSettings
from penstock.formats.columns.old_values import CANAL, MAXWELL, OldValuesDecoder
from penstock.types.logical.kinds import BIGINT, STRING, MapType
from tests.unit.formats.columns.tables import changes, fields, rows_of

AB = "a INT, b STRING"
X, Y = {"a": 1, "b": "x"}, {"a": 1, "b": "y"}


def decode(decoder: Any, *records: Any) -> Any:
    texts = [
        record if record is None or isinstance(record, bytes) else json.dumps(record).encode() for record in records
    ]
    return pickle.loads(pickle.dumps(decoder)).decode(texts)


def debezium(*records: Any, lenient: bool = False, **settings: Any) -> Any:
    return decode(
        BeforeAfterDecoder(fields(AB), DEBEZIUM, JsonSettings(ignore_parse_errors=lenient), **settings), *records
    )


def test_debezium() -> None:
    decoded = debezium(
        {"before": None, "after": X, "op": "c"},
        {"before": X, "after": Y, "op": "u"},
        None,
        b"",
        {"before": None, "after": X, "op": "r"},
        {"before": Y, "after": None, "op": "d"},
    )
    assert rows_of(decoded) == [("+I", 1, "x"), ("-U", 1, "x"), ("+U", 1, "y"), ("+I", 1, "x"), ("-D", 1, "y")]
    assert decoded.origins.tolist() == [0, 1, 1, 4, 5]
    assert decoded.bad == []


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        ({"before": None, "after": X, "op": "u"}, '"before" field'),
        ({"before": None, "after": None, "op": "d"}, "REPLICA IDENTITY"),
        ({"before": None, "after": None, "op": "c"}, '"after" field'),
        ({"before": None, "after": X, "op": "z"}, "'z'"),
        ({"before": None, "after": {"a": "y"}, "op": "c"}, "'after.a' has the type INT"),
        (b"x", "not JSON"),
    ],
)
def test_bad_debezium_records(record: Any, reason: str) -> None:
    good = {"before": None, "after": X, "op": "c"}
    decoded = debezium(good, record, good)
    assert rows_of(decoded) == [("+I", 1, "x"), ("+I", 1, "x")]
    ((at, error),) = decoded.bad
    assert at == 1
    assert reason in str(error)


def test_ignored_errors_of_debezium() -> None:
    decoded = debezium(
        {"before": None, "after": X, "op": "z"},
        b"x",
        {"before": None, "after": {"a": "y", "b": "x"}, "op": "c"},
        {"before": None, "after": X, "op": "u"},
        lenient=True,
    )
    assert (rows_of(decoded), decoded.bad) == ([("+I", None, "x")], [])


def test_debezium_with_schema_and_metadata() -> None:
    source = MapType(STRING, STRING)
    metadata = [
        MetadataField("schema", STRING, outside=True),
        MetadataField("ts_ms", BIGINT, milliseconds=True),
        MetadataField("source", source, "table"),
        MetadataField("source", source, "ts_ms", milliseconds=True),
    ]
    payload = {"before": X, "after": Y, "op": "u", "ts_ms": 1500, "source": {"table": "t", "ts_ms": 7}}
    record = {"schema": {"k": 1}, "payload": payload}
    decoder = BeforeAfterDecoder(fields(AB), DEBEZIUM, None, metadata, with_schema=True)
    rows = rows_of(decode(decoder, record))
    assert [row[:4] for row in rows] == [("-U", 1, "x", '{"k":1}'), ("+U", 1, "y", '{"k":1}')]
    assert {row[5] for row in rows} == {"t"}
    assert [int(value.timestamp() * 1000) for value in (rows[0][4], rows[0][6])] == [1500, 7]


def test_ogg() -> None:
    decoder = BeforeAfterDecoder(fields(AB), OGG)
    records = [{"after": X, "op_type": "I"}, {"before": X, "after": Y, "op_type": "U"}, {"before": Y, "op_type": "D"}]
    assert rows_of(decode(decoder, *records)) == [("+I", 1, "x"), ("-U", 1, "x"), ("+U", 1, "y"), ("-D", 1, "y")]
    assert len(decode(decoder, {"op_type": "T"}).bad) == 1


def test_canal() -> None:
    columns = "id INT, name STRING, city STRING"
    decoded = decode(
        OldValuesDecoder(fields(columns), CANAL),
        {
            "data": [{"id": 1, "name": "ann", "city": "Oslo"}, {"id": 2, "name": "bob", "city": "Rome"}],
            "type": "INSERT",
        },
        {"data": [{"id": 1, "name": "ann", "city": "Rome"}], "old": [{"city": "Oslo"}], "type": "UPDATE"},
        {"data": None, "old": None, "type": "CREATE"},
        {"data": [{"id": "1", "name": "x", "city": None}], "old": [{"name": None}], "type": "UPDATE"},
        {"data": [{"id": 2, "name": "bob", "city": "Rome"}], "type": "DELETE"},
    )
    assert rows_of(decoded) == [
        ("+I", 1, "ann", "Oslo"),
        ("+I", 2, "bob", "Rome"),
        ("-U", 1, "ann", "Oslo"),
        ("+U", 1, "ann", "Rome"),
        ("-U", 1, None, None),
        ("+U", 1, "x", None),
        ("-D", 2, "bob", "Rome"),
    ]
    assert decoded.origins.tolist() == [0, 0, 1, 1, 3, 3, 4]


def test_canal_filters_and_bad_types() -> None:
    decoder = OldValuesDecoder(fields(AB), CANAL, database="d1", metadata=[MetadataField("table", STRING)])
    records = [{"data": [X], "type": "INSERT", "database": d, "table": "t"} for d in ("d1", "d2", None)]
    assert rows_of(decode(decoder, *records)) == [("+I", 1, "x", "t")]
    decoded = decode(
        OldValuesDecoder(fields(AB), CANAL), {"data": [X], "type": "QUERY"}, {"data": None, "type": "INSERT"}
    )
    assert [at for at, _ in decoded.bad] == [0, 1]


def test_maxwell() -> None:
    decoder = OldValuesDecoder(fields(AB), MAXWELL)
    records = [
        {"data": X, "type": "insert"},
        {"data": Y, "old": {"b": "x"}, "type": "update"},
        {"data": Y, "type": "delete"},
        {"data": X, "type": "bootstrap-start"},
    ]
    decoded = decode(decoder, *records)
    assert rows_of(decoded) == [("+I", 1, "x"), ("-U", 1, "x"), ("+U", 1, "y"), ("-D", 1, "y")]
    assert [at for at, _ in decoded.bad] == [3]


@pytest.mark.parametrize(
    ("envelope", "operation", "operations", "lines"),
    [
        ("before-after", "op", ("c", "d"),
         ['{"before":null,"after":{"a":1,"b":"x"},"op":"c"}', '{"before":{"a":1,"b":"x"},"after":null,"op":"d"}']),
        ("before-after", "op_type", ("I", "D"),
         ['{"before":null,"after":{"a":1,"b":"x"},"op_type":"I"}', '{"before":{"a":1,"b":"x"},"after":null,"op_type":"D"}']),
        ("rows", "type", ("INSERT", "DELETE"),
         ['{"data":[{"a":1,"b":"x"}],"type":"INSERT"}', '{"data":[{"a":1,"b":"x"}],"type":"DELETE"}']),
        ("row", "type", ("insert", "delete"),
         ['{"data":{"a":1,"b":"x"},"type":"insert"}', '{"data":{"a":1,"b":"x"},"type":"delete"}']),
    ],
)  # fmt: skip
def test_changes_are_written_as_flink_writes_them(
    envelope: Any, operation: str, operations: Any, lines: list[str]
) -> None:
    encoder = ChangeEncoder(fields(AB), envelope, operation, operations)
    records, _ = encoder.encode(changes(AB, [(1, "x")] * 4, "+I -U +U -D"))
    assert [record.decode() for record in records] == lines * 2
