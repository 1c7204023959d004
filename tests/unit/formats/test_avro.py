"""Avro: rows, dicts, schema ids and schema evolution."""

from __future__ import annotations

import base64
import datetime
import decimal
import json
import pickle
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any, ClassVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.connectors import Secret
from penstock.errors import ConfigError, UnsupportedOperation, UserFunctionError
from penstock.formats import (
    AvroDeserializationSchema,
    AvroRowDeserializationSchema,
    AvroRowSerializationSchema,
    AvroSchema,
    AvroSerializationSchema,
    ConfluentRegistryAvroDeserializationSchema,
    ConfluentRegistryAvroSerializationSchema,
    Decoding,
    FileRegistry,
    HttpRegistry,
    InMemoryRegistry,
)
from penstock.row import Row, make_row
from tests.unit.formats.strategies import MOMENTS, TEXT, same

FIELDS: list[tuple[Any, st.SearchStrategy[Any]]] = [
    ("string", TEXT),
    ("boolean", st.booleans()),
    ("int", st.integers(-(2**31), 2**31 - 1)),
    ("long", st.integers(-(2**63), 2**63 - 1)),
    ("float", st.floats(width=32, allow_nan=False)),
    ("double", st.floats(allow_nan=False)),
    ("bytes", st.binary(max_size=9)),
    ({"type": "fixed", "name": "Four", "size": 4}, st.binary(min_size=4, max_size=4)),
    ({"type": "enum", "name": "Color", "symbols": ["RED", "BLUE"]}, st.sampled_from(["RED", "BLUE"])),
    ({"type": "int", "logicalType": "date"}, st.dates(datetime.date(1900, 1, 1))),
    ({"type": "long", "logicalType": "time-micros"}, st.times()),
    ({"type": "long", "logicalType": "timestamp-micros"}, MOMENTS),
    ({"type": "long", "logicalType": "local-timestamp-micros"}, MOMENTS),
    (
        {"type": "bytes", "logicalType": "decimal", "precision": 20, "scale": 2},
        st.integers(-(10**17), 10**17).map(lambda n: decimal.Decimal(n).scaleb(-2)),
    ),
    ({"type": "string", "logicalType": "uuid"}, st.uuids().map(str)),
    ({"type": "array", "items": "long"}, st.lists(st.integers(0, 9), max_size=3)),
    ({"type": "array", "items": {"type": "long", "logicalType": "timestamp-micros"}}, st.lists(MOMENTS, max_size=2)),
    ({"type": "map", "values": ["null", "string"]}, st.dictionaries(TEXT, st.none() | TEXT, max_size=3)),
    (
        {"type": "record", "name": "Inner", "fields": [{"name": "i", "type": ["null", "int"]}]},
        (st.none() | st.integers(0, 9)).map(lambda i: make_row(["i"], [i])),
    ),
]


@st.composite
def records(draw: st.DrawFn) -> tuple[str, list[Row]]:
    chosen = draw(st.lists(st.sampled_from(FIELDS), min_size=1, max_size=5, unique_by=lambda f: json.dumps(f[0])))
    names = [f"f{i}" for i in range(len(chosen))]
    fields = [{"name": n, "type": ["null", kind]} for n, (kind, _) in zip(names, chosen, strict=True)]
    row = st.tuples(*(st.none() | values for _, values in chosen)).map(lambda v: make_row(names, list(v)))
    return json.dumps({"type": "record", "name": "R", "fields": fields}), draw(st.lists(row, max_size=4))


@settings(max_examples=120)
@given(records())
def test_round_trip(drawn: tuple[str, list[Row]]) -> None:
    schema, rows = drawn
    messages = AvroRowSerializationSchema(avro_schema_string=schema).encode(rows)
    back = pickle.loads(pickle.dumps(AvroRowDeserializationSchema(avro_schema_string=schema)))
    assert same(back.decode(messages), rows)


OLD = '{"type": "record", "name": "P", "fields": [{"name": "x", "type": "int"}, {"name": "gone", "type": "string"}]}'
NEW = '{"type": "record", "name": "P", "fields": [{"name": "x", "type": "long"}, {"name": "y", "type": "string", "default": "-"}]}'


def test_writer_schema_is_converted_to_reader_schema() -> None:
    registry = InMemoryRegistry()
    old = AvroSerializationSchema(OLD, registry, "p-value").encode([{"x": 7, "gone": "a"}])
    new = AvroSerializationSchema(NEW, registry, "p-value").encode([{"x": 8, "y": "b"}])
    assert (old[0][:5], new[0][:5]) == (b"\0\0\0\0\1", b"\0\0\0\0\2")
    reader = AvroDeserializationSchema(NEW, registry)
    assert reader.decode(old + new) == [{"x": 7, "y": "-"}, {"x": 8, "y": "b"}]
    rows = AvroRowDeserializationSchema(avro_schema_string=NEW, registry=registry)
    assert rows.decode(old) == [Row(x=7, y="-")]


