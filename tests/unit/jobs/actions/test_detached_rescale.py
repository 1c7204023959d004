"""The process that rescales a job which rescales itself."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from penstock.config import OPTIONS_VARIABLE
from penstock.jobs.actions.detached_rescale import main, start_detached_rescale
from penstock.jobs.registry.registry import Registry
from tests.unit.jobs.jobs import entry


def test_runs_the_action_in_another_process_and_logs_to_the_job(tmp_path: Path) -> None:
    registry, log = Registry(tmp_path), tmp_path / "job.log"
    log.write_text("before\n")
    job = entry(status="running", parallelism=2, log=str(log))
    registry.write(job)
    process = start_detached_rescale(registry, job, 3)
    assert process.wait(180) == 1
    assert log.read_text().startswith("before\npenstock: [JOB_NOT_RESTARTABLE] ")


def test_the_new_job_does_not_inherit_the_start_of_the_old_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    options = {"execution.resume": "/old", "execution.state-recovery.path": "/older", "parallelism.default": 2}
    monkeypatch.setenv(OPTIONS_VARIABLE, json.dumps(options))
    environments: list[dict[str, str]] = []
    monkeypatch.setattr(
        "penstock.jobs.actions.detached_rescale.start_detached",
        lambda command, log, environment: environments.append(environment),
    )
    start_detached_rescale(Registry(tmp_path), entry(), 3)
    assert json.loads(environments[0][OPTIONS_VARIABLE]) == {"parallelism.default": 2}


def test_an_unknown_job_is_an_error_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(tmp_path), "a1b2c3", "3"]) == 1
    assert capsys.readouterr().out.startswith("penstock: [JOB_UNKNOWN] ")
