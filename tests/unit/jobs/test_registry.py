"""The registry: finding jobs, detecting lost ones, and removing old ones."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from penstock.config import Configuration
from penstock.errors import JobError
from penstock.jobs.registry.entry import Failure
from penstock.jobs.registry.process import ProcessId, process_start_time, this_process
from penstock.jobs.registry.progress import OperatorProgress, Progress
from penstock.jobs.registry.registry import Registry, registry_of
from tests.unit.jobs.jobs import DEAD_PROCESS, entry

JOB = r"\('\w+', \w+, \d{4}-\d\d-\d\d \d\d:\d\d:\d\d\)"  # name, status and start


@pytest.fixture
def registry(tmp_path: Path) -> Registry:
    return Registry(tmp_path)


def test_entries_and_progress_are_read_as_written(registry: Registry) -> None:
    written = entry(error=Failure("JOB_FAILED", "It broke.\nTwice."), ended=5.0, status="failed")
    registry.write(written)
    progress = Progress([OperatorProgress("s", "numbers", "source", records_out=3)], batches=2, watermark=-(2**63))
    registry.write_progress(written.id, progress)
    assert registry.entry(written.id) == written
    assert registry.progress(written.id) == progress
    assert registry.entries() == [written]


def test_readers_never_see_a_partly_written_entry(registry: Registry) -> None:
    registry.write(entry())
    over = threading.Event()

    def write() -> None:
        while not over.is_set():
            registry.write(entry(program="x" * 20_000))

    writer = threading.Thread(target=write)
    writer.start()
    try:
        assert all(registry.entry("a1b2c3") is not None for _ in range(500))
    finally:
        over.set()
        writer.join()


def test_damaged_and_foreign_files_are_ignored(registry: Registry) -> None:
    registry.write(entry())
    broken = registry.job_folder("broken")
    broken.mkdir()
    (broken / "job.json").write_text('{"id": "bro')
    (registry.folder / "jobs" / "empty").mkdir()
    (registry.folder / "jobs" / "file").touch()
    assert [e.id for e in registry.entries()] == ["a1b2c3"]


def test_the_newest_job_is_first(registry: Registry) -> None:
    for number in (2, 3, 1):
        registry.write(entry(f"job{number}", started=float(number)))
    assert [e.id for e in registry.entries()] == ["job3", "job2", "job1"]


def test_find_by_id_beginning_of_id_or_name(registry: Registry) -> None:
    registry.write(entry("aa11", "ads"))
    registry.write(entry("aa22", "orders"))
    registry.write(entry("bb33", "aa11"))
    assert registry.find("aa11").id == "aa11"  # an id is preferred to a name
    assert registry.find("aa2").id == "aa22"
    assert registry.find("orders").id == "aa22"
    with pytest.raises(JobError, match=rf"'aa' matches 2 jobs: aa\d\d {JOB}, aa\d\d {JOB}\.") as caught:
        registry.find("aa")
    assert caught.value.code == "JOB_AMBIGUOUS"
    for word in ("cc", ""):
        with pytest.raises(JobError, match=f"no job with the id or name '{word}'") as caught:
            registry.find(word)
        assert caught.value.code == "JOB_UNKNOWN"


def test_a_name_means_its_newest_job(registry: Registry) -> None:
    registry.write(entry("aa11", "ads", status="running", started=1.0))
    registry.write(entry("aa22", "ads", status="failed", started=2.0, ended=3.0))
    assert registry.find("ads").id == "aa22"
    assert registry.find_running("ads", "stop").id == "aa11"
    assert registry.find_running("aa2", "stop").id == "aa22"


def test_a_name_whose_jobs_have_ended_or_of_which_several_run(registry: Registry) -> None:
    registry.write(entry("aa11", "ads", status="finished", started=1.0, ended=2.0))
    registry.write(entry("aa22", "ads", status="failed", started=2.0, ended=3.0))
    with pytest.raises(
        JobError, match=r"No job named 'ads' is running.* nothing to stop.*newest of 2 is aa22: failed"
    ) as over:
        registry.find_running("ads", "stop")
    assert over.value.code == "JOB_OVER"
    for job_id in ("aa11", "aa22"):
        registry.write(entry(job_id, "ads", status="running"))
    with pytest.raises(JobError, match=rf"'ads' matches 2 jobs: aa\d\d {JOB}"):
        registry.find_running("ads", "stop")


def test_a_job_without_its_process_is_lost() -> None:
    process = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    job = entry(process=ProcessId(this_process().host, process.pid, process_start_time(process.pid)), status="running")
    assert (job.current_status(), job.is_over) == ("running", False)
    process.kill()
    process.wait()
    assert (job.current_status(), job.is_over) == ("lost", True)


def test_a_zombie_counts_as_ended() -> None:
    process = subprocess.Popen([sys.executable, "-c", ""])
    while process_start_time(process.pid):
        time.sleep(0.01)
    assert process.poll() is not None or process.wait() == 0


def test_another_process_with_the_same_id_is_not_the_job() -> None:
    process_id = this_process()
    assert entry(process=process_id, status="running").current_status() == "running"
    assert (
        entry(process=ProcessId(process_id.host, os.getpid(), "earlier"), status="running").current_status() == "lost"
    )


def test_a_job_of_another_machine_is_lost_without_heartbeats() -> None:
    job = entry(process=ProcessId("elsewhere", 1, "1"), status="running", updated=1000.0)
    assert job.current_status(now=1030.0) == "running"
    assert job.current_status(now=1100.0) == "lost"


def test_the_status_of_an_ended_job_does_not_change() -> None:
    assert entry(process=DEAD_PROCESS, status="finished").current_status() == "finished"


def test_old_jobs_and_their_logs_are_removed(registry: Registry) -> None:
    now = time.time()
    registry.logs.mkdir()
    for number in range(5):
        log = registry.logs / f"{number // 2}.log"  # two jobs share a log
        log.touch()
        registry.write(entry(f"job{number}", status="finished", started=now + number, ended=now, log=str(log)))
    registry.write(entry("runs", status="running", started=now - 1000))
    elsewhere = registry.folder / "process_id.log"
    elsewhere.touch()
    registry.write(entry("ancient", status="failed", started=now - 2000, ended=now - 9e6, log=str(elsewhere)))
    assert registry.prune(keep=10, days=30) == ["ancient"]
    assert elsewhere.exists()  # not in the log folder
    assert registry.prune(keep=2, days=30) == ["job2", "job1", "job0"]
    assert [e.id for e in registry.entries()] == ["job4", "job3", "runs"]
    assert sorted(f.name for f in registry.logs.iterdir()) == ["1.log", "2.log"]


def test_the_folder_of_the_registry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PENSTOCK_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert registry_of().folder == tmp_path / ".penstock"
    monkeypatch.setenv("PENSTOCK_HOME", str(tmp_path / "by variable"))
    assert registry_of().folder == tmp_path / "by variable"
    chosen = Configuration({"jobs.registry.dir": str(tmp_path / "by option")})
    assert registry_of(chosen).folder == tmp_path / "by option"
