"""CSV: the output of Flink 2.3 for the same input, and round trips."""

from __future__ import annotations

import datetime
import decimal
import pickle
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from penstock.errors import ConfigError, PlanError, UserFunctionError
from penstock.formats import CsvRowDeserializationSchema, CsvRowSerializationSchema, Decoding
from penstock.row import Row
from penstock.time import Instant
from penstock.types import RowTypeInfo, Types
from tests.unit.formats.strategies import CLOCKS, INSTANTS, SINGLE, rows, same

THREE = Types.ROW_NAMED(["a", "b", "c"], [Types.STRING(), Types.INT(), Types.STRING()])


def written(text: str | None, builder: Any = None) -> str:
    schema = (builder or CsvRowSerializationSchema.Builder(THREE)).build()
    data: bytes = schema.encode([Row(a=text, b=None, c="z")])[0]
    return data.decode()


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("", ",,z\n"),
        ("a b", '"a b",,z\n'),
        ("a,b", '"a,b",,z\n'),
        ('q"q', '"q""q",,z\n'),
        ("x" * 24, "x" * 24 + ",,z\n"),
        ("x" * 25, '"' + "x" * 25 + '",,z\n'),
        ("é", "é,,z\n"),
        ("l\nm", '"l\nm",,z\n'),
        ("a;b", "a;b,,z\n"),
        ("-1", "-1,,z\n"),
        ("#x", '"#x",,z\n'),
        ("a.b", "a.b,,z\n"),
        ("a+b", '"a+b",,z\n'),
    ],
)
def test_quotes_as_in_flink(text: str, line: str) -> None:
    assert written(text) == line


@pytest.mark.parametrize(
    ("text", "line"),
    [("a*b", "'a**b';;z\n"), ("a'b", "'a''b';;z\n"), ("ab", "ab;;z\n"), ("a;b", "'a;b';;z\n"), ("a b", "'a b';;z\n")],
)
def test_other_delimiters(text: str, line: str) -> None:
    builder = CsvRowSerializationSchema.Builder(THREE)
    assert written(text, builder.set_escape_character("*").set_quote_character("'").set_field_delimiter(";")) == line


def test_escapes_and_null_literals_on_write() -> None:
    row = Row(a="Test", b=12, c="Hello")
    assert CsvRowSerializationSchema.Builder(THREE).set_field_delimiter("|").build().encode([row]) == [
        b'"Test"|12|"Hello"\n'
    ]
    plain = CsvRowSerializationSchema.Builder(THREE).disable_quote_character().build()
    assert plain.encode([Row(a="a,b", b=1, c='q"')]) == [b'a,b,1,q"\n']
    empty = CsvRowSerializationSchema.Builder(THREE).set_null_literal("n/a").set_line_delimiter("").build()
    assert empty.encode([Row(a=None, b=None, c="")]) == [b"n/a,n/a,"]


def read(message: bytes, builder: Any = None, kind: RowTypeInfo = THREE) -> Any:
    return (builder or CsvRowDeserializationSchema.Builder(kind)).build().decode([message])[0]


@pytest.mark.parametrize(
    ("message", "fields"),
    [
        (b"Test,12,Hello", ("Test", 12, "Hello")),
        (b"Test,12,Hello\n", ("Test", 12, "Hello")),
        (b"Test, 12 ,x", ("Test", 12, "x")),
        (b'"a\nb",1,c', ("a\nb", 1, "c")),
        (b'a"b,1,c', ('a"b', 1, "c")),
        (b" a ,1, c ", (" a ", 1, " c ")),
        (b'a,1,"x""y"', ("a", 1, 'x"y')),
        (b"#a,1,c", ("#a", 1, "c")),
        (b",1,", ("", 1, "")),
    ],
)
def test_lines(message: bytes, fields: tuple[Any, ...]) -> None:
    assert tuple(read(message)) == fields


@pytest.mark.parametrize(
    ("message", "expected", "ignoring"),
    [
        (b"", "empty", None),
        (b"\n", "1 fields; expected 3", ("", None, None)),
        (b"Test,12", "2 fields; expected 3", ("Test", 12, None)),
        (b"Test,12,a,b", "4 fields", None),
        (b"Test,,x", "field 'b': '' is not an integer", ("Test", None, "x")),
        (b'"a"b,1,c', "expected after", None),
        (b'"a,1,c', "unexpected end of data", None),
        (b"\xff,1,c", "can't decode byte", None),
        (b"a,1.5,c", "'1.5' is not an integer", ("a", None, "c")),
        (b"a,3000000000,c", "out of range for INT", ("a", None, "c")),
    ],
)
def test_invalid_messages(message: bytes, expected: str, ignoring: Any) -> None:
    with pytest.raises(Exception, match=expected):
        read(message)
    schema = CsvRowDeserializationSchema.Builder(THREE).set_ignore_parse_errors(True).build()
    decoded = Decoding(schema).decode([b"good,1,x", message], lambda i: (i, {}))
    assert [tuple(v) for v in decoded.values] == [("good", 1, "x"), *([] if ignoring is None else [ignoring])]
    assert decoded.bad == []


def test_unclosed_quote_does_not_affect_the_next_message() -> None:
    schema = CsvRowDeserializationSchema.Builder(THREE).build()
    decoded = Decoding(schema).decode([b'"a,1,c', b'b",2,"x', b"c,3,d"], lambda i: (i, {}))
    assert [tuple(v) for v in decoded.values] == [("c", 3, "d")]
    assert len(decoded.bad) == 2


