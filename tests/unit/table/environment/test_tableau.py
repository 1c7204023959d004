"""Results are printed as Flink prints them."""

from __future__ import annotations

import datetime
import decimal
from typing import Any

import pytest

from penstock.datastream.jobs.closeable_iterator import CloseableIterator
from penstock.row import Row, RowKind
from penstock.table.environment.answer import Answer
from penstock.table.environment.environment import TableEnvironment
from penstock.table.environment.table_result import TableResult
from penstock.types.logical.kinds import Field, RowType
from penstock.types.logical.text import parse_type


def printed(columns: dict[str, str], rows: list[Any], streaming: bool = True, width: int = 30) -> str:
    row_type = RowType(tuple(Field(name, parse_type(text)) for name, text in columns.items()), nullable=False)
    answer = Answer(row_type, CloseableIterator(iter(rows)), is_query=True, streaming=streaming)
    return "\n".join(TableResult(answer, width).lines()) + "\n"


def test_widths_of_types() -> None:
    moment = datetime.datetime(2020, 1, 1, 10, 0, 0, 123000)
    columns = {
        "a": "INT",
        "b": "CHAR(1)",
        "c": "INT",
        "d": "DECIMAL(3, 2)",
        "e": "BOOLEAN",
        "f": "DATE",
        "g": "TIMESTAMP(3)",
        "h": "DOUBLE",
    }
    row = Row(1, "x", None, decimal.Decimal("1.50"), True, moment.date(), moment, 1.5)
    lines = printed(columns, [row]).split("\n")
    widths = [len(part) for part in lines[0].strip("+").split("+")]
    assert widths == [4, 13, 32, 13, 8, 8, 12, 25, 32]
    assert lines[3].startswith(
        "| +I |           1 |                              x |      <NULL> |   1.50 |   TRUE | 2020-01-01 |"
    )
    assert lines[3].endswith("| 2020-01-01 10:00:00.123 |                            1.5 |")
    assert lines[0] == lines[2] == lines[4]
    assert lines[5:] == ["1 row in set", ""]


def test_long_names_and_wide_characters() -> None:
    columns = {"long_column_name_that_is_really_longer_than_thirty": "STRING", "w": "STRING"}
    assert printed(columns, [Row("abcdefghijklmnopqrstuvwxyz0123456789", "世界")]) == (
        "+----+----------------------------------------------------+--------------------------------+\n"
        "| op | long_column_name_that_is_really_longer_than_thirty |                              w |\n"
        "+----+----------------------------------------------------+--------------------------------+\n"
        "| +I |               abcdefghijklmnopqrstuvwxyz0123456789 |                           世界 |\n"
        "+----+----------------------------------------------------+--------------------------------+\n"
        "1 row in set\n"
    )


def test_kinds_of_changes() -> None:
    rows = [
        Row.of_kind(RowKind.INSERT, "a", 1),
        Row.of_kind(RowKind.UPDATE_BEFORE, "a", 1),
        Row.of_kind(RowKind.UPDATE_AFTER, "a", 2),
        Row.of_kind(RowKind.DELETE, "a", 2),
    ]
    assert printed({"x": "CHAR(1)", "n": "BIGINT"}, rows) == (
        "+----+--------------------------------+----------------------+\n"
        "| op |                              x |                    n |\n"
        "+----+--------------------------------+----------------------+\n"
        "| +I |                              a |                    1 |\n"
        "| -U |                              a |                    1 |\n"
        "| +U |                              a |                    2 |\n"
        "| -D |                              a |                    2 |\n"
        "+----+--------------------------------+----------------------+\n"
        "4 rows in set\n"
    )


def test_batch_mode_has_no_kinds_and_long_values_are_cut() -> None:
    rows = [Row("abcdefghijklmnopqrstuvwxyz0123456789")]
    assert printed({"a": "STRING"}, rows, streaming=False) == (
        "+--------------------------------+\n"
        "|                              a |\n"
        "+--------------------------------+\n"
        "| abcdefghijklmnopqrstuvwxyz0... |\n"
        "+--------------------------------+\n"
        "1 row in set\n"
    )


def test_collections() -> None:
    columns = {
        "a": "ARRAY<INT>",
        "m": "MAP<STRING, INT>",
        "r": "ROW<x INT, y STRING>",
        "b": "BINARY(2)",
        "t": "TIME(0)",
        "i": "INTERVAL DAY",
        "j": "INTERVAL MONTH",
        "f": "FLOAT",
    }
    clock = datetime.time(10, 11, 12)
    row = Row([1, None], {"k": 1}, Row(1, "x"), b"AB", clock, datetime.timedelta(days=1), 2, 1.0)
    line = printed(columns, [row]).split("\n")[3]
    values = [part.strip() for part in line.strip("|").split("|")]
    assert values == ["+I", "[1, NULL]", "{k=1}", "(1, x)", "x'4142'", "10:11:12", "+1 00:00:00.000", "+0-02", "1.0"]


def test_no_rows() -> None:
    assert printed({"a": "INT"}, []) == "Empty set\n"


def test_answers_of_statements(capsys: pytest.CaptureFixture[str]) -> None:
    env = TableEnvironment.create()
    env.execute_sql("CREATE TABLE a (id INT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts - INTERVAL '1' SECOND)").print()
    env.execute_sql("SHOW COLUMNS FROM a").print()
    env.execute_sql("SHOW TABLES LIKE 'zzz'").print()
    assert capsys.readouterr().out == (
        "OK\n"
        "+------+------------------------+------+-----+--------+----------------------------+\n"
        "| name |                   type | null | key | extras |                  watermark |\n"
        "+------+------------------------+------+-----+--------+----------------------------+\n"
        "|   id |                    INT | TRUE |     |        |                            |\n"
        "|   ts | TIMESTAMP(3) *ROWTIME* | TRUE |     |        | `ts` - INTERVAL '1' SECOND |\n"
        "+------+------------------------+------+-----+--------+----------------------------+\n"
        "2 rows in set\n"
        "Empty set\n"
    )
