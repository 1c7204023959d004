"""One job at a time on a checkpoint; a lock of a process that is gone is taken over."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from penstock.errors import CheckpointError
from penstock.jobs.process import start_of
from penstock.spark.lock import CheckpointLock


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "penstock").mkdir()
    return tmp_path


def test_a_second_job_is_refused_and_told_who_runs(folder: Path) -> None:
    first, second = CheckpointLock(folder), CheckpointLock(folder)
    first.acquire()
    with pytest.raises(CheckpointError, match=rf"CHECKPOINT_IN_USE.*{folder}: process {os.getpid()} on "):
        second.acquire()
    first.release()
    second.acquire()
    second.release()
    assert not (folder / "penstock" / "lock").exists()


def test_a_lock_can_be_taken_again_after_its_release(folder: Path) -> None:
    lock = CheckpointLock(folder)
    for _ in range(2):
        lock.acquire()
        assert owner_of(folder) == os.getpid()
        lock.release()


def owner_of(folder: Path) -> int:
    """The process that a lock names."""
    return int(json.loads((folder / "penstock" / "lock").read_text())["pid"])


OWNER = """
import sys, time
from penstock.spark.lock import CheckpointLock
CheckpointLock(sys.argv[1]).acquire()
print("mine", flush=True)
time.sleep(60)
"""


def test_a_lock_of_a_killed_process_is_taken_over(folder: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", OWNER, str(folder)], stdout=subprocess.PIPE, text=True) as owner:
        assert owner.stdout is not None
        assert owner.stdout.readline() == "mine\n"
        with pytest.raises(CheckpointError, match=f"process {owner.pid}"):
            CheckpointLock(folder).acquire()
        owner.kill()
    lock = CheckpointLock(folder)
    lock.acquire()
    lock.release()


def foreign(folder: Path, **changes: object) -> Path:
    file = folder / "penstock" / "lock"
    file.write_text(json.dumps({"token": "t", "pid": 1, "host": "elsewhere", "started": "1", **changes}))
    return file


def test_another_machine_s_lock_counts_while_its_heart_beats(folder: Path) -> None:
    file = foreign(folder)
    with pytest.raises(CheckpointError, match="process 1 on elsewhere"):
        CheckpointLock(folder).acquire()
    os.utime(file, (time.time() - 61, time.time() - 61))
    lock = CheckpointLock(folder)
    lock.acquire()
    lock.release()


def test_a_number_that_another_process_got_is_not_the_owner(folder: Path) -> None:
    import socket

    foreign(folder, pid=os.getpid(), host=socket.gethostname(), started="long ago")
    lock = CheckpointLock(folder)
    lock.acquire()
    assert owner_of(folder) == os.getpid()
    lock.release()


def test_a_half_written_lock_is_nobody_s(folder: Path) -> None:
    (folder / "penstock" / "lock").write_text('{"tok')
    lock = CheckpointLock(folder)
    lock.acquire()
    assert owner_of(folder) == os.getpid()
    lock.release()


def test_the_heart_beats_and_a_lost_lock_is_noticed(folder: Path) -> None:
    lock = CheckpointLock(folder, beat=0.01)
    lock.acquire()
    file = folder / "penstock" / "lock"
    os.utime(file, (1, 1))
    _until(lambda: file.stat().st_mtime > 1)
    foreign(folder)
    _until(lambda: lock.lost)
    lock.release()
    assert file.exists(), "a lock that is not ours stays"


def _until(holds: object) -> None:
    deadline = time.monotonic() + 10
    while not holds():  # type: ignore[operator]
        assert time.monotonic() < deadline
        time.sleep(0.005)


def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "penstock").write_text("a file")
    with pytest.raises(CheckpointError, match="CHECKPOINT_UNWRITABLE"):
        CheckpointLock(tmp_path).acquire()


def test_no_process_has_no_start() -> None:
    assert start_of(os.getpid()) == start_of(os.getpid()) != ""
    assert start_of(2**22 + 1) == ""