def test_invalid_messages() -> None:
    registry = InMemoryRegistry(
        {1: OLD, 3: '{"type": "record", "name": "P", "fields": [{"name": "x", "type": "string"}]}'}
    )
    good = AvroSerializationSchema(OLD, registry, "p").encode([{"x": 7, "gone": "a"}])[0]
    other = AvroSerializationSchema(registry.schemas[3], registry, "p").encode([{"x": "text"}])[0]
    bad = [b"", b"\1" + good[1:], good[:-1], good + b"!", b"\0\0\0\0\x09" + good[5:], other]
    decoded = Decoding(AvroDeserializationSchema(NEW, registry)).decode([good, *bad], lambda i: (i, {"offset": i}))
    assert decoded.values == [{"x": 7, "y": "-"}]
    messages_of_errors = [b.describe() for b in decoded.bad]
    assert "does not start with a zero byte" in messages_of_errors[0]
    assert "does not start with a zero byte" in messages_of_errors[1]
    assert "offset 3 cannot be decoded: the message is truncated" in messages_of_errors[2]
    assert "1 bytes follow the record" in messages_of_errors[3]
    assert "no schema 9" in messages_of_errors[4]
    assert len(messages_of_errors) == 6


def test_invalid_settings() -> None:
    with pytest.raises(ConfigError, match="AVRO_SCHEMA"):
        AvroSchema("{")
    with pytest.raises(ConfigError, match=r"AVRO_SCHEMA.*does not describe records"):
        AvroSchema('"string"').row_type()
    with pytest.raises(ConfigError, match=r"AVRO_SCHEMA.*cannot be read"):
        AvroSchema.parse_file("/nowhere/at/all.avsc")
    with pytest.raises(UnsupportedOperation, match="JAVA_FUNCTION"):
        AvroRowDeserializationSchema(record_class="org.example.P")
    with pytest.raises(ConfigError, match="SCHEMA_SUBJECT"):
        AvroSerializationSchema(NEW, InMemoryRegistry())
    with pytest.raises(ConfigError, match="SCHEMA_REGISTRY"):
        AvroDeserializationSchema(NEW, 7)
    with pytest.raises(UserFunctionError, match="ELEMENT_TYPE"):
        AvroRowSerializationSchema(avro_schema_string=NEW).encode([Row(x="a", y="b")])


def test_a_folder_of_schemas(tmp_path: Path) -> None:
    (tmp_path / "7.avsc").write_text(OLD)
    assert AvroSchema.parse_file(str(tmp_path / "7.avsc")) == AvroSchema.parse_string(OLD)
    message = AvroSerializationSchema(OLD, tmp_path, "p").encode([{"x": 1, "gone": ""}])[0]
    assert message[:5] == b"\0\0\0\0\7"
    assert AvroDeserializationSchema(NEW, str(tmp_path)).decode([message]) == [{"x": 1, "y": "-"}]
    with pytest.raises(ConfigError, match="SCHEMA_NOT_REGISTERED"):
        FileRegistry(tmp_path).register("p", NEW)


class Server(BaseHTTPRequestHandler):
    schemas: ClassVar[list[str]] = []
    requests: ClassVar[list[str]] = []

    def _answer(self, code: int, body: dict[str, Any]) -> None:
        self.send_response(code)
        self.end_headers()
        self.wfile.write(json.dumps(body).encode())

    def do_GET(self) -> None:
        self.requests.append(self.path)
        number = int(self.path.rpartition("/")[2])
        if self.headers["Authorization"] != "Basic " + base64.b64encode(b"me:open sesame").decode():
            self._answer(401, {})
        elif number <= len(self.schemas):
            self._answer(200, {"schema": self.schemas[number - 1]})
        else:
            self._answer(404, {"error_code": 40403})

    def do_POST(self) -> None:
        self.requests.append(self.path)
        self.schemas.append(json.loads(self.rfile.read(int(self.headers["Content-Length"])))["schema"])
        self._answer(200, {"id": len(self.schemas)})

    def log_message(self, *args: Any) -> None:
        """Suppresses log output."""


@pytest.fixture
def address() -> Iterator[str]:
    Server.schemas.clear()
    Server.requests.clear()
    server = HTTPServer(("127.0.0.1", 0), Server)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()
    thread.join()


def test_a_server(address: str) -> None:
    registry = HttpRegistry(address, "me", Secret("open sesame"))
    schema = AvroSchema(NEW)
    writer = ConfluentRegistryAvroSerializationSchema.for_generic("p-value", schema, registry)
    messages = writer.encode([{"x": n, "y": "a"} for n in range(3)])
    reader = ConfluentRegistryAvroDeserializationSchema.for_generic(schema, registry)
    assert reader.decode(messages) == [{"x": n, "y": "a"} for n in range(3)]
    assert Server.requests == ["/subjects/p-value/versions", "/schemas/ids/1"], "each asked once"
    with pytest.raises(ValueError, match="no schema 5"):
        reader.decode([b"\0\0\0\0\5"])
    with pytest.raises(ConfigError, match=r"SCHEMA_REGISTRY.*401") as raised:
        AvroDeserializationSchema(NEW, HttpRegistry(address, "me", "wrong word")).decode(messages)
    assert "wrong word" not in str(raised.value)


def test_unreachable_server() -> None:
    reader = AvroDeserializationSchema(NEW, "http://127.0.0.1:9")
    with pytest.raises(ConfigError, match=r"SCHEMA_REGISTRY.*127.0.0.1:9"):
        Decoding(reader).decode([b"\0\0\0\0\1\2"], lambda i: (i, {}))
