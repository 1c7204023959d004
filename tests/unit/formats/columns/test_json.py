"""JSON by columns: texts and conversions are those of Flink 2.3, recorded with PyFlink."""

from __future__ import annotations

import datetime
import json
import pickle
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings

from penstock.errors import ElementError, UnsupportedOperation
from penstock.formats.columns.json_decoder import JsonDecoder, JsonSettings
from penstock.formats.columns.json_encoder import JsonEncoder, JsonWriteSettings
from penstock.types.logical.kinds import INT, STRING, Field, RowType, TimestampType
from tests.unit.formats.columns.tables import NESTED, SCALARS, changes, columns_of, fields, random_rows, rows_of

ALL = (
    "a INT, b STRING, c DECIMAL(10, 2), d DOUBLE, e FLOAT, f BOOLEAN, g DATE, h TIME(3), i TIMESTAMP(3), "
    "j TIMESTAMP_LTZ(3), k BYTES, l ARRAY<INT>, m MAP<STRING, INT>, n ROW<x INT, y STRING>, o TIMESTAMP(6), p CHAR(3), q TINYINT"
)
_AT = datetime.datetime(2024, 2, 29, 12, 13, 14, 120_000)
_ZERO = datetime.datetime(1970, 1, 1)
ROWS = [
    (1, 'x"y\\z/é€', Decimal("1.50"), 1e10, 0.1, True, _AT.date(), datetime.time(12, 13, 14), _AT, _AT, b"\0\xffA",
     [1, None, 3], [("k", 1), ("l", None)], {"x": 1, "y": "q"}, _AT.replace(microsecond=123_456), "ab ", 5),
    (2, "tab\tnl", Decimal("0.00"), 1e-5, 1e10, False, datetime.date(1, 1, 1), datetime.time(0), _ZERO, _ZERO, b"",
     [7], [("z", 0)], {"x": 2, "y": "r"}, _ZERO, "abc", -5),
]  # fmt: skip
FLINK = [
    '{"a":1,"b":"x\\"y\\\\z/é€","c":1.5,"d":1.0E10,"e":0.1,"f":true,"g":"2024-02-29","h":"12:13:14",'
    '"i":"2024-02-29 12:13:14.12","j":"2024-02-29 12:13:14.12Z","k":"AP9B","l":[1,null,3],"m":{"k":1,"l":null},'
    '"n":{"x":1,"y":"q"},"o":"2024-02-29 12:13:14.123456","p":"ab ","q":5}',
    '{"a":2,"b":"tab\\tnl","c":0,"d":1.0E-5,"e":1.0E10,"f":false,"g":"0001-01-01","h":"00:00:00",'
    '"i":"1970-01-01 00:00:00","j":"1970-01-01 00:00:00Z","k":"","l":[7],"m":{"z":0},"n":{"x":2,"y":"r"},'
    '"o":"1970-01-01 00:00:00","p":"abc","q":-5}',
]


def encode(columns: str, rows: list[Any], settings: JsonWriteSettings | None = None) -> list[str]:
    encoder = pickle.loads(pickle.dumps(JsonEncoder(fields(columns), settings)))
    return [record.decode() for record in encoder.encode(changes(columns, rows))[0]]


def decode(columns: str, *records: str, **settings: Any) -> Any:
    decoder = pickle.loads(pickle.dumps(JsonDecoder(fields(columns), JsonSettings(**settings))))
    return decoder.decode([record.encode() for record in records])


def test_rows_are_written_as_flink_writes_them() -> None:
    assert encode(ALL, ROWS) == FLINK
    assert encode(ALL, ROWS, JsonWriteSettings("T"))[0] == FLINK[0].replace("-29 12", "-29T12")


def test_written_rows_are_read_again() -> None:
    decoded = decode(ALL, *FLINK)
    expected = [tuple(changes(ALL, ROWS).columns[i][at].as_py() for i in range(17)) for at in range(2)]
    assert rows_of(decoded) == expected
    assert decoded.bad == []
    assert decoded.origins is None


def test_null_fields_are_written_or_left_out() -> None:
    row = [1, *[None] * 16]
    assert encode(ALL, [row])[0].startswith('{"a":1,"b":null,"c":null')
    assert encode(ALL, [row, [None] * 17], JsonWriteSettings(ignore_null_fields=True)) == ['{"a":1}', "{}"]


