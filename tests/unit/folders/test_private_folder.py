"""Private folders are accessible to one user and are removed after their process was killed."""

from __future__ import annotations

import fcntl
import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from penstock.folders.private_folder import abandoned_folders, private_folder, remove_private_folder

PROGRAM = """
import sys, time
from penstock.folders.private_folder import private_folder
folder = private_folder("private-test")
(folder / "program").write_text("a secret")
print(folder, flush=True)
time.sleep(600)
"""

CREATE = "from penstock.folders import *; remove_private_folder(private_folder('private-test'))"


@pytest.fixture(autouse=True)
def _folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PENSTOCK_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)


def test_only_this_user_has_access(tmp_path: Path) -> None:
    folder = private_folder("private-test")
    assert folder.parent == tmp_path / "home" / "runs"
    assert stat.S_IMODE(folder.parent.stat().st_mode) == 0o700
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    remove_private_folder(folder)
    assert not folder.exists()


def test_folders_of_killed_processes_are_removed_and_those_of_living_ones_stay(tmp_path: Path) -> None:
    mine = private_folder("private-test")
    running = subprocess.Popen([sys.executable, "-c", PROGRAM], stdout=subprocess.PIPE, text=True)
    assert running.stdout is not None
    theirs = Path(running.stdout.readline().strip())
    try:
        second = private_folder("private-test")
        assert theirs.exists()
        assert mine.exists()
    finally:
        os.kill(running.pid, signal.SIGKILL)
        running.wait()
        running.stdout.close()
    assert (theirs / "program").exists()
    third = private_folder("private-test")
    assert not theirs.exists()
    assert mine.exists()
    for folder in (mine, second, third):
        remove_private_folder(folder)


def test_a_folder_that_is_being_created_stays(tmp_path: Path) -> None:
    made = tmp_path / "home" / "runs" / "private-test-new"
    made.mkdir(parents=True)
    remove_private_folder(private_folder("private-test"))
    assert made.exists()


def test_a_folder_whose_lock_file_is_not_locked_yet_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lock, found = fcntl.flock, []

    def check_and_lock(file: int, operation: int) -> None:
        if operation == fcntl.LOCK_EX:  # that of the file, which exists now
            with monkeypatch.context() as other_process:
                other_process.setattr(fcntl, "flock", lock)
                found.append(abandoned_folders(tmp_path / "home" / "runs"))
        lock(file, operation)

    monkeypatch.setattr(fcntl, "flock", check_and_lock)
    remove_private_folder(private_folder("private-test"))
    assert found == [[]]


def test_a_folder_with_a_damaged_lock_is_removed_when_it_is_old(tmp_path: Path) -> None:
    damaged = tmp_path / "home" / "runs" / "private-test-damaged"
    (damaged / "alive").mkdir(parents=True)
    os.utime(damaged, (0, 0))
    remove_private_folder(private_folder("private-test"))
    assert not damaged.exists()


def test_a_running_process_keeps_its_folder_although_its_lock_file_is_removed() -> None:
    mine = private_folder("private-test")
    (mine / "alive").unlink()
    os.utime(mine, (0, 0))
    second = private_folder("private-test")
    assert mine.exists()
    check = subprocess.run(
        [sys.executable, "-c", CREATE], check=True
    )  # another process does not know that this one lives
    assert check.returncode == 0
    assert mine.exists()
    remove_private_folder(mine)
    remove_private_folder(second)


def test_the_path_of_a_socket_is_short(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PENSTOCK_HOME", str(tmp_path / ("long" * 25)))
    folder = private_folder("private-test", socket_name="socket")
    assert folder.parent == tmp_path
    remove_private_folder(folder)


def test_the_temporary_folder_is_used_if_the_state_folder_cannot_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("PENSTOCK_HOME", str(tmp_path / "file" / "home"))
    folder = private_folder("private-test")
    assert folder.parent == tmp_path
    remove_private_folder(folder)
