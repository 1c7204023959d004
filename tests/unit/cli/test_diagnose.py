"""`penstock diagnose`, on histories that the tests write."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from penstock.cli.main import app
from penstock.jobs.registry.checkpoint_stats import CheckpointStats
from penstock.jobs.registry.history import CheckpointHistory
from penstock.jobs.registry.registry import Registry
from tests.unit.jobs.diagnosis.synthetic import history
from tests.unit.jobs.jobs import entry


@pytest.fixture
def job_history(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> CheckpointHistory:
    monkeypatch.setenv("PENSTOCK_HOME", str(tmp_path))
    registry = Registry(tmp_path)
    registry.write(entry("a1b2c3", "orders", status="running"))
    return CheckpointHistory(registry.job_folder("a1b2c3"))


def penstock(*arguments: str) -> Result:
    return CliRunner(env={"COLUMNS": "110"}).invoke(app, list(arguments))


def slow(c: CheckpointStats) -> None:
    c.sinks[0].writing, c.measured.seconds = 0.5, 0.9


def test_shows_the_cause_the_evidence_and_advice(job_history: CheckpointHistory) -> None:
    job_history.add(history(20, slow))
    shown = penstock("diagnose", "orders").stdout
    assert shown.startswith("Sink 'out' is slow  since ")
    assert "· writing to 'out' takes 500 ms and its commit 10 ms per checkpoint, 57% of the time" in shown
    assert "→ Check the system that it writes to" in shown
    assert "Based on the last 17 checkpoints of orders" in shown


def test_a_healthy_job(job_history: CheckpointHistory) -> None:
    job_history.add(history(20))
    assert penstock("diagnose", "orders").stdout == "No problem found in the last 17 checkpoints of orders.\n"


def test_a_job_without_enough_checkpoints(job_history: CheckpointHistory) -> None:
    assert "Not enough data yet" in penstock("diagnose", "orders").stdout


def test_json_output(job_history: CheckpointHistory) -> None:
    job_history.add(history(20, slow))
    output = json.loads(penstock("diagnose", "orders", "--json").stdout)
    assert (output["job"], output["cause"], output["checkpoints"]) == ("a1b2c3", "slow-sink", 17)
    assert output["findings"][0]["share"] == pytest.approx(0.567, abs=0.001)
