"""`penstock doctor`: good and bad results of each check."""

from __future__ import annotations

import json
import os
import socket
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from penstock.cli.dev import doctor_checks as checks
from penstock.cli.dev.doctor_checks import CheckResult
from penstock.cli.main import app
from penstock.config import Configuration
from penstock.devservers.java import check_java
from penstock.jobs.registry.registry import Registry
from tests.unit.jobs.jobs import DEAD_PROCESS, entry


@pytest.fixture(autouse=True)
def isolated_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PENSTOCK_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PENSTOCK_OPTIONS", json.dumps({"state.local.dir": str(tmp_path / "state")}))


def test_the_output_contains_all_checks() -> None:
    result = CliRunner(env={"COLUMNS": "100"}).invoke(app, ["doctor"])
    for name in ("Python", "Java", "pyspark", "pandas", "pyarrow", "jars", "local state", "checkpoints", "ports",
                 "host name", "memory", "leftovers"):  # fmt: skip
        assert any(line[6:].startswith(name) for line in result.stdout.splitlines()), name


def test_json_and_exit_code(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("penstock.cli.dev.doctor.CHECKS", (lambda _: CheckResult("one", "warn", "so", "do it"),))
    result = CliRunner().invoke(app, ["doctor", "--json"])
    assert result.exit_code == 0
    assert json.loads(result.stdout) == {
        "ok": True,
        "checks": [{"name": "one", "verdict": "warn", "found": "so", "advice": "do it"}],
    }
    monkeypatch.setattr("penstock.cli.dev.doctor.CHECKS", (lambda _: CheckResult("one", "bad", "so", "do it"),))
    result = CliRunner().invoke(app, ["doctor"])
    assert result.exit_code == 1
    assert result.stdout.split() == ["bad", "one", "so", "do", "it"]


def test_java_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    check_java.cache_clear()
    monkeypatch.setenv("JAVA_HOME", "/nowhere")
    found = checks.java(Configuration())
    check_java.cache_clear()
    assert (found.verdict, "Install a JDK" in found.advice) == ("bad", True)


def test_a_different_python_of_the_workers_is_bad(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert checks.python(Configuration()).verdict == "ok"
    other = tmp_path / "python"
    other.write_text("#!/bin/sh\necho Python 3.9.2\n")
    other.chmod(0o755)
    monkeypatch.setenv("PYSPARK_PYTHON", str(other))
    found = checks.python(Configuration())
    assert found.verdict == "bad"
    assert "of the workers is 3.9.2" in found.found
    monkeypatch.setenv("PYSPARK_PYTHON", str(tmp_path / "none"))
    assert "does not run" in checks.python(Configuration()).found


@pytest.mark.parametrize(
    ("found", "verdict"), [("4.2.0", "ok"), ("4.3.1", "ok"), ("4.1.9", "bad"), ("4.4.0", "bad"), ("3.5", "bad")]
)
def test_versions_of_packages(monkeypatch: pytest.MonkeyPatch, found: str, verdict: str) -> None:
    monkeypatch.setattr(checks, "version", lambda _: found)
    finding = checks.package("pyspark")(Configuration())
    assert finding.verdict == verdict
    assert finding.advice == "" or finding.advice.endswith("pip install 'pyspark>=4.2,<4.4'")


def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    finding = checks.checkpoints(Configuration({"execution.checkpointing.dir": str(tmp_path / "file")}))
    assert (finding.verdict, "execution.checkpointing.dir" in finding.advice) == ("bad", True)


@pytest.mark.parametrize(("free", "verdict"), [(50, "bad"), (500, "warn"), (5000, "ok")])
def test_free_disk_space(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, free: int, verdict: str) -> None:
    usage: Any = type("Usage", (), {"free": free * 10**6})
    monkeypatch.setattr("shutil.disk_usage", lambda _: usage)
    assert checks.local_state(Configuration()).verdict == verdict


def test_checkpoints_in_the_temporary_folder_are_a_risk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    assert checks.checkpoints(Configuration()).verdict == "ok"
    chosen = Configuration({"execution.checkpointing.dir": str(tmp_path / "temporary" / "checkpoints")})
    (tmp_path / "temporary").mkdir()
    assert checks.checkpoints(chosen).verdict == "warn"


def test_ports_and_host_name(monkeypatch: pytest.MonkeyPatch) -> None:
    assert checks.ports(Configuration()).verdict == "ok"

    def fails(*_: object) -> str:
        raise OSError("no")

    monkeypatch.setattr(socket, "gethostbyname", fails)
    assert checks.host_name(Configuration()).verdict == "warn"
    assert checks.host_name(Configuration({"spark.master": "spark://somewhere:7077"})).verdict == "bad"
    monkeypatch.setattr(socket.socket, "bind", fails)
    assert checks.ports(Configuration()).verdict == "bad"


@pytest.mark.parametrize(("free", "verdict"), [(1 << 29, "bad"), (3 << 30, "warn"), (9 << 30, "ok"), (None, "warn")])
def test_memory(monkeypatch: pytest.MonkeyPatch, free: int | None, verdict: str) -> None:
    monkeypatch.setattr(checks, "available_memory", lambda: free)
    assert checks.memory(Configuration()).verdict == verdict


def test_leftovers_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PENSTOCK_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    for name in ("runs", "over"):
        slot = tmp_path / "state" / name / "1-0"
        slot.mkdir(parents=True)
        (slot / "used").touch()
        for path in (slot / "used", slot, slot.parent):
            os.utime(path, (0, 0))
    Registry(tmp_path / "home").write(entry("runs", status="running"))
    assert checks.leftovers(Configuration()).found.startswith("1 file or folder, ")


def test_lost_jobs_are_named(tmp_path: Path) -> None:
    assert checks.lost_jobs(Configuration()).verdict == "ok"
    Registry(tmp_path / "home").write(entry("abcdef1234", status="running", process=DEAD_PROCESS))
    assert checks.lost_jobs(Configuration()).found == "1 job: abcdef12 (ads)"