def test_decimals_lose_zeros_unless_they_are_plain_numbers() -> None:
    columns, rows = "a DECIMAL(20, 10), b DECIMAL(20, 0)", [(Decimal("0.0000001"), Decimal(100000000))]
    assert encode(columns, rows) == ['{"a":1E-7,"b":1E+8}']
    plain = JsonWriteSettings(decimal_as_plain_number=True)
    assert encode(columns, rows, plain) == ['{"a":0.0000001000,"b":100000000}']


def test_control_characters_are_escaped_as_jackson_does() -> None:
    assert encode("a STRING", [("\x1b\b\f\x7f\u2028",)]) == ['{"a":"\\u001B\\b\\f\x7f\u2028"}']


FINE = [
    ("INT", "1.0", 1), ("INT", "1.5", 1), ("INT", '"1"', 1), ("INT", '" 1 "', 1), ("INT", "1e3", 1000), ("INT", "null", None),
    ("STRING", "1", "1"), ("STRING", "1.50", "1.50"), ("STRING", "true", "true"), ("STRING", "[1, 2.50]", "[1,2.5]"),
    ("STRING", '{"b": 1.0}', '{"b":1.0}'), ("BOOLEAN", "1", False), ("BOOLEAN", '"TRUE"', True), ("BOOLEAN", '"x"', False),
    ("DOUBLE", "1", 1.0), ("DOUBLE", '"1.5"', 1.5), ("DOUBLE", '"Infinity"', float("inf")), ("DOUBLE", "1e400", float("inf")),
    ("DECIMAL(5, 2)", "1.005", Decimal("1.01")), ("DECIMAL(5, 2)", '"1.005"', Decimal("1.01")),
    ("DECIMAL(5, 2)", "123456789.12", None), ("DECIMAL(5, 2)", "1e2", Decimal("100.00")),
    ("DECIMAL(5, 2)", "-0.005", Decimal("-0.01")),
    ("TIMESTAMP(3)", '"2024-01-01 00:00:00.123456789"', datetime.datetime(2024, 1, 1, 0, 0, 0, 123_000)),
    ("TIMESTAMP(3)", '"2024-02-30 00:00:00"', datetime.datetime(2024, 2, 29)),
    ("TIMESTAMP(3)", '"2024-01-01 00:00:00."', datetime.datetime(2024, 1, 1)),
    ("TIME(3)", '"12:13:14.567"', datetime.time(12, 13, 14, 567_000)), ("BYTES", '"YWI="', b"ab"),
    ("ARRAY<BIGINT>", '["1", 2, 3.7]', [1, 2, 3]), ("MULTISET<STRING>", '{"x": 2}', [("x", 2)]),
    ("VARCHAR(2)", '"abc"', "abc"),
]  # fmt: skip
WRONG = [
    ("INT", "true"), ("INT", "3000000000"), ("INT", '"x"'), ("INT", '""'), ("INT", "[1]"), ("INT", '{"b":1}'), ("INT", '"1.0"'),
    ("DOUBLE", "true"), ("DOUBLE", "NaN"), ("DECIMAL(5, 2)", '"x"'), ("DECIMAL(5, 2)", "true"),
    ("TIMESTAMP(3)", '"2024-01-01T00:00:00"'), ("TIMESTAMP(3)", '"2024-01-01 00:00"'), ("TIMESTAMP(3)", "1704067200000"),
    ("TIMESTAMP(3)", '"2024-01-01 00:00:00Z"'), ("TIMESTAMP(3)", '"2024-01-01"'), ("TIMESTAMP_LTZ(3)", '"2024-01-01 00:00:00"'),
    ("TIMESTAMP_LTZ(3)", '"2024-01-01 00:00:00+01:00"'), ("TIME(3)", '"12:13"'), ("TIME(3)", "5"), ("DATE", '"2024-02-31"'),
    ("DATE", '"20240131"'), ("DATE", "5"), ("DATE", '"2024-1-1"'), ("BYTES", '"YWI"'), ("BYTES", '"??"'), ("BYTES", "5"),
    ("TINYINT", "300"), ("TINYINT", '"300"'), ("SMALLINT", "1.9"), ("BIGINT", "9223372036854775808"),
]  # fmt: skip


