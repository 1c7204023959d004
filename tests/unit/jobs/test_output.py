"""Child processes write to the log; this process writes to the terminal."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from penstock.jobs.run.log import append_lines
from penstock.jobs.run.output import redirect_output

PROGRAM = "import sys; print('out'); print('err', file=sys.stderr)"


def run_child() -> None:
    subprocess.run([sys.executable, "-c", PROGRAM], check=True)


def test_children_write_to_the_log(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    log = tmp_path / "log"
    print("before")
    with redirect_output(log):
        run_child()
    print("after")
    assert capfd.readouterr() == ("before\nafter\n", "")
    assert sorted(log.read_text().split()) == ["err", "out"]


def test_without_a_log_nothing_changes(capfd: pytest.CaptureFixture[str]) -> None:
    with redirect_output(None):
        run_child()
    assert capfd.readouterr() == ("out\n", "err\n")


def test_the_terminal_is_restored_after_an_error(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ValueError, match="no"), redirect_output(tmp_path / "log"):
        raise ValueError("no")
    run_child()
    assert capfd.readouterr() == ("out\n", "err\n")


def test_a_deleted_folder_of_logs_is_created_again(tmp_path: Path) -> None:
    log = tmp_path / "logs" / "job.log"
    append_lines(log, "started")
    shutil.rmtree(log.parent)
    append_lines(log, "continues")
    assert log.read_text().endswith(" continues\n")
