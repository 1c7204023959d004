"""A savepoint of the local engine on Spark, the savepoint of that job in the local engine, and a local checkpoint on Spark."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import penstock as ps
from penstock.connectors import JsonLinesSink
from penstock.errors import CheckpointError
from penstock.jobs.registry.registry import registry_of
from tests.unit.local.jobs import append, environment, totals
from tests.waiting import until


def start(folder: Path, engine: str, path: str = "", resume: str = "") -> ps.JobClient:
    options: dict[str, Any] = {"execution_state__recovery_path": path, "execution_resume": resume}
    env = environment(
        folder,
        execution_engine=engine,
        state_local_dir=str(folder / "local"),
        parallelism_default=2,
        **{key: value for key, value in options.items() if value},
    )
    rows = totals(env, folder / "lines").map(lambda v: {"key": v[0], "total": v[1]})
    rows.sink_to(JsonLinesSink(folder / "out")).uid("out")
    return env.execute_async("totals")


def last_totals(folder: Path) -> dict[str, int]:
    """The largest total of each key, which is the last one."""
    found: dict[str, int] = {}
    for file in (folder / "out").glob("part-*"):
        for row in map(json.loads, file.read_text().splitlines()):
            found[row["key"]] = max(row["total"], found.get(row["key"], 0))
    return found


def continues(folder: Path, line: str, expected: dict[str, int]) -> None:
    append(folder / "lines", line)
    until(lambda: last_totals(folder) == expected)


@pytest.mark.spark
def test_savepoints_between_the_engines(spark: SparkSession, tmp_path: Path) -> None:
    client = start(tmp_path, "local")
    continues(tmp_path, "a 1", {"a": 1})
    path = client.stop_with_savepoint(False, str(tmp_path / "saved")).result()
    client = start(tmp_path, "spark", path)
    continues(tmp_path, "a 10", {"a": 11})
    checkpoint = registry_of().find(str(client.get_job_id())).checkpoint
    path = client.stop_with_savepoint(False, str(tmp_path / "saved")).result()
    client.get_job_execution_result().result()
    with pytest.raises(CheckpointError, match=r"CHECKPOINT_ENGINE.*spark engine.*--from-savepoint"):
        start(tmp_path, "local", resume=checkpoint)
    client = start(tmp_path, "local", path)
    continues(tmp_path, "a 100", {"a": 111})
    checkpoint = registry_of().find(str(client.get_job_id())).checkpoint
    client.cancel().result()
    client = start(tmp_path, "spark", checkpoint)  # Spark reads a checkpoint of the local engine
    continues(tmp_path, "b 7", {"a": 111, "b": 7})
    client.cancel().result()
