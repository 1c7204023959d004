"""The connectors 'print', 'blackhole' and 'redis'."""

from __future__ import annotations

import datetime
from decimal import Decimal
from typing import Any

import pytest

from penstock.connectors.basic_sinks import PrintSink
from penstock.connectors.redis.sink import RedisSink
from penstock.connectors.sink import WriteTask
from penstock.errors import ElementError
from tests.unit.formats.columns.tables import changes
from tests.unit.table.connectors.requests import sink

COLUMNS = (
    "a INT, b STRING, c DECIMAL(10, 2), d DOUBLE, e FLOAT, f BOOLEAN, g DATE, h TIME(3), i TIMESTAMP(3), "
    "j TIMESTAMP_LTZ(3), k BYTES, l ARRAY<INT>, m MAP<STRING, INT>, n ROW<x INT, y STRING>, p CHAR(3), q TINYINT"
)


def test_rows_are_printed_as_flink_prints_them() -> None:
    at = datetime.datetime(2024, 2, 29, 12, 13, 14, 120_000)
    row = (
        1, "x", Decimal("1.50"), 1e10, 0.1, True, at.date(), datetime.time(12, 13), at, at.replace(second=0, microsecond=0),
        b"\0\xffA", [1, None], [("k", 1)], {"x": 1, "y": None}, "ab ", 5,
    )  # fmt: skip
    table = sink(COLUMNS, {"connector": "print"})
    assert table.encoder.encode(changes(COLUMNS, [row, [None] * 16]))[0] == [
        "+I[1, x, 1.50, 1.0E10, 0.1, true, 2024-02-29, 12:13, 2024-02-29T12:13:14.120, 2024-02-29T12:13:00Z, [0, -1, 65], "
        "[1, null], {k=1}, +I[1, null], ab , 5]",
        f"+I[{', '.join(['null'] * 16)}]",
    ]


def test_kinds_identifier_and_stream() -> None:
    table = sink("a INT", {"connector": "print", "print-identifier": "id", "standard-error": "true"})
    assert table.mode == "retract"
    assert isinstance(table.sink, PrintSink)
    assert table.sink.to_stderr
    lines, _ = table.encoder.encode(changes("a INT", [(1,), (1,), (2,), (2,)], "+I -U +U -D"))
    assert [table.sink.line(line) for line in lines] == ["id> +I[1]", "id> -U[1]", "id> +U[2]", "id> -D[2]"]


def test_blackhole_counts_rows() -> None:
    table = sink("a INT", {"connector": "blackhole"})
    assert table.mode == "retract"
    assert not table.sink.wants_values
    assert len(table.encoder.encode(changes("a INT", [(1,), (2,)]))[0]) == 2


def commands(table: Any, rows: Any) -> list[Any]:
    assert isinstance(table.sink, RedisSink)
    writer: Any = table.sink.writer(WriteTask(0, 0, "0"))
    writer.write(table.encoder.encode(rows)[0], None, None)
    found: list[Any] = writer._commands()
    return found


def test_redis_strings() -> None:
    table = sink(
        "id INT, name STRING, n BIGINT", {"connector": "redis", "key-prefix": "u:", "ttl": "1 min"}, key=("id",)
    )
    assert table.mode == "upsert"
    columns = "id INT, name STRING, n BIGINT"
    rows = changes(columns, [(1, "x", 5), (1, "x", 5), (1, "y", 6), (2, "z", 7), (2, "z", 7)], "+I -U +U +I -D")
    assert commands(table, rows) == [("SET", "u:1", b'{"name":"y","n":6}', "EX", 60), ("DEL", "u:2")]


def test_redis_hashes() -> None:
    options = {"connector": "redis", "command": "HSET", "additional-key": "h"}
    table = sink("a INT, b INT, v STRING", options, key=("a", "b"))
    rows = changes("a INT, b INT, v STRING", [(1, 2, "x"), (3, 4, "y"), (3, 4, "y")], "+I +I -D")
    assert commands(table, rows) == [("HDEL", "h", "3:4"), ("HSET", "h", "1:2", "x")]
    assert sink("k STRING, v STRING", {"connector": "redis"}).mode == "append"


def test_redis_keys_are_not_null() -> None:
    table = sink("k STRING, v STRING", {"connector": "redis"})
    with pytest.raises(ElementError, match="'k' is null"):
        table.encoder.encode(changes("k STRING, v STRING", [(None, "x")]))
