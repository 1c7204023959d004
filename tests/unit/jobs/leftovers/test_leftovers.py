"""Leftovers are found by age and size. What a running job uses, or a user asked for, is kept."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner

from penstock.cli.main import app
from penstock.config import Configuration
from penstock.folders import default_checkpoint_folder, private_folder, remove_private_folder, runs_folder
from penstock.folders.kinds import KINDS
from penstock.jobs.leftovers.background import start_cleaning
from penstock.jobs.leftovers.find import LeftoverSearch
from penstock.jobs.leftovers.finished_checkpoint import mark_checkpoint_finished, unmark_checkpoint_finished
from penstock.jobs.leftovers.leftover import Leftover
from penstock.jobs.registry.process import this_process
from penstock.jobs.registry.registry import registry_of
from tests.damage import WAYS
from tests.locations import ROOT
from tests.unit.jobs.jobs import entry

DAY = 86_400
JOBS = [f"{n:032x}" for n in range(4)]


@pytest.fixture(autouse=True)
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PENSTOCK_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PENSTOCK_CACHE", str(tmp_path / "cache"))
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    monkeypatch.setenv("PENSTOCK_OPTIONS", "{}")


def find(**options: object) -> list[Leftover]:
    return LeftoverSearch(Configuration({key.replace("__", "."): value for key, value in options.items()})).find()


def paths(found: list[Leftover]) -> set[str]:
    return {Path(leftover.path).name for leftover in found}


def checkpoint(job: str, days: float, *, finished: bool = True, size: int = 10_000, name: str = "") -> Path:
    folder = Path(default_checkpoint_folder(Configuration(), job, name))
    (folder / "penstock").mkdir(parents=True)
    (folder / "penstock" / "job.json").write_bytes(os.urandom(size))
    if finished:
        mark_checkpoint_finished(str(folder))
    age(folder, days)
    return folder


def age(path: Path, days: float) -> None:
    for each in (path, *path.rglob("*")):
        os.utime(each, (time.time() - days * DAY,) * 2)


def copy(job: str, days: float, size: int = 10_000) -> Path:
    slot = Path(os.environ["PENSTOCK_HOME"], "working-copies", job, "1-0")
    slot.mkdir(parents=True)
    (slot / "used").touch()
    (slot / "data").write_bytes(os.urandom(size))
    age(slot.parent, days)
    return slot.parent


def test_checkpoints_of_jobs_that_read_all_input_are_removed_by_age() -> None:
    checkpoint(JOBS[0], days=40)
    checkpoint(JOBS[1], days=20)
    resumable = checkpoint(JOBS[2], days=40, finished=False)
    checkpoint(JOBS[3], days=400, name="fraud")
    found = find()
    assert paths(found) == {JOBS[0], JOBS[2]}
    assert [x.path for x in found if not x.automatic and x.resumable] == [str(resumable)]


def test_checkpoints_of_finished_jobs_are_removed_by_size_oldest_first() -> None:
    for number, job in enumerate(JOBS):
        checkpoint(job, days=number + 1, size=100_000, finished=job != JOBS[3])
    found = LeftoverSearch(Configuration({"folders.checkpoints.max-size": "300 kb"})).find()
    assert paths(found) == {JOBS[2], JOBS[1]}


@pytest.mark.parametrize("use", ["registry", "lock"])
def test_the_checkpoint_of_a_running_job_is_kept(use: str) -> None:
    folder = checkpoint(JOBS[0], days=400)
    if use == "registry":
        registry_of().write(entry(JOBS[0], status="running", checkpoint=str(folder)))
    else:
        process = this_process()
        owner = {"token": "t", "host": process.host, "pid": process.pid, "started": process.started}
        (folder / "penstock" / "lock").write_text(json.dumps(owner))
    assert find() == []


def test_a_job_that_continues_is_not_finished() -> None:
    folder = checkpoint(JOBS[0], days=0)
    unmark_checkpoint_finished(str(folder))
    age(folder, 400)
    assert [x.automatic for x in find()] == [False]


def test_working_copies_are_removed_by_age_and_size() -> None:
    copy(JOBS[0], days=10)
    copy(JOBS[1], days=1)
    copy(JOBS[2], days=3)
    copy(JOBS[3], days=30)
    registry_of().write(entry(JOBS[3], status="running"))
    assert paths(find()) == {JOBS[0]}
    limited = LeftoverSearch(Configuration({"folders.working-copies.max-size": "25 kb"})).find()
    assert paths(limited) == {JOBS[0], JOBS[1], JOBS[2]}


def test_other_files_in_a_configured_folder_of_working_copies_are_kept(tmp_path: Path) -> None:
    (tmp_path / "scratch" / "photos" / "2026").mkdir(parents=True)
    age(tmp_path / "scratch", 400)
    assert LeftoverSearch(Configuration({"state.local.dir": str(tmp_path / "scratch")})).find() == []


@pytest.mark.parametrize("way", WAYS)
def test_damaged_working_copies_stop_no_job(way: str) -> None:
    folder = copy(JOBS[0], days=1)
    WAYS[way](folder / "1-0" / "used")
    assert find() == []  # in particular a file `used` that a killed worker left empty
    age(folder, 10)
    assert paths(find()) == {JOBS[0]}


def test_logs_of_registered_jobs_are_kept() -> None:
    logs = registry_of().logs
    logs.mkdir(parents=True)
    for name in ("known.log", "old.log", "new.log"):
        (logs / name).write_text("text")
    registry_of().write(entry(JOBS[0], status="finished", ended=time.time(), log=str(logs / "known.log")))
    age(logs, 40)
    os.utime(logs / "new.log")
    assert paths(find()) == {"old.log"}


def test_the_cache_is_cleaned_by_age_and_size_unless_a_job_runs(tmp_path: Path) -> None:
    for name, days in (("old", 100), ("new", 2), ("newest", 1)):
        (tmp_path / "cache" / "jars" / name).mkdir(parents=True)
        (tmp_path / "cache" / "jars" / name / "one.jar").write_bytes(os.urandom(50_000))
        age(tmp_path / "cache" / "jars" / name, days)
    assert paths(find()) == {"old"}
    limited = Configuration({"folders.cache.max-size": "60 kb"})
    assert paths(LeftoverSearch(limited).find()) == {"old", "new"}
    registry_of().write(entry(JOBS[0], status="running", started=time.time() - 3 * DAY))
    assert paths(LeftoverSearch(limited).find()) == {"old"}


def test_folders_of_ended_processes_and_of_earlier_versions_are_found(tmp_path: Path) -> None:
    mine = private_folder("run")
    (runs_folder() / "run-killed").mkdir()
    (runs_folder() / "run-killed" / "alive").touch()
    for name in ("penstock-state", "penstock-checkpoints"):
        (tmp_path / "temporary" / name / JOBS[0]).mkdir(parents=True)
        age(tmp_path / "temporary" / name, 40)
    found = find()
    assert paths(found) == {"run-killed", JOBS[0]}
    assert {x.kind: x.automatic for x in found} == {"runs": True, "temporary": False}
    remove_private_folder(mine)


def test_a_job_that_starts_removes_leftovers_once_per_hour(tmp_path: Path) -> None:
    kept, removed = checkpoint(JOBS[0], days=1), checkpoint(JOBS[1], days=100)
    resumable = checkpoint(JOBS[2], days=100, finished=False)
    thread = start_cleaning(Configuration())
    assert thread is not None
    thread.join()
    assert [kept.exists(), removed.exists(), resumable.exists()] == [True, False, True]
    assert not list(kept.parent.glob(".removed-*"))
    assert start_cleaning(Configuration()) is None
    os.utime(tmp_path / "home" / "cleaned", (0, 0))
    assert start_cleaning(Configuration({"folders.clean": False})) is None
    second = start_cleaning(Configuration())
    assert second is not None
    second.join()


def test_the_command_lists_first_and_removes_with_yes() -> None:
    finished, resumable = checkpoint(JOBS[0], days=100), checkpoint(JOBS[1], days=100, finished=False)
    listed = CliRunner(env={"COLUMNS": "200"}).invoke(app, ["doctor", "--clean"])
    assert listed.exit_code == 0
    for text in (str(finished), "its job has read all its input", "2 leftovers", "--resumable", "Nothing was removed"):
        assert text in listed.stdout
    assert finished.exists()
    shown = json.loads(CliRunner().invoke(app, ["doctor", "--clean", "--json"]).stdout)
    assert [x["removed"] for x in shown["leftovers"]] == [False, False]
    assert shown["bytes"] > 20_000
    done = CliRunner().invoke(app, ["doctor", "--clean", "--yes"])
    assert "Removed 1 leftover" in done.stdout
    assert [finished.exists(), resumable.exists()] == [False, True]
    freed = json.loads(CliRunner().invoke(app, ["doctor", "--clean", "--yes", "--resumable", "--json"]).stdout)
    assert freed["freed"] > 10_000
    assert not resumable.exists()
    assert "There are no leftovers" in CliRunner().invoke(app, ["doctor", "--clean"]).stdout


def test_the_reference_page_describes_each_kind_of_folder() -> None:
    page = (ROOT / "docs" / "reference" / "folders.md").read_text()
    for kind in KINDS:
        row = next(line for line in page.splitlines() if line.startswith(f"| `{kind.name}`"))
        for text in (kind.contents, kind.deletable, *(f"`{o.key}`" for o in (kind.budget, kind.age) if o is not None)):
            assert text in row
