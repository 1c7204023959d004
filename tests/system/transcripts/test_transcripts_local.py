"""The transcripts of the time rules with the local engine, with the same results per batch as in the harness."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from penstock.errors import UserFunctionError
from penstock.local.job import InProcessJob
from tests.system.spark.fails_once import CollectFailsOnce
from tests.system.transcripts.case import FIRST, Case, cases


def run(
    case: Case, groups: int, folder: Path, *, resume: str = "", start: str = "", sink: Any = None, until: int = 0
) -> tuple[list[list[str]], list[dict[str, Any]], InProcessJob]:
    env = case.env(groups)
    options = {
        "execution.checkpointing.dir": str(folder),
        "execution.resume": resume,
        "execution.state-recovery.path": start,
        "execution.runtime-mode": "BATCH" if case.batch_mode else "",
    }
    for key, value in options.items():
        if value:
            env.configuration.set(key, value)
    graph = env.graph()
    if sink is not None:
        object.__setattr__(graph.sinks[0], "sink", sink)
    job = InProcessJob(graph, env.configuration)
    job.keep_open = True
    if until:
        del job.program.sources[0].source.steps[until:]
    job.start()
    outputs: list[list[str]] = [[] for _ in case.steps()]
    for batch, elements in job.driver_outputs():
        outputs[batch] += elements.get(0, [])
    return outputs, job.reporter.latest(), job


@pytest.mark.parametrize(
    ("case", "groups"),
    [
        pytest.param(case, groups, id=f"{case.name} ({groups})")
        for case in cases()
        if not case.restores and not case.crash
        for groups in case.groups
    ],
)
def test_transcript(tmp_path: Path, case: Case, groups: int) -> None:
    outputs, reports, _ = run(case, groups, tmp_path)
    assert case.comparable(outputs) == case.comparable(case.expected_outputs())
    if "W" in case.fields:
        words = {-(2**63): "MIN", 2**63 - 1: "MAX"}
        found = [str(words.get(r["watermarks"][FIRST], r["watermarks"][FIRST])) for r in reports]
        assert found == case.expected_watermarks()
    assert sum(count for r in reports for count in r["late"].values()) == case.fields.get("late_count", 0)
    if "next" in case.fields:
        assert reports[-1]["wake"] == case.fields["next"]


def test_a_failed_batch_has_the_same_result_when_it_runs_again(tmp_path: Path) -> None:
    case = next(c for c in cases() if c.crash)
    sink = CollectFailsOnce(tmp_path / "marker")
    with pytest.raises(UserFunctionError, match="SINK_FAILED"):
        run(case, 2, tmp_path, sink=sink)
    checkpoint = next(p.parent.parent for p in tmp_path.glob("*/penstock/job.json"))
    outputs, _, _ = run(case, 2, tmp_path, resume=str(checkpoint), sink=sink)
    assert case.comparable(outputs) == case.comparable(case.expected_outputs())


def test_clocks_are_restored_with_another_number_of_slots(tmp_path: Path) -> None:
    case = next(c for c in cases() if c.restores)
    ((until, after),) = case.restores.items()
    first, _, job = run(case, case.groups[0], tmp_path / "before", until=until)
    second, _, _ = run(case, after, tmp_path / "after", start=job.checkpoint.folder)
    outputs = [*first[:until], [], *[o for o in second if o]]
    assert case.comparable(outputs) == case.comparable(case.expected_outputs())
