"""The connector 'datagen'."""

from __future__ import annotations

import re
from decimal import Decimal
from pathlib import Path

from tests.unit.formats.columns.tables import rows_of
from tests.unit.table.connectors.requests import read_all, source

EVERY = (
    "a BOOLEAN, b TINYINT, c SMALLINT, d INT, e BIGINT, f FLOAT, g DOUBLE, h DECIMAL(10, 2), i DECIMAL(38, 10), j CHAR(3), "
    "k VARCHAR(5), l STRING, m BYTES, n DATE, o TIME, p TIMESTAMP(3), q TIMESTAMP_LTZ(6), r ARRAY<INT>, s MAP<STRING, INT>, "
    "t MULTISET<STRING>, u ROW<x INT, y ARRAY<STRING>>, v INTERVAL MONTH, w INTERVAL SECOND(3)"
)


def options(**more: str) -> dict[str, str]:
    return {"connector": "datagen", "number-of-rows": "100", **{k.replace("__", "."): v for k, v in more.items()}}


def test_all_types(tmp_path: Path) -> None:
    rows = read_all(source(EVERY, options()), tmp_path)
    assert len(rows) == 100
    assert len(set(map(str, rows))) == 100
    assert all(value is not None for row in rows for value in row)
    assert all(re.fullmatch("[0-9a-f]{3}", row[9]) and len(row[10]) == 5 and len(row[11]) == 100 for row in rows)


def test_a_batch_that_runs_again_is_the_same(tmp_path: Path) -> None:
    table = source(EVERY, options())
    rows = read_all(table, tmp_path)
    end = {"n": 100, "clock": 5}
    tasks = table.source.plan({"n": 0, "clock": 0}, end, 3)
    again = [
        row
        for task in tasks
        for chunk in table.source.read(task)
        for row in rows_of(table.decoder.decode(chunk.values))
    ]
    without_time = [i for i in range(23) if i not in (13, 15, 16)]
    assert [[row[i] for i in without_time] for row in again] == [[row[i] for i in without_time] for row in rows]
    one_by_one = [
        row
        for task in tasks
        for chunk in table.source.read(task)
        for value in chunk.values
        for row in rows_of(table.decoder.decode([value]))
    ]
    assert one_by_one == again


def test_a_column_does_not_depend_on_the_others(tmp_path: Path) -> None:
    table, other = source("a INT, b STRING", options()), source("a INT, b STRING", options(), ["b"])
    elements = [(number, (7, 0)) for number in range(10)]
    assert [row[1:] for row in rows_of(table.decoder.decode(elements))] == rows_of(other.decoder.decode(elements))


def test_sequences_end_the_table(tmp_path: Path) -> None:
    given = {
        "connector": "datagen",
        **{f"fields.{c}.{k}": v for c in "abc" for k, v in (("kind", "sequence"), ("start", "3"), ("end", "5"))},
    }
    table = source("a INT, b STRING, c DECIMAL(5, 1)", given)
    assert table.source.bounded
    assert read_all(table, tmp_path) == [(n, str(n), Decimal(n)) for n in (3, 4, 5)]
    assert not source("a INT", {"connector": "datagen"}).source.bounded


def test_limits_lengths_and_nulls(tmp_path: Path) -> None:
    given = options(
        fields__a__min="-2", fields__a__max="2", fields__b__length="4", fields__c__length="9", **{"fields.c.var-len": "true"},
        **{"fields.d.null-rate": "0.5", "fields.e.max-past": "1 h", "fields.r.length": "2", "fields.r.element.max": "0"},
        fields__h__min="1.5", fields__h__max="2.5",
    )  # fmt: skip
    columns = "a INT, b STRING, c STRING, d BIGINT, e TIMESTAMP(3), r ARRAY<INT>, h DECIMAL(4, 1)"
    rows = read_all(source(columns, given), tmp_path)
    assert {row[0] for row in rows} == {-2, -1, 0, 1, 2}
    assert {len(row[1]) for row in rows} == {4}
    assert {len(row[2]) for row in rows} == set(range(1, 10))
    assert 20 < sum(row[3] is None for row in rows) < 80
    times = [row[4] for row in rows]
    assert 600 < (max(times) - min(times)).total_seconds() <= 3600
    assert all(len(row[5]) == 2 and max(row[5]) <= 0 for row in rows)
    assert all(Decimal("1.5") <= row[6] <= Decimal("2.5") for row in rows)
