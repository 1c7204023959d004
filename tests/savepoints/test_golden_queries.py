"""Plans and savepoints of queries that earlier versions wrote."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from penstock.savepoints import open_savepoint
from penstock.savepoints.check import check_restore
from penstock.table import EnvironmentSettings, PlanReference, TableEnvironment
from tests.savepoints.golden_queries import CUT, FOLDER, ROWS, harness, net, push

PLANS = sorted((FOLDER / "plans").glob("*/*.json"))
SAVEPOINTS = sorted(path.parent for path in (FOLDER / "queries").glob("*/manifest.json"))


def test_there_are_plans_and_savepoints() -> None:
    assert "v1" in {path.parent.name for path in PLANS}
    assert "v1" in {path.name for path in SAVEPOINTS}


@pytest.mark.parametrize("file", PLANS, ids=lambda file: f"{file.parent.name}-{file.stem}")
def test_a_plan_runs(file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "rows").mkdir()
    rows = [dict(zip(("id", "who", "item", "price"), row, strict=True)) for row in ROWS]
    (tmp_path / "rows" / "1").write_text("".join(json.dumps(row) + "\n" for row in rows))
    env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    env.get_config().set("execution.engine", "local")
    env.get_config().set("execution.checkpointing.dir", str(tmp_path / "checkpoints"))
    text = file.read_text(encoding="utf-8").replace("$FOLDER", str(tmp_path / "rows"))
    plan = env.load_plan(PlanReference.from_json_string(text))
    assert "Sink(" in plan.explain()
    plan.execute().wait()
    assert "+I[" in capsys.readouterr().out


@pytest.mark.parametrize("folder", SAVEPOINTS, ids=lambda folder: str(folder.name))
def test_queries_continue_from_a_savepoint(folder: Path) -> None:
    job, results = harness()
    checked = check_restore(open_savepoint(str(folder)), job.job.program)
    assert {verdict.verdict for verdict in checked.queries.verdicts} == {"kept"}
    job.restore_savepoint(folder)
    push(job, ROWS[CUT:])
    expected = json.loads((folder / "expected.json").read_text(encoding="utf-8"))
    assert {name: net(rows) for name, rows in results.items()} == expected