def test_comments_nulls_and_escapes() -> None:
    builder = CsvRowDeserializationSchema.Builder
    with pytest.raises(ValueError, match="comment"):
        read(b" #a,1,c", builder(THREE).set_allow_comments(True))
    assert tuple(read(b'n/a,n/a,"n/a"', builder(THREE).set_null_literal("n/a"))) == (None, None, None)
    assert tuple(read(b',,""', builder(THREE).set_null_literal(""))) == (None, None, None)
    assert tuple(read(b'a\\,b,1,"x\\"y\\n\\\\n"', builder(THREE).set_escape_character("\\"))) == ("a,b", 1, 'x"y\n\\n')
    text = Types.ROW([Types.STRING()])
    assert tuple(read(b"123*'4**", builder(text).set_escape_character("*").set_quote_character("'"))) == ("123'4*",)


ARRAYS = Types.ROW_NAMED(["a", "r"], [Types.OBJECT_ARRAY(Types.INT()), Types.ROW([Types.STRING(), Types.INT()])])


def test_arrays_and_rows_in_fields() -> None:
    row = read(b"1;2;3,x;1", kind=ARRAYS)
    assert (row.a, tuple(row.r)) == ([1, 2, 3], ("x", 1))
    assert read(b",x;1", kind=ARRAYS).a == []
    with pytest.raises(ValueError, match="3 parts"):
        read(b"1,x;1;2", kind=ARRAYS)
    ignoring = CsvRowDeserializationSchema.Builder(ARRAYS).set_ignore_parse_errors(True)
    row = read(b"1;;3,x", ignoring)
    assert (row.a, tuple(row.r)) == ([1, None, 3], ("x", None))
    data = (
        CsvRowSerializationSchema.Builder(ARRAYS).set_array_element_delimiter(":").build().encode([([1, 2], ("x", 7))])
    )
    assert data == [b"1:2,x:7\n"]


ALL = Types.ROW(
    [
        Types.SQL_DATE(),
        Types.SQL_TIME(),
        Types.SQL_TIMESTAMP(),
        Types.FLOAT(),
        Types.DOUBLE(),
        Types.BIG_DEC(),
        Types.BOOLEAN(),
        Types.PRIMITIVE_ARRAY(Types.BYTE()),
        Types.INSTANT(),
    ]
)


def test_single_values() -> None:
    line = b"2024-5-1,12:30:01,2024-05-01 12:30:01.5,0.1,1e10,1.10,TRUE,awML,1970-01-01 00:02:03.456Z"
    row = read(line, kind=ALL)
    assert list(row) == [
        datetime.date(2024, 5, 1),
        datetime.time(12, 30, 1),
        datetime.datetime(2024, 5, 1, 12, 30, 1, 500_000),
        0.10000000149011612,
        1e10,
        decimal.Decimal("1.10"),
        True,
        b"k\x03\x0b",
        Instant(123, 456_000_000),
    ]
    assert CsvRowSerializationSchema(ALL).encode([row]) == [
        b'2024-05-01,12:30:01,"2024-05-01 12:30:01.5",0.1,1.0E10,1.10,true,awML,"1970-01-01 00:02:03.456Z"\n'
    ]


def test_types_that_csv_does_not_support() -> None:
    for kind in (Types.MAP(Types.STRING(), Types.INT()), Types.LIST(Types.LIST(Types.INT()))):
        with pytest.raises(PlanError, match="CSV_TYPE"):
            CsvRowDeserializationSchema(Types.ROW([kind]))
        with pytest.raises(PlanError, match="CSV_TYPE"):
            CsvRowSerializationSchema(Types.ROW([kind]))
    with pytest.raises(PlanError, match="ROW_TYPE_EXPECTED"):
        CsvRowDeserializationSchema.Builder(Types.STRING())
    with pytest.raises(ConfigError, match="CSV_SIGN"):
        CsvRowDeserializationSchema.Builder(THREE).set_field_delimiter("||").build()
    with pytest.raises(ConfigError, match="CSV_SIGN"):
        CsvRowSerializationSchema.Builder(THREE).set_line_delimiter("|").build()
    with pytest.raises(UserFunctionError, match="ELEMENT_TYPE"):
        CsvRowSerializationSchema(THREE).encode([("a", "b", "c")])


SIGNS = st.sampled_from([(",", '"', None), (";", "'", None), ("|", '"', "\\"), ("\t", '"', "*")])


@settings(max_examples=150)
@given(rows([*SINGLE, CLOCKS, INSTANTS]), SIGNS)
def test_round_trip(drawn: tuple[RowTypeInfo, list[Row]], signs: tuple[str, str, str | None]) -> None:
    kind, values = drawn
    assume(all("\0" not in v and v != "none" for row in values for v in row if isinstance(v, str)))
    delimiter, quote, escape = signs
    to = CsvRowSerializationSchema.Builder(kind).set_field_delimiter(delimiter).set_quote_character(quote)
    back = CsvRowDeserializationSchema.Builder(kind).set_field_delimiter(delimiter).set_quote_character(quote)
    to.set_null_literal("none")
    back.set_null_literal("none")
    if escape is not None:
        to.set_escape_character(escape)
        back.set_escape_character(escape)
    messages = to.build().encode(values)
    result = pickle.loads(pickle.dumps(back.build())).decode(messages)
    assert same(result, values)


def test_a_long_field() -> None:
    assert len(read(b"x" * 1_000_000 + b",1,c").a) == 1_000_000
