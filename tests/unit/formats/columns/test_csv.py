"""CSV by columns: texts and conversions are those of Flink 2.3, recorded with PyFlink."""

from __future__ import annotations

import datetime
import pickle
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.errors import UnsupportedOperation
from penstock.formats.columns.csv_decoder import CsvDecoder
from penstock.formats.columns.csv_encoder import CsvEncoder
from penstock.formats.csv.dialect import CsvDialect
from tests.unit.formats.columns.tables import SCALARS, changes, columns_of, fields, random_rows, rows_of

ALL = (
    "a INT, b STRING, c DECIMAL(10, 2), d DOUBLE, e FLOAT, f BOOLEAN, g DATE, h TIME(3), i TIMESTAMP(3), "
    "j TIMESTAMP_LTZ(3), k BYTES, l ARRAY<INT>, n ROW<x INT, y STRING>, p CHAR(3), q TINYINT"
)
_AT = datetime.datetime(2024, 2, 29, 12, 13, 14, 120_000)
ROWS = [
    (1, 'x"y\\z/é€', Decimal("1.50"), 1e10, 0.1, True, _AT.date(), datetime.time(12, 13, 14), _AT, _AT, b"\0\xffA",
     [1, None, 3], {"x": 1, "y": "q"}, "ab ", 5),
    (2, "tab\tnl", Decimal("0.00"), 1e-5, 1e10, False, datetime.date(1, 1, 1), datetime.time(0), _AT, _AT, b"",
     [7], {"x": 2, "y": "r"}, "abc", -5),
]  # fmt: skip
STRINGS = [
    ("a,b", "a b", "", " x "),
    ('a"b', "#c", "1-2", "a'b"),
    ("a;b", "_x", "é", "a.b"),
    ("a\nb", "a\\b", "true", "3.5"),
]
FOUR = "a STRING, b STRING, c STRING, d STRING"


def encode(columns: str, rows: list[Any], dialect: CsvDialect | None = None) -> list[str]:
    encoder = pickle.loads(pickle.dumps(CsvEncoder(fields(columns), dialect)))
    return [record.decode() for record in encoder.encode(changes(columns, rows))[0]]


def decode(columns: str, *lines: str, lenient: bool = False, **dialect: Any) -> Any:
    decoder = pickle.loads(pickle.dumps(CsvDecoder(fields(columns), None, CsvDialect(**dialect), lenient)))
    return decoder.decode([line.encode() for line in lines])


def test_rows_are_written_as_flink_writes_them() -> None:
    assert encode(ALL, ROWS) == [
        '1,"x""y\\z/é€",1.5,1.0E10,0.1,true,2024-02-29,12:13:14,"2024-02-29 12:13:14.12","2024-02-29 12:13:14.12Z",'
        'AP9B,1;;3,1;q,"ab ",5',
        '2,"tab\tnl",0,1.0E-5,1.0E10,false,0001-01-01,00:00:00,"2024-02-29 12:13:14.12","2024-02-29 12:13:14.12Z",,7,2;r,abc,-5',
    ]
    assert encode(ALL, ROWS, CsvDialect("|", "'", array_delimiter="#"))[0] == (
        "1|'x\"y\\z/é€'|1.5|1.0E10|0.1|true|'2024-02-29'|'12:13:14'|'2024-02-29 12:13:14.12'|'2024-02-29 12:13:14.12Z'|'AP9B'|"
        "'1##3'|'1#q'|'ab '|5"
    )
    assert encode(ALL, ROWS, CsvDialect(quote=None))[0].startswith('1,x"y\\z/é€,1.5,')


def test_strings_are_quoted_as_flink_quotes_them() -> None:
    plain = ['"a,b","a b",," x "', '"a""b","#c",1-2,"a\'b"', "a;b,_x,é,a.b", '"a\nb","a\\b",true,3.5']
    assert encode(FOUR, STRINGS) == plain
    assert encode(FOUR, STRINGS, CsvDialect(escape="\\")) == [*plain[:3], '"a\nb","a\\\\b",true,3.5']
    longest = "abcdefghijklmnopqrstuvwx"
    assert encode("a STRING, b STRING", [(longest, longest + "y")]) == [f'{longest},"{longest}y"']


def test_nulls() -> None:
    assert encode(ALL, [[1, *[None] * 14]]) == ["1" + "," * 14]
    assert encode(ALL, [[1, *[None] * 14]], CsvDialect(null="n/a")) == ["1" + ",n/a" * 14]
    assert rows_of(decode("a INT, b STRING", "n/a,n/a", "1,", null="n/a")) == [(None, None), (1, "")]


