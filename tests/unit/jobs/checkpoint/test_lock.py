"""The checkpoint lock: one job at a time, and the lock of a process that has ended is taken over."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from penstock.errors import CheckpointError
from penstock.jobs.checkpoint.lock import CheckpointLock
from penstock.jobs.registry.process import process_start_time
from tests.waiting import until


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "penstock").mkdir()
    return tmp_path


def test_a_second_job_is_refused_with_the_owner_of_the_lock(folder: Path) -> None:
    first, second = CheckpointLock(folder), CheckpointLock(folder)
    first.acquire()
    with pytest.raises(CheckpointError, match=rf"CHECKPOINT_IN_USE.*{folder}: process {os.getpid()} on "):
        second.acquire()
    first.release()
    second.acquire()
    second.release()
    assert not (folder / "penstock" / "lock").exists()


def test_a_lock_can_be_acquired_again_after_its_release(folder: Path) -> None:
    lock = CheckpointLock(folder)
    for _ in range(2):
        lock.acquire()
        assert owner_of(folder) == os.getpid()
        lock.release()


def owner_of(folder: Path) -> int:
    """The process id in a lock file."""
    return int(json.loads((folder / "penstock" / "lock").read_text())["pid"])


OWNER = """
import sys, time
from penstock.jobs.checkpoint.lock import CheckpointLock
CheckpointLock(sys.argv[1]).acquire()
print("acquired", flush=True)
time.sleep(600)
"""


def test_the_lock_of_a_killed_process_is_taken_over(folder: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", OWNER, str(folder)], stdout=subprocess.PIPE, text=True) as owner:
        assert owner.stdout is not None
        assert owner.stdout.readline() == "acquired\n"
        with pytest.raises(CheckpointError, match=f"process {owner.pid}"):
            CheckpointLock(folder).acquire()
        owner.kill()
    lock = CheckpointLock(folder)
    lock.acquire()
    lock.release()


def write_foreign_lock(folder: Path, **changes: object) -> Path:
    file = folder / "penstock" / "lock"
    file.write_text(json.dumps({"token": "t", "pid": 1, "host": "elsewhere", "started": "1", **changes}))
    return file


def test_the_lock_of_another_machine_is_valid_while_it_has_heartbeats(folder: Path) -> None:
    file = write_foreign_lock(folder)
    ended = threading.Event()

    def send_heartbeats() -> None:
        while not ended.wait(0.01):
            os.utime(file)

    threading.Thread(target=send_heartbeats).start()
    with pytest.raises(CheckpointError, match="process 1 on elsewhere"):
        CheckpointLock(folder, heartbeat=0.05).acquire()
    ended.set()
    os.utime(file, (time.time() - 61, time.time() - 61))
    lock = CheckpointLock(folder)
    lock.acquire()
    lock.release()


def test_the_lock_of_another_machine_that_died_is_taken_over_when_it_is_stale(folder: Path) -> None:
    write_foreign_lock(folder)
    lock = CheckpointLock(folder, heartbeat=0.01, stale=0.3)
    lock.acquire()
    assert owner_of(folder) == os.getpid()
    lock.release()


def test_a_lock_without_an_owner_is_taken_over(folder: Path) -> None:
    (folder / "penstock" / "lock").write_text('{"token": "t"}')
    lock = CheckpointLock(folder)
    lock.acquire()
    lock.release()


def test_a_process_that_reuses_the_process_id_is_not_the_owner(folder: Path) -> None:
    import socket

    write_foreign_lock(folder, pid=os.getpid(), host=socket.gethostname(), started="long ago")
    lock = CheckpointLock(folder)
    lock.acquire()
    assert owner_of(folder) == os.getpid()
    lock.release()


def test_a_partly_written_lock_is_taken_over(folder: Path) -> None:
    (folder / "penstock" / "lock").write_text('{"tok')
    lock = CheckpointLock(folder)
    lock.acquire()
    assert owner_of(folder) == os.getpid()
    lock.release()


def test_heartbeats_are_written_and_a_lost_lock_is_noticed(folder: Path) -> None:
    lock = CheckpointLock(folder, heartbeat=0.01)
    lock.acquire()
    file = folder / "penstock" / "lock"
    os.utime(file, (1, 1))
    until(lambda: file.stat().st_mtime > 1)
    write_foreign_lock(folder)
    until(lambda: lock.lost)
    lock.release()
    assert file.exists(), "the lock of another owner is not removed"


def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "penstock").write_text("a file")
    with pytest.raises(CheckpointError, match="CHECKPOINT_UNWRITABLE"):
        CheckpointLock(tmp_path).acquire()


def test_a_process_that_does_not_exist_has_no_start_time() -> None:
    assert process_start_time(os.getpid()) == process_start_time(os.getpid()) != ""
    assert process_start_time(2**22 + 1) == ""
