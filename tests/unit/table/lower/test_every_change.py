"""Readers that must see each update: windows that end before a row is updated, and aggregates that depend on the order."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.table.environment.environment import TableEnvironment
from penstock.table.environment.settings import EnvironmentSettings

LAST = "(SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY {order}) AS n FROM e) WHERE n = 1"
LINES = [("a", 1, "00:01"), ("b", 2, "00:03"), ("a", 3, "00:25"), ("b", 4, "00:26"), ("a", 5, "01:00")]


def rows(tmp_path: Path, order: str, mode: EnvironmentSettings) -> list[tuple[str, int]]:
    lines = [f'{{"k": "{k}", "v": {v}, "ts": "2024-01-01 10:{at}"}}\n' for k, v, at in LINES]
    (tmp_path / "e.json").write_text("".join(lines))
    env = TableEnvironment.create(mode)
    env.get_config().set("execution.engine", "local")
    env.execute_sql(
        "CREATE TABLE e (k STRING, v INT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts) WITH ('connector' = 'filesystem', "
        f"'path' = '{tmp_path}/e.json', 'format' = 'json')"
    )
    env.execute_sql(f"CREATE TEMPORARY VIEW newest AS SELECT k, v, ts FROM {LAST.format(order=order)}")
    query = (
        "SELECT CAST(window_start AS STRING), SUM(v) FROM TABLE(TUMBLE(TABLE newest, DESCRIPTOR(ts), INTERVAL '20' SECOND)) "
        "GROUP BY window_start, window_end"
    )
    with env.execute_sql(query).collect() as found:
        return sorted((row[0][-9:-4], row[1]) for row in found)


@pytest.mark.parametrize("order", ["ts DESC", "ts DESC, v DESC"])  # the second one is a Top-1, not a deduplication
def test_windows_of_rows_that_are_updated_after_the_window_has_ended(tmp_path: Path, order: str) -> None:
    found = rows(tmp_path, order, EnvironmentSettings.in_streaming_mode())
    assert found == [("00:00", 2), ("00:20", 4), ("01:00", 5)]


def test_in_batch_mode_no_update_is_late(tmp_path: Path) -> None:
    assert rows(tmp_path, "ts DESC", EnvironmentSettings.in_batch_mode()) == [("00:20", 4), ("01:00", 5)]


@pytest.mark.parametrize(
    "below",
    [
        "SELECT k, COUNT(*) AS c FROM d GROUP BY k",
        "SELECT k, c FROM (SELECT k, v AS c, ROW_NUMBER() OVER (PARTITION BY k ORDER BY v DESC) AS n FROM d) WHERE n = 1",
    ],
)
@pytest.mark.parametrize("rows_per_batch", [1, 3, 100])
def test_the_order_of_values_does_not_depend_on_batches(below: str, rows_per_batch: int) -> None:
    env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    env.get_config().set("execution.engine", "local").set("source.batch.records", str(rows_per_batch))
    env.execute_sql(
        "CREATE TABLE d (v INT, k AS CASE MOD(v, 3) WHEN 0 THEN 'a' WHEN 1 THEN 'b' ELSE 'c' END) WITH ('connector' = 'datagen', "
        "'fields.v.kind' = 'sequence', 'fields.v.start' = '1', 'fields.v.end' = '8')"
    )
    query = f"SELECT LISTAGG(k || CAST(c AS STRING)), LAST_VALUE(k), FIRST_VALUE(k) FROM ({below})"
    with env.execute_sql(query).collect() as found:
        *_, last = found
    counted = "COUNT" in below
    assert tuple(last) == ("a2,b3,c3" if counted else "a6,b7,c8", "c", "a")
