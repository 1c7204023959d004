"""A program that runs a job again with a changed module, as a notebook does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import penstock as ps

pytestmark = pytest.mark.spark


def limit(value: Any) -> int:
    import module_that_changes  # type: ignore[import-not-found]  # only workers have it

    found: int = module_that_changes.LIMIT
    return found


def test_each_job_has_its_own_version(spark: SparkSession, tmp_path: Path) -> None:
    results = []
    for number in (1, 2):
        folder = tmp_path / str(number)
        folder.mkdir()
        (folder / "module_that_changes.py").write_text(f"LIMIT = {number}")
        env = ps.StreamExecutionEnvironment(
            ps.Configuration({"execution.checkpointing.dir": str(folder / "checkpoints")})
        )
        env.set_parallelism(1)
        env.add_python_file(str(folder / "module_that_changes.py"))
        with env.from_collection([0]).map(limit).execute_and_collect() as rows:
            results += list(rows)
    assert results == [1, 2]
