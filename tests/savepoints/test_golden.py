"""Savepoints of earlier versions: a job that starts from one of them continues with the same results."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import penstock as ps
from penstock.connectors import CollectSink
from penstock.savepoints import open_savepoint
from penstock.testing import Harness
from tests.savepoints.golden_job import CUT, everything, steps

GOLDEN = sorted(path.parent for path in (Path(__file__).parent / "golden").glob("*/manifest.json"))
ROOT = Path(__file__).parent


def expected(folder: Path) -> Counter[Any]:
    return Counter(tuple(result) for result in json.loads((folder / "expected.json").read_text(encoding="utf-8")))


def test_there_is_a_golden_savepoint() -> None:
    assert [path.name for path in GOLDEN][:1] == ["v1"]


@pytest.mark.parametrize("folder", [pytest.param(path, id=path.name) for path in GOLDEN])
def test_it_is_intact(folder: Path) -> None:
    assert open_savepoint(str(folder)).verify() == []


@pytest.mark.parametrize(("parallelism", "groups"), [(1, 128), (2, 128), (3, 128), (4, 50), (2, 1000)])
@pytest.mark.parametrize("folder", [pytest.param(path, id=path.name) for path in GOLDEN])
def test_a_job_starts_from_it(folder: Path, parallelism: int, groups: int) -> None:
    env = ps.StreamExecutionEnvironment().set_parallelism(parallelism).set_max_parallelism(groups)
    stream = everything(env)
    harness = Harness(env)
    out = harness.collect(stream)
    harness.restore_savepoint(folder).run(max_batches=len(steps()) - CUT)
    assert Counter(map(tuple, out)) == expected(folder)


@pytest.mark.spark
@pytest.mark.parametrize("folder", [pytest.param(path, id=path.name) for path in GOLDEN])
def test_a_job_on_spark_starts_from_it(spark: Any, tmp_path: Path, folder: Path) -> None:
    from penstock.spark.job.job import SparkJob  # pyspark only where it is needed

    options = {
        "execution.checkpointing.dir": str(tmp_path / "checkpoints"),
        "state.local.dir": str(tmp_path / "local"),
        "execution.state-recovery.path": str(folder),
    }
    env = ps.StreamExecutionEnvironment(ps.Configuration(options)).set_parallelism(3)
    everything(env).sink_to(CollectSink())
    job = SparkJob(env.graph("golden"), env.configuration, env.files)
    job.keep_open = True
    job.start()
    job.wait()
    assert Counter(map(tuple, job.collected(0))) == expected(folder)
