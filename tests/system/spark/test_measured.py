"""Metrics and log lines of user functions on Spark."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import penstock as ps
from penstock.connectors import CollectSink, ScriptedSource, Step
from tests.programs.measured import Counted, Lengths
from tests.system.spark.test_jobs import environment

pytestmark = pytest.mark.spark


def build(env: ps.StreamExecutionEnvironment, tmp_path: Path, *batches: list[str]) -> None:
    source = ScriptedSource([Step({"s": list(words)}) for words in batches])
    words: ps.DataStream[Any] = env.from_source(source, None, "words").map(Lengths()).name("lengths")
    words.key_by(lambda w: w).process(Counted(tmp_path / "marker")).name("counted").sink_to(CollectSink())


def test_metrics_and_logs_reach_the_driver(
    spark: SparkSession, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    env = environment(tmp_path)
    build(env, tmp_path, ["a", "bb", "ccc"], ["a", "dddd"])
    with caplog.at_level(logging.INFO):
        result = env.execute()
    assert result.metrics.get("counted", "words") == 5
    lengths = result.metrics.get("lengths", "lengths")
    assert lengths == {"count": 5, "sum": 11, "min": 1, "max": 4, "mean": 2.2}
    logged = [r for r in caplog.records if r.name == "tests.measured"]
    assert sorted(r.getMessage().split("] ")[1] for r in logged) == [
        "word a",
        "word a",
        "word bb",
        "word ccc",
        "word dddd",
    ]
    assert {r.operator for r in logged} == {"counted"}  # type: ignore[attr-defined]
    assert {r.subtask for r in logged} <= {0, 1}  # type: ignore[attr-defined]


def test_metrics_of_a_repeated_batch_count_once_and_all_log_lines_arrive(
    spark: SparkSession, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    settings = {
        "restart-strategy.type": "fixed-delay",
        "restart-strategy.fixed-delay.attempts": 2,
        "restart-strategy.fixed-delay.delay": "1 ms",
    }
    env = environment(tmp_path, **settings)
    build(env, tmp_path, ["a", "b"], ["a", "fail", "c"])
    with caplog.at_level(logging.INFO):
        result = env.execute()
    assert (tmp_path / "marker").exists()
    assert result.attempts == 2
    assert result.get_accumulator_result("counted.words") == 5
    assert result.get_accumulator_result("lengths.lengths")["count"] == 5
    logged = [r.getMessage() for r in caplog.records if r.name == "tests.measured"]
    assert sum(message.endswith("word fail") for message in logged) == 2