@pytest.mark.parametrize(("type_", "text", "value"), FINE)
def test_values_convert_as_in_flink(type_: str, text: str, value: Any) -> None:
    assert rows_of(decode(f"a {type_}", f'{{"a":{text}}}')) == [(value,)]


@pytest.mark.parametrize(("type_", "text"), WRONG)
def test_values_that_do_not_fit_are_bad(type_: str, text: str) -> None:
    decoded = decode(f"z STRING, a {type_}", '{"z":"1"}', f'{{"a":{text}}}', "{}")
    assert rows_of(decoded) == [("1", None), (None, None)]
    assert decoded.origins.tolist() == [0, 2]
    ((at, error),) = decoded.bad
    assert at == 1
    assert isinstance(error, ElementError)


def test_errors_name_column_type_and_value() -> None:
    decoded = decode("l ARRAY<ROW<x INT>>", '{"l":[{"x":"y"}]}')
    assert "'l.x' has the type INT, but the record contains 'y'" in str(decoded.bad[0][1])


@pytest.mark.parametrize(("type_", "text"), WRONG)
def test_ignored_errors_leave_fields_null(type_: str, text: str) -> None:
    decoded = decode(f"z STRING, a {type_}", f'{{"z":"1","a":{text}}}', ignore_parse_errors=True)
    assert rows_of(decoded) == ([] if text == "NaN" else [("1", None)])  # NaN is not JSON, so that the row is skipped
    assert decoded.bad == []


def test_recorded_case_of_ignored_errors() -> None:
    records = ['{"a": 1, "b": "x"}', "{broken", '{"a": "many", "b": "y"}', '{"a": 4}']
    decoded = decode("a INT, b STRING", *records, ignore_parse_errors=True)
    assert rows_of(decoded) == [(1, "x"), (None, "y"), (4, None)]
    assert decoded.origins.tolist() == [0, 2, 3]


def test_iso_timestamps() -> None:
    records = [f'{{"a":"{t}"}}' for t in ("2024-01-01T00:00:00", "2024-01-01T00:00", "2024-01-01T00:00:00.5")]
    decoded = decode("a TIMESTAMP(3)", *records, '{"a":"2024-01-01 00:00:00"}', timestamp_separator="T")
    start = datetime.datetime(2024, 1, 1)
    assert rows_of(decoded) == [(start,), (start,), (start.replace(microsecond=500_000),)]
    assert [at for at, _ in decoded.bad] == [3]


def test_records_beside_objects() -> None:
    decoded = decode("a INT", '{"a":1} x', '[{"a":2},{"a":"3"}]', "5", "null", "", '{"A":1}')
    assert rows_of(decoded) == [(1,), (2,), (3,), (None,)]
    assert decoded.origins.tolist() == [0, 1, 1, 5]
    assert [at for at, _ in decoded.bad] == [2, 3, 4]


def test_missing_fields_can_be_errors() -> None:
    decoded = decode(
        "a INT, r ROW<b INT>", '{"a":1,"r":{"b":null}}', '{"r":{"b":1}}', '{"a":1,"r":{}}', fail_on_missing_field=True
    )
    assert rows_of(decoded) == [(1, {"b": None})]
    assert "no field 'r.b'" in str(decoded.bad[1][1])


def test_records_without_a_value_have_no_row() -> None:
    decoded = JsonDecoder(fields("a INT")).decode([b'{"a":1}', None])
    assert (rows_of(decoded), decoded.bad) == ([(1,)], [])


def test_no_columns() -> None:
    assert decode("", "{}", '{"a":1}').changes.length == 2


def test_a_few_bad_values_among_many() -> None:
    records = [f'{{"a":{i}}}' for i in range(1000)]
    records[123], records[777] = '{"a":3000000000}', '{"a":"5"}'
    decoded = decode("a INT", *records)
    assert [at for at, _ in decoded.bad] == [123]
    assert rows_of(decoded) == [(5 if i == 777 else i,) for i in range(1000) if i != 123]