@pytest.mark.parametrize(
    ("columns", "line", "row"),
    [
        ("a INT, b STRING", ' 3 ,"x ""y"""', (3, 'x "y"')),
        ("a BOOLEAN, b BOOLEAN, c BOOLEAN", "TRUE, x, true ", (True, False, True)),
        ("a BOOLEAN", "", (False,)),
        ("a DECIMAL(5, 2), b DECIMAL(5, 2)", "1.005,99999", (Decimal("1.01"), None)),
        ("a DOUBLE, b DOUBLE", " 1e3 ,Infinity", (1000.0, float("inf"))),
        ("a DATE, b DATE", "2024-1-1,2024-02-30", (datetime.date(2024, 1, 1), datetime.date(2024, 3, 1))),
        ("a TIME(3), b TIME(3)", "12:13:14.567,12:13", (datetime.time(12, 13, 14, 567_000), datetime.time(12, 13))),
        ("a TIMESTAMP(3)", "2024-02-30 00:00:00", (datetime.datetime(2024, 2, 29),)),
        ("a BYTES, b BYTES", "YWI=,", (b"ab", b"")),
        ("a ROW<x INT, y STRING>, l ARRAY<INT>", "1;x,1;2", ({"x": 1, "y": "x"}, [1, 2])),
        ("l ARRAY<STRING>, b INT", ",1", ([], 1)),
        ("a ARRAY<STRING>", '"a;""b"', (["a", '"b'],)),
        ("a STRING", 'a"b', ('a"b',)),
        ("a STRING", "#x", ("#x",)),
        ("a STRING", "", ("",)),
    ],
)
def test_cells_convert_as_in_flink(columns: str, line: str, row: tuple[Any, ...]) -> None:
    assert rows_of(decode(columns, line)) == [row]


@pytest.mark.parametrize(
    ("columns", "line"),
    [
        ("a INT", "x"), ("a INT, b INT", ",1"), ("a INT", "1.5"), ("a INT", "1,2"), ("a INT, b INT", "1"), ("a INT, b INT", ""),
        ("a DATE, b INT", ",1"), ("a TIMESTAMP(3), b INT", ",1"), ("a DECIMAL(5, 2), b INT", ",1"), ("a DECIMAL(5, 2)", " 1.5 "),
        ("a TIMESTAMP(3)", "2024-01-01T00:00:00.5"), ("a TIMESTAMP(3)", "2024-01-01 12:13"),
        ("a TIMESTAMP(3)", "2024-13-01 00:00:00"), ("a TIMESTAMP_LTZ(3)", "2024-01-01 00:00:00"), ("a TIME", "24:00:00"),
        ("a ROW<x INT, y STRING>", "1"), ("a STRING", '"ab'), ("a BYTES", "??"),
    ],
)  # fmt: skip
def test_lines_that_do_not_fit_are_bad(columns: str, line: str) -> None:
    decoded = decode(columns, line)
    assert (rows_of(decoded), [at for at, _ in decoded.bad]) == ([], [0])


def test_ignored_errors_leave_cells_null_and_skip_long_lines() -> None:
    decoded = decode("a INT, b INT", "x,1", "1", "1,2,3", "1,2", lenient=True)
    assert rows_of(decoded) == [(None, 1), (1, None), (1, 2)]
    assert (decoded.origins.tolist(), decoded.bad) == ([0, 1, 3], [])


def test_comments_and_escapes() -> None:
    assert rows_of(decode("a INT", "#x", "1", comments=True)) == [(1,)]
    assert rows_of(decode("a STRING", "a\\,b", escape="\\")) == [("a,b",)]


def test_only_wanted_columns_are_converted() -> None:
    decoder = CsvDecoder(fields("a INT, b INT, c STRING"), [2, 0])
    assert rows_of(decoder.decode([b"1,no number,x"])) == [("x", 1)]


def test_types_that_csv_does_not_have() -> None:
    with pytest.raises(UnsupportedOperation, match="MAP"):
        CsvEncoder(fields("m MAP<STRING, INT>"))
    with pytest.raises(UnsupportedOperation, match="MAP"):
        CsvDecoder(fields("m MAP<STRING, INT>"))


_SAFE = {**SCALARS, "STRING": st.text(st.characters(codec="utf-8", exclude_characters="\r"), max_size=30)}
EVERY = {**_SAFE, "ARRAY<INT>": st.lists(st.integers(-9, 9), min_size=1, max_size=4)}


@given(random_rows(EVERY))
@settings(max_examples=25, deadline=None)
def test_all_types_come_back(rows: list[Any]) -> None:
    columns, dialect = columns_of(EVERY), CsvDialect(null="\\N")
    written = changes(columns, rows)
    records = CsvEncoder(fields(columns), dialect).encode(written)[0]
    decoded = CsvDecoder(fields(columns), None, dialect).decode(records)
    assert decoded.bad == []
    assert rows_of(decoded) == rows_of(written)
