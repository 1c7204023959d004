"""`penstock diagnose` on histories that the tests write."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from penstock.cli.main import app
from penstock.jobs.checkpoints import Checkpoint
from penstock.jobs.history import History
from penstock.jobs.registry import Registry
from tests.insight.made import history
from tests.jobs_registry.jobs import entry


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> History:
    monkeypatch.setenv("PENSTOCK_HOME", str(tmp_path))
    registry = Registry(tmp_path)
    registry.write(entry("a1b2c3", "orders", status="running"))
    return History(registry.job_folder("a1b2c3"))


def penstock(*arguments: str) -> Result:
    return CliRunner(env={"COLUMNS": "110"}).invoke(app, list(arguments))


def slow(c: Checkpoint) -> None:
    c.sinks[0].writing, c.measured.seconds = 0.5, 0.9


def test_a_cause_its_evidence_and_what_to_do(kept: History) -> None:
    kept.add(history(20, slow))
    shown = penstock("diagnose", "orders").stdout
    assert shown.startswith("Sink 'out' is slow  since ")
    assert "· writing to 'out' takes 500 ms and its commit 10 ms a checkpoint: 57% of the time" in shown
    assert "→ Look at the system behind it" in shown
    assert "By the last 17 checkpoints of orders" in shown


def test_a_healthy_job(kept: History) -> None:
    kept.add(history(20))
    assert penstock("diagnose", "orders").stdout == "Nothing is wrong, by the last 17 checkpoints of orders.\n"


def test_a_job_that_has_only_begun(kept: History) -> None:
    assert "Too little is known yet" in penstock("diagnose", "orders").stdout


def test_for_programs(kept: History) -> None:
    kept.add(history(20, slow))
    told = json.loads(penstock("diagnose", "orders", "--json").stdout)
    assert (told["job"], told["cause"], told["checkpoints"]) == ("a1b2c3", "slow-sink", 17)
    assert told["findings"][0]["share"] == pytest.approx(0.567, abs=0.001)
