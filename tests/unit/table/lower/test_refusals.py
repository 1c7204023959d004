"""What the planner refuses before anything runs, with what to do."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.errors import PlanError
from penstock.table import EnvironmentSettings, TableEnvironment


@pytest.fixture
def env(tmp_path: Path) -> TableEnvironment:
    env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    env.get_config().set("execution.engine", "local")
    env.execute_sql(
        "CREATE TABLE bids (auction BIGINT, price INT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts) "
        "WITH ('connector' = 'datagen', 'number-of-rows' = '1')"
    )
    env.execute_sql(
        "CREATE TABLE files (auction BIGINT, n BIGINT) "
        f"WITH ('connector' = 'filesystem', 'path' = '{tmp_path}/out', 'format' = 'json')"
    )
    return env


def test_updates_into_an_append_only_table(env: TableEnvironment) -> None:
    with pytest.raises(PlanError, match=r"doesn't support consuming update and delete changes.*I,UB,UA"):
        env.execute_sql("INSERT INTO files SELECT auction, COUNT(*) FROM bids GROUP BY auction")


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("SELECT * FROM bids ORDER BY price", "without LIMIT.*time attribute"),
        ("SELECT * FROM bids ORDER BY ts DESC", "without LIMIT.*ascending"),
        ("SELECT SUM(price) OVER (ORDER BY ts DESC) FROM bids", "ascending"),
        (
            "SELECT COUNT(*) FROM TABLE(HOP(TABLE bids, DESCRIPTOR(ts), INTERVAL '4' SECOND, INTERVAL '10' SECOND)) "
            "GROUP BY window_start, window_end",
            "multiple",
        ),
    ],
)
def test_queries_that_cannot_run_in_streaming_mode(env: TableEnvironment, query: str, message: str) -> None:
    with pytest.raises(Exception, match=message):
        env.execute_sql(query)


def test_late_results_need_windows_that_stay(env: TableEnvironment) -> None:
    env.get_config().set("table.exec.emit.late-fire.enabled", "true")
    env.get_config().set("table.exec.emit.late-fire.delay", "1 s")
    query = "SELECT COUNT(*) FROM bids GROUP BY TUMBLE(ts, INTERVAL '10' SECOND)"
    with pytest.raises(PlanError, match="allow-lateness"):
        env.execute_sql(query)


def test_an_unbounded_table_in_batch_mode() -> None:
    env = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
    env.execute_sql("CREATE TABLE numbers (n INT) WITH ('connector' = 'datagen')")
    with pytest.raises(PlanError, match="unbounded"):
        env.execute_sql("SELECT * FROM numbers")
