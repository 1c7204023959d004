"""Metrics and log lines of user functions on Spark."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import penstock as ps
from penstock.connectors import CollectSink, ScriptedSource, Step
from penstock.errors import UserFunctionError
from tests.jobs.measured import Counted, Lengths
from tests.spark.processes import checkpoint_in
from tests.spark.test_jobs import environment

pytestmark = pytest.mark.spark


def build(env: ps.StreamExecutionEnvironment, tmp_path: Path, *batches: list[str]) -> None:
    source = ScriptedSource([Step({"s": list(words)}) for words in batches])
    words: ps.DataStream[Any] = env.from_source(source, None, "words").map(Lengths()).name("lengths")
    words.key_by(lambda w: w).process(Counted(tmp_path / "marker")).name("counted").sink_to(CollectSink())


def test_metrics_and_logs_reach_the_program(
    spark: SparkSession, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    env = environment(tmp_path)
    build(env, tmp_path, ["a", "bb", "ccc"], ["a", "dddd"])
    with caplog.at_level(logging.INFO):
        result = env.execute()
    assert result.metrics.get("counted", "words") == 5
    lengths = result.metrics.get("lengths", "lengths")
    assert lengths == {"count": 5, "sum": 11, "min": 1, "max": 4, "mean": 2.2}
    heard = [r for r in caplog.records if r.name == "tests.measured"]
    assert sorted(r.getMessage().split("] ")[1] for r in heard) == [
        "word a",
        "word a",
        "word bb",
        "word ccc",
        "word dddd",
    ]
    assert {r.operator for r in heard} == {"counted"}  # type: ignore[attr-defined]
    assert {r.subtask for r in heard} <= {0, 1}  # type: ignore[attr-defined]


def test_a_batch_that_ran_again_counts_once_and_what_it_logged_is_heard(
    spark: SparkSession, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The first run ends with its second batch; the run that resumes it counts that batch, and not the first one again."""
    batches = (["a", "b"], ["a", "fail", "c"])
    env = environment(tmp_path)
    build(env, tmp_path, *batches)
    with caplog.at_level(logging.INFO):
        with pytest.raises(UserFunctionError, match="as the test wants"):
            env.execute()
        env = environment(tmp_path, **{"execution.resume": checkpoint_in(tmp_path / "checkpoints")})
        build(env, tmp_path, *batches)
        result = env.execute()
    assert result.metrics.get("counted", "words") == 3
    assert result.metrics.get("lengths", "lengths")["count"] == 3
    heard = [r.getMessage() for r in caplog.records if r.name == "tests.measured"]
    assert sum(message.endswith("word fail") for message in heard) == 2