@pytest.mark.parametrize("type_", ["MAP<INT, INT>", "INTERVAL MONTH"])
def test_types_that_json_does_not_have(type_: str) -> None:
    with pytest.raises(UnsupportedOperation):
        JsonEncoder(fields(f"a {type_}"))
    with pytest.raises(UnsupportedOperation):
        JsonDecoder(fields(f"a {type_}"))


EVERY = {**SCALARS, **NESTED}


@given(random_rows(EVERY))
@settings(max_examples=25, deadline=None)
def test_all_types_come_back(rows: list[Any]) -> None:
    columns = columns_of(EVERY)
    written = changes(columns, rows)
    for separator in (" ", "T"):
        records = JsonEncoder(fields(columns), JsonWriteSettings(separator)).encode(written)[0]
        decoded = JsonDecoder(fields(columns), JsonSettings(timestamp_separator=separator)).decode(records)
        assert decoded.bad == []
        assert rows_of(decoded) == rows_of(written)


def test_only_some_fields_of_rows_are_read() -> None:
    inner = RowType((Field("x", INT), Field("y", STRING), Field("z", INT)))
    fields = [Field("a", INT), Field("r", inner), Field("s", inner)]
    decoder = JsonDecoder(fields).only({0: None, 1: {1: None}, 2: None})
    records = [
        b'{"a": 1, "r": {"x": 1, "y": "one", "z": 1}, "s": {"x": 5, "y": "five", "z": 6}}',
        b'{"a": 2, "r": null, "s": {"x": 6}}',
        b'{"a": "3", "r": {"x": "no number, but not read", "y": 7}}',
        b'{"a": 4}',
        b'{"a": 5}',
    ]
    decoded = pickle.loads(pickle.dumps(decoder)).decode(records)
    assert decoded.bad == []
    assert decoded.changes.columns[0].to_pylist() == [1, 2, 3, 4, 5]
    assert decoded.changes.columns[1].to_pylist() == [
        {"x": None, "y": "one", "z": None},
        None,
        {"x": None, "y": "7", "z": None},
        None,
        None,
    ]
    assert decoded.changes.columns[2].to_pylist()[:2] == [
        {"x": 5, "y": "five", "z": 6},
        {"x": 6, "y": None, "z": None},
    ]


@pytest.mark.parametrize("absent", ["first", "most", "some", "all"])
def test_fields_of_rows_become_columns(absent: str) -> None:
    inner = RowType((Field("x", INT), Field("y", STRING)))
    fields = [
        Field("a", INT),
        Field("r", RowType((Field("b", STRING), Field("s", inner), Field("c", TimestampType(3))))),
    ]
    present: dict[str, Any] = {
        "first": lambda i: i > 0,
        "most": lambda i: i % 5 == 0,
        "some": lambda i: i % 5 > 0,
        "all": lambda i: False,
    }
    records = []
    for i in range(40):
        row = {"b": f"b{i}", "c": "2024-01-01 00:00:00", "s": None if i % 3 else {"x": i, "y": "z"}}
        records.append(json.dumps({"a": i, "r": row if present[absent](i) else None}).encode())
    records.append(b'{"a": 1, "r": {"b": 5, "s": {"x": "7"}}}')  # is read by the exact path
    paths = {0: None, 1: {0: None, 1: {0: None}, 2: None}}
    found = JsonDecoder(fields).flattened(paths)
    assert found is not None
    decoder, leaves = found
    assert leaves == [(0,), (1, 0), (1, 1, 0), (1, 2)]
    flat = pickle.loads(pickle.dumps(decoder)).decode(records)
    whole = JsonDecoder(fields).decode(records)
    expected = [[None if row is None else row[name] for row in whole.changes.columns[1].to_pylist()] for name in "bsc"]
    expected[1] = [None if row is None else row["x"] for row in expected[1]]
    assert [c.to_pylist() for c in flat.changes.columns] == [whole.changes.columns[0].to_pylist(), *expected]
    assert flat.bad == whole.bad == []


def test_rows_stay_whole_if_no_field_may_be_missing() -> None:
    fields = [Field("r", RowType((Field("b", STRING),)))]
    assert JsonDecoder(fields, JsonSettings(fail_on_missing_field=True)).flattened({0: {0: None}}) is None
