"""JSON: typed objects, rows with Flink's conversions, and round trips."""

from __future__ import annotations

import dataclasses
import datetime
import decimal
import pickle
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings

from penstock.errors import ConfigError, PlanError, UserFunctionError
from penstock.formats import (
    Decoding,
    JsonDeserializationSchema,
    JsonRowDeserializationSchema,
    JsonRowSerializationSchema,
    JsonSerializationSchema,
)
from penstock.row import Row
from penstock.time import Instant
from penstock.types import RowTypeInfo, Types
from tests.unit.formats.strategies import CLOCKS, INSTANTS, SINGLE, nested, rows, same


class View(msgspec.Struct):
    ad: str
    price: float = 0.0


@dataclasses.dataclass
class Point:
    x: int
    y: int | None = None


def test_objects() -> None:
    assert JsonDeserializationSchema(View).decode([b'{"ad":"a","more":[1]}']) == [View("a")]
    assert JsonDeserializationSchema(Point).decode([b'{"x":1}', b'{"x":1,"y":null}']) == [Point(1), Point(1)]
    assert JsonDeserializationSchema().decode([b"[1]", b"null"]) == [[1], None]
    assert JsonDeserializationSchema(View).output_is_exact
    assert not JsonDeserializationSchema(Point).output_is_exact


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        (b'{"ad":', "Input data was truncated"),
        (b'{"ad": 1}', "Expected `str`, got `int` - at `$.ad`"),
        (b"{}", "Object missing required field `ad`"),
        (b'{"ad": "\xff"}', "invalid start byte"),
        (b'{"ad": "a"} x', "trailing characters"),
        (b'{"ad": "a", "price": 1e999}', "Number out of range"),
        (b"", "Input data was truncated"),
    ],
)
def test_invalid_messages(message: bytes, expected: str) -> None:
    decoded = Decoding(JsonDeserializationSchema(View)).decode([b'{"ad":"a"}', message], lambda i: (i, {"offset": i}))
    assert decoded.values == [View("a")]
    assert expected in decoded.bad[0].describe()


def test_unsupported_type() -> None:
    with pytest.raises(ConfigError, match="JSON_TYPE"):
        JsonDeserializationSchema(dict[int | str, int] | dict[str, str])


def test_objects_to_json() -> None:
    values: list[Any] = [View("a", 1.5), Point(1), Row(a=Row(b=decimal.Decimal("1.10"))), Row(1, 2), {"k": [None]}]
    assert JsonSerializationSchema().encode(values) == [
        b'{"ad":"a","price":1.5}',
        b'{"x":1,"y":null}',
        b'{"a":{"b":1.10}}',
        b"[1,2]",
        b'{"k":[null]}',
    ]


def read(kind: Any, text: str, **options: Any) -> Any:
    schema = JsonRowDeserializationSchema(Types.ROW_NAMED(["v"], [kind]), **options)
    row = schema.decode([b'{"v": ' + text.encode() + b"}"])[0]
    return None if row is None else row.v


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        (Types.STRING(), "12", "12"),
        (Types.STRING(), "1.5e10", "1.5E10"),
        (Types.STRING(), "true", "true"),
        (Types.STRING(), '{"a": [1, "b"]}', '{"a":[1,"b"]}'),
        (Types.INT(), '" 12 "', 12),
        (Types.INT(), "1.9", 1),
        (Types.LONG(), "-1.9", -1),
        (Types.SHORT(), '"7"', 7),
        (Types.BOOLEAN(), '"TRUE"', True),
        (Types.BOOLEAN(), "1", False),
        (Types.DOUBLE(), "3", 3.0),
        (Types.DOUBLE(), '"NaN"', float("nan")),
        (Types.FLOAT(), "0.1", 0.10000000149011612),
        (Types.BIG_DEC(), "1.10", decimal.Decimal("1.10")),
        (Types.BIG_DEC(), '"1.10"', decimal.Decimal("1.10")),
        (Types.BIG_INT(), "1" + "0" * 30, 10**30),
        (Types.SQL_DATE(), '"2024-05-01"', datetime.date(2024, 5, 1)),
        (Types.SQL_TIME(), '"12:30:01Z"', datetime.time(12, 30, 1)),
        (Types.SQL_TIMESTAMP(), '"2024-05-01T12:30:01.5Z"', datetime.datetime(2024, 5, 1, 12, 30, 1, 500_000)),
        (Types.INSTANT(), '"1970-01-01T00:00:01.5Z"', Instant(1, 500_000_000)),
        (Types.PRIMITIVE_ARRAY(Types.BYTE()), '"awML"', b"k\x03\x0b"),
        (Types.PRIMITIVE_ARRAY(Types.INT()), "[1, 2]", [1, 2]),
        (Types.OBJECT_ARRAY(Types.STRING()), '["a", null, 1]', ["a", None, "1"]),
        (Types.MAP(Types.INT(), Types.STRING()), '{"1": 2}', {1: "2"}),
        (Types.ROW_NAMED(["a"], [Types.INT()]), '{"b": 1}', Row(a=None)),
        (Types.TUPLE([Types.INT(), Types.STRING()]), '[1, "a"]', (1, "a")),
        (Types.of(View), '{"ad": "a"}', View("a")),
    ],
)
def test_conversions_of_flink(kind: Any, text: str, value: Any) -> None:
    result = read(kind, text)
    assert repr(result) == repr(value)
    assert type(result) is type(value)


