"""EXPLAIN: relations with changes, keys, state and advice."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from penstock.table import EnvironmentSettings, TableEnvironment


@pytest.fixture
def env() -> TableEnvironment:
    env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    env.execute_sql(
        "CREATE TABLE bids (auction BIGINT, price INT, chan STRING, ts TIMESTAMP(3), WATERMARK FOR ts AS ts) "
        "WITH ('connector' = 'datagen')"
    )
    env.execute_sql("CREATE TABLE plain (id INT, at3 TIMESTAMP(3)) WITH ('connector' = 'datagen')")
    return env


def test_an_aggregate_shows_its_changes_state_and_columns(env: TableEnvironment) -> None:
    text = env.explain_sql("SELECT chan, COUNT(*) AS n FROM bids WHERE price > 3 GROUP BY chan")
    assert "GroupAggregate(groupBy=[chan], select=[COUNT(*)]): changelogMode=[I,UB,UA], key=[chan]" in text
    assert "exchange=[hash(chan)], state=[grows with distinct (chan)]" in text
    assert "where=[(price > 3)]): changelogMode=[I], reads=[2 of 4 columns]" in text
    assert "keeps state forever" in text


def test_a_time_to_live_is_shown_instead_of_advice(env: TableEnvironment) -> None:
    env.get_config().set("table.exec.state.ttl", "1 h")
    text = env.explain_sql("SELECT chan, COUNT(*) AS n FROM bids GROUP BY chan")
    assert "removed after 1 h without changes" in text
    assert "No advice." in text


def test_the_state_of_windows_is_bounded(env: TableEnvironment) -> None:
    windows = "TABLE(TUMBLE(TABLE bids, DESCRIPTOR(ts), INTERVAL '10' SECOND))"
    text = env.explain_sql(f"SELECT window_start, SUM(price) FROM {windows} GROUP BY window_start, window_end")
    assert "state=[bounded by the windows that are open (TUMBLE(10000 ms)) and their keys]" in text
    assert "No advice." in text


def test_top_n_keeps_n_rows(env: TableEnvironment) -> None:
    ranked = "SELECT *, ROW_NUMBER() OVER (PARTITION BY auction ORDER BY price DESC) AS rn FROM bids"
    text = env.explain_sql(f"SELECT auction, price FROM ({ranked}) WHERE rn <= 10")
    assert "state=[10 rows for each of distinct (auction)]" in text


def test_details_and_json(env: TableEnvironment) -> None:
    with env.execute_sql("EXPLAIN CHANGELOG_MODE, JSON_EXECUTION_PLAN SELECT id FROM plain").collect() as rows:
        [[text]] = [list(row) for row in rows]
    assert "changelogMode=[I]" in text
    assert "== Advice ==" not in text
    plan = json.loads(text[text.index("{") :])
    assert plan["nodes"][0]["inputs"][0]["type"] == "Scan"


def test_a_picture_of_the_plan(env: TableEnvironment, tmp_path: Path) -> None:
    env.get_config().set("table.explain.picture", str(tmp_path / "plan.svg"))
    env.explain_sql("SELECT chan, COUNT(*) AS n FROM bids GROUP BY chan")
    image = (tmp_path / "plan.svg").read_text(encoding="utf-8")
    assert image.startswith("<svg")
    assert "hash(chan)" in image
    assert "GroupAggregate" in image
