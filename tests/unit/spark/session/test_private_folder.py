"""Private folders are accessible to one user and are removed after their process was killed."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from penstock.spark.session.private_folder import private_folder, remove_private_folder

PROGRAM = """
import sys, time
from penstock.spark.session.private_folder import private_folder
folder = private_folder("private-test-")
(folder / "program").write_text("a secret")
print(folder, flush=True)
time.sleep(600)
"""


@pytest.fixture(autouse=True)
def _temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)


def test_only_this_user_has_access() -> None:
    folder = private_folder("private-test-")
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    remove_private_folder(folder)
    assert not folder.exists()


def test_folders_of_killed_processes_are_removed_and_those_of_living_ones_stay(tmp_path: Path) -> None:
    mine = private_folder("private-test-")
    running = subprocess.Popen([sys.executable, "-c", PROGRAM], stdout=subprocess.PIPE, text=True)
    assert running.stdout is not None
    theirs = Path(running.stdout.readline().strip())
    try:
        second = private_folder("private-test-")
        assert theirs.exists()
        assert mine.exists()
    finally:
        os.kill(running.pid, signal.SIGKILL)
        running.wait()
        running.stdout.close()
    assert (theirs / "program").exists()
    third = private_folder("private-test-")
    assert not theirs.exists()
    assert mine.exists()
    for folder in (mine, second, third):
        remove_private_folder(folder)


def test_a_folder_that_is_being_created_stays(tmp_path: Path) -> None:
    made = tmp_path / "private-test-new"
    made.mkdir()
    remove_private_folder(private_folder("private-test-"))
    assert made.exists()