@pytest.mark.parametrize(
    ("kind", "text", "expected"),
    [
        (Types.INT(), "3000000000", "3000000000 is out of range for INT"),
        (Types.BYTE(), "128", "128 is out of range for BYTE"),
        (Types.SHORT(), "1.5", "'1.5' is not an integer"),
        (Types.LONG(), '"1_000"', "not an integer"),
        (Types.DOUBLE(), '"one"', "'one' is not a number"),
        (Types.SQL_TIMESTAMP(), '"2024-05-01 12:30:01"', "expected the form 2024-05-01T12:30:00.123Z"),
        (Types.SQL_TIMESTAMP(), '"2024-05-01T12:30:01+02:00"', "is not a timestamp"),
        (Types.SQL_TIME(), '"12:30:01.5Z"', "fraction of a second"),
        (Types.SQL_DATE(), '"2024-02-30"', "is not a date"),
        (Types.PRIMITIVE_ARRAY(Types.BYTE()), '"?"', "not valid base64"),
        (Types.OBJECT_ARRAY(Types.INT()), "{}", "is not an array"),
        (Types.PRIMITIVE_ARRAY(Types.INT()), "[1, null]", "None"),
        (Types.ROW_NAMED(["a"], [Types.INT()]), '{"a": "x"}', "field 'v': field 'a': 'x' is not an integer"),
    ],
)
def test_values_that_cannot_be_converted(kind: Any, text: str, expected: str) -> None:
    with pytest.raises(ValueError, match="field 'v'") as raised:
        read(kind, text)
    assert expected in str(raised.value)
    assert read(kind, text, ignore_parse_errors=True) in (None, Row(a=None), [1, None])


@pytest.mark.parametrize(
    ("form", "text", "value"),
    [
        ("SQL", '"2024-05-01 12:30:01.5"', datetime.datetime(2024, 5, 1, 12, 30, 1, 500_000)),
        ("ISO-8601", '"2024-05-01T12:30:01"', datetime.datetime(2024, 5, 1, 12, 30, 1)),
        ("EPOCH-MILLIS", "1500", datetime.datetime(1970, 1, 1, 0, 0, 1, 500_000)),
        ("EPOCH-MILLIS", "-1", datetime.datetime(1969, 12, 31, 23, 59, 59, 999_000)),
    ],
)
def test_timestamp_formats(form: str, text: str, value: datetime.datetime) -> None:
    assert read(Types.SQL_TIMESTAMP(), text, timestamp_format=form) == value
    back = JsonRowSerializationSchema(Types.ROW_NAMED(["v"], [Types.SQL_TIMESTAMP()]), timestamp_format=form)
    assert back.encode([Row(v=value)]) == [b'{"v":' + text.encode() + b"}"]


def test_missing_fields() -> None:
    kind = Types.ROW_NAMED(["a", "b"], [Types.INT(), Types.STRING()])
    assert JsonRowDeserializationSchema(kind).decode([b'{"b": "x"}', b"{}"]) == [
        Row(a=None, b="x"),
        Row(a=None, b=None),
    ]
    failing = JsonRowDeserializationSchema.builder().type_info(kind).fail_on_missing_field().build()
    assert failing.decode([b'{"a": null, "b": "x"}']) == [Row(a=None, b="x")]
    with pytest.raises(ValueError, match="field 'a' is missing"):
        failing.decode([b'{"b": "x"}'])


def test_ignored_errors() -> None:
    kind = Types.ROW_NAMED(["a"], [Types.INT()])
    schema = JsonRowDeserializationSchema.builder().type_info(kind).ignore_parse_errors().build()
    decoded = Decoding(schema).decode([b'{"a": "x"}', b"{", b"null", b'{"a": 1}'], lambda i: (i, {}))
    assert decoded.values == [Row(a=None), Row(a=1)]
    assert (decoded.bad, decoded.skipped, decoded.kept_indices) == ([], 2, [0, 3])


def test_settings_that_contradict_each_other() -> None:
    builder = JsonRowDeserializationSchema.builder().type_info(Types.ROW([Types.INT()]))
    with pytest.raises(ConfigError, match="JSON_OPTIONS"):
        builder.fail_on_missing_field().ignore_parse_errors().build()
    with pytest.raises(PlanError, match=r"ROW_TYPE_EXPECTED.*no type"):
        JsonRowDeserializationSchema.builder().build()
    with pytest.raises(PlanError, match=r"ROW_TYPE_EXPECTED.*String"):
        JsonRowSerializationSchema.builder().with_type_info(Types.STRING()).build()
    with pytest.raises(ConfigError, match="TIMESTAMP_FORM"):
        JsonRowDeserializationSchema.builder().type_info(Types.ROW([])).timestamp_format("UNIX").build()


