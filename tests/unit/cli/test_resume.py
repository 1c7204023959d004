"""`penstock resume` and `--resume-or-start`, with an engine that runs nothing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from penstock.cli.main import app
from penstock.jobs.registry.launch import Launch
from penstock.jobs.registry.registry import Registry
from tests.unit.cli.fake_engine import NAME
from tests.unit.jobs.jobs import entry

PROGRAM = """
import os
import penstock as ps
env = ps.StreamExecutionEnvironment.get_execution_environment()
env.from_collection([1, 2]).print()
env.execute(os.path.basename(os.getcwd()))
"""


@pytest.fixture
def checkpoint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A job that ran in the folder `work` and failed."""
    folder, checkpoint = tmp_path / "work", tmp_path / "checkpoints" / "a1b2c3"
    folder.mkdir()
    (checkpoint / "penstock").mkdir(parents=True)
    (checkpoint / "penstock" / "job.json").write_text("{}")
    (folder / "job.py").write_text(PROGRAM)
    monkeypatch.setenv("PENSTOCK_HOME", str(tmp_path / "home"))
    options = {"execution.engine": NAME, "source.batch.records": 7, "spark.master": "local[2]"}
    launch = Launch(str(folder / "job.py"), ["in.txt", "--fast"], str(folder), options)
    job = entry(status="failed", checkpoint=str(checkpoint), launch=launch)
    Registry(tmp_path / "home").write(job)
    return checkpoint


def penstock(*arguments: str) -> Result:
    return CliRunner().invoke(app, list(arguments))


def job_of(result: Result) -> dict[str, Any]:
    assert result.exit_code == 0, result.stderr
    facts: dict[str, Any] = json.loads(result.stdout)
    return facts


def test_the_program_runs_as_before(checkpoint: Path) -> None:
    before = Path.cwd()
    facts = job_of(penstock("resume", "ads"))
    assert facts["job"] == "work"  # its working folder
    assert facts["argv"][1:] == ["in.txt", "--fast"]
    assert facts["options"] == {
        "source.batch.records": "7",
        "spark.master": "local[2]",
        "execution.resume": str(checkpoint),
    }
    assert Path.cwd() == before


def test_options_and_arguments_can_be_changed(checkpoint: Path) -> None:
    facts = job_of(penstock("resume", "a1b", "-D", "source.batch.records=9", "--master", "local[3]", "--", "-x"))
    assert facts["argv"][1:] == ["-x"]
    assert (facts["options"]["source.batch.records"], facts["options"]["spark.master"]) == ("9", "local[3]")
    assert job_of(penstock("resume", str(checkpoint), "--"))["argv"][1:] == []


def test_an_error_is_one_line(checkpoint: Path) -> None:
    unknown = penstock("resume", "nobody")
    assert (unknown.exit_code, unknown.stdout) == (1, "")
    assert unknown.stderr.startswith("penstock: [JOB_UNKNOWN] ")
    assert json.loads(penstock("resume", "nobody", "--json").stderr)["code"] == "JOB_UNKNOWN"
    assert penstock("resume", "ads", "-D", "nonsense").stderr.startswith("penstock: [OPTION_FORM] ")


def test_resume_or_start_sets_an_option(tmp_path: Path, checkpoint: Path) -> None:
    (tmp_path / "job.py").write_text(PROGRAM.replace("os.path.basename(os.getcwd())", ""))
    command = (
        "run",
        "--name",
        "fraud",
        "--resume-or-start",
        "-D",
        f"execution.engine={NAME}",
        str(tmp_path / "job.py"),
    )
    facts = job_of(penstock(*command))
    assert facts["job"] == "fraud"
    assert facts["options"] == {"execution.resume": "latest", "pipeline.name": "fraud"}
