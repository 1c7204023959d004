"""The transcripts of the time rules on Spark, with the same results per batch as in the harness."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from penstock.errors import UserFunctionError
from penstock.spark.job.job import SparkJob
from tests.system.spark.fails_once import CollectFailsOnce
from tests.system.transcripts.case import FIRST, Case, cases


def run(
    case: Case,
    groups: int,
    folder: Path,
    resume: str = "",
    sink: Any = None,
    start: str = "",
    until: int | None = None,
) -> tuple[list[list[str]], list[Any], SparkJob]:
    env = case.env(groups)
    settings = {"execution.checkpointing.dir": str(folder), "state.local.dir": str(folder / "local")}
    optional = {"execution.resume": resume, "execution.state-recovery.path": start}
    for key, value in {**settings, **{key: value for key, value in optional.items() if value}}.items():
        env.configuration.set(key, value)
    if case.batch_mode:
        env.configuration.set("execution.runtime-mode", "BATCH")
    graph = env.graph()
    if sink is not None:
        object.__setattr__(graph.sinks[0], "sink", sink)
    job = SparkJob(graph, env.configuration, {"files": [], "requirements": [], "archives": [], "jars": []})
    job.keep_open = True
    if until is not None:
        del job.program.sources[0].source.steps[until:]
    job.start()
    outputs: list[list[str]] = [[] for _ in case.steps()]
    for batch, elements in job.driver_outputs():
        outputs[batch] += elements.get(0, [])
    return outputs, job.folder.reports.latest(), job


@pytest.mark.spark
@pytest.mark.parametrize("case", [pytest.param(c, id=c.name) for c in cases() if not c.restores and not c.crash])
def test_transcript_on_spark(spark: SparkSession, tmp_path: Path, case: Case) -> None:
    groups = 2 if 2 in case.groups else case.groups[0]
    outputs, reports, _ = run(case, groups, tmp_path)
    assert case.comparable(outputs) == case.comparable(case.expected_outputs())
    if "W" in case.fields:
        words = {-(2**63): "MIN", 2**63 - 1: "MAX"}
        found = [str(words.get(r.watermarks[FIRST], r.watermarks[FIRST])) for r in reports]
        assert found == case.expected_watermarks()
    assert sum(count for r in reports for count in r.late.values()) == case.fields.get("late_count", 0)
    if "next" in case.fields:
        assert reports[-1].next_wakeup == case.fields["next"]


@pytest.mark.spark
def test_a_failed_batch_has_the_same_result_when_it_runs_again(spark: SparkSession, tmp_path: Path) -> None:
    case = next(c for c in cases() if c.crash)
    sink = CollectFailsOnce(tmp_path / "marker")
    with pytest.raises(UserFunctionError, match="SINK_FAILED"):
        run(case, 2, tmp_path, sink=sink)
    checkpoint = next(p.parent.parent for p in tmp_path.glob("*/penstock/job.json"))
    outputs, _, _ = run(case, 2, tmp_path, resume=str(checkpoint), sink=sink)
    assert case.comparable(outputs) == case.comparable(case.expected_outputs())


@pytest.mark.spark
def test_clocks_are_restored_with_another_number_of_slots(spark: SparkSession, tmp_path: Path) -> None:
    case = next(c for c in cases() if c.restores)
    ((until, after),) = case.restores.items()
    before = case.groups[0]
    first, _, job = run(case, before, tmp_path / "before", until=until)
    second, reports, _ = run(case, after, tmp_path / "after", start=job.checkpoint.folder)
    outputs = [*first[:until], [], *[o for o in second if o]]
    assert case.comparable(outputs) == case.comparable(case.expected_outputs())
    assert [str(r.watermarks[FIRST]) for r in reports] == case.expected_watermarks()[until + 1 :]