def test_an_element_of_another_type() -> None:
    schema = JsonRowSerializationSchema(Types.ROW_NAMED(["a"], [Types.INT()]))
    with pytest.raises(UserFunctionError, match=r"ELEMENT_TYPE.*Row\(a='x'\).*field 'a'"):
        schema.encode([Row(a=1), Row(a="x")])


def test_nan_and_infinity() -> None:
    schema = JsonRowSerializationSchema(Types.ROW_NAMED(["a"], [Types.DOUBLE()]))
    written = schema.encode([Row(a=float("nan")), Row(a=float("-inf"))])
    assert written == [b'{"a":"NaN"}', b'{"a":"-Infinity"}']
    back = JsonRowDeserializationSchema(schema.type_info).decode(written)
    assert repr(back) == "[Row(a=nan), Row(a=-inf)]"


JSON_SCHEMA = """{"type": "object", "definitions": {"place": {"type": "object", "properties": {"x": {"type": "number"}}}},
  "properties": {"id": {"type": ["string", "null"]}, "at": {"type": "string", "format": "date-time"},
  "raw": {"type": "string", "contentEncoding": "base64"}, "tags": {"type": "array", "items": {"type": "string"}},
  "place": {"$ref": "#/definitions/place"}, "maybe": {"oneOf": [{"type": "null"}, {"type": "boolean"}]},
  "pair": {"type": "array", "items": [{"type": "integer"}, {"type": "string"}]}}}"""


def test_json_schema() -> None:
    schema = JsonRowDeserializationSchema.builder().json_schema(JSON_SCHEMA).build()
    assert repr(schema.get_produced_type()) == (
        "RowTypeInfo(id: String, at: TimestampTypeInfo, raw: PrimitiveArrayTypeInfo<Byte>, tags: ObjectArrayTypeInfo<String>, "
        "place: RowTypeInfo(x: BigDecimal), maybe: Boolean, pair: TupleTypeInfo(BigDecimal, String))"
    )
    row = schema.decode([b'{"place": {"x": 1.50}, "pair": [1, "a"], "tags": []}'])[0]
    assert row is not None
    assert (row.place.x, row.pair, row.tags, row.at) == (decimal.Decimal("1.50"), (decimal.Decimal(1), "a"), [], None)


@pytest.mark.parametrize(
    "schema",
    [
        "{",
        '{"type": "string"}',
        '{"type": "object", "properties": {"a": {"anyOf": []}}}',
        '{"type": "object", "properties": {"a": {"type": ["string", "boolean"]}}}',
        '{"type": "object", "properties": {"a": {"$ref": "http://x"}}}',
        '{"type": "object", "properties": {"a": {"type": "array"}}}',
        '{"type": "object", "additionalProperties": true}',
        '{"type": "object", "properties": {"a": {"type": "string", "contentEncoding": "gzip"}}}',
    ],
)
def test_unsupported_json_schemas(schema: str) -> None:
    with pytest.raises(ConfigError, match="JSON_SCHEMA"):
        JsonRowDeserializationSchema.builder().json_schema(schema)


@settings(max_examples=150)
@given(rows(nested([*SINGLE, CLOCKS, INSTANTS])))
def test_round_trip(drawn: tuple[RowTypeInfo, list[Row]]) -> None:
    """The strict decoder and the converting decoder return the same."""
    kind, values = drawn
    schema = JsonRowDeserializationSchema(kind)
    messages = JsonRowSerializationSchema(kind).encode(values)
    fast = pickle.loads(pickle.dumps(schema)).decode(messages)
    slow = JsonRowDeserializationSchema(kind)
    slow._converted_batches = 1
    assert same(fast, values)
    assert same(slow.decode(messages), values)


def test_strict_decoder_is_used_again() -> None:
    schema = JsonRowDeserializationSchema(Types.ROW_NAMED(["a"], [Types.INT()]))
    assert schema.decode([b'{"a": "1"}']) == [Row(a=1)]
    assert schema._converted_batches
    for _ in range(21):
        assert schema.decode([b'{"a": 1}']) == [Row(a=1)]
    assert not schema._converted_batches
    with pytest.raises(ValueError, match="truncated"):
        schema.decode([b'{"a": 1'])
    assert not schema._converted_batches


def test_a_record_of_100_megabytes() -> None:
    """It can be decoded; if truncated, it is a bad record with a short error."""
    message = b'{"ad": "' + b"x" * 100_000_000 + b'"}'
    decoded = Decoding(JsonDeserializationSchema(View)).decode([message, message[:-1]], lambda i: (i, {"offset": i}))
    assert [len(v.ad) for v in decoded.values] == [100_000_000]
    expected = decoded.bad[0].describe()
    assert len(expected) < 300
    assert "(100,000,009 bytes)" in expected
