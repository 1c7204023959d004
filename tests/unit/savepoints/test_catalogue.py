"""Savepoints of a folder: what is found, what is too much, and what must stay."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from penstock.errors import CheckpointError
from penstock.jobs.entry import JobEntry
from penstock.jobs.process import this_process
from penstock.jobs.registry import Registry
from penstock.jobs.savepoint_use import delete, prune
from penstock.savepoints import Savepoint, open_savepoint, publish
from penstock.savepoints.catalogue import Retention, found_in
from tests.savepoints.test_format import manifest, written

HOUR = 3_600_000


def save(folder: Path, name: str, hours: float, job: str = "job", size: int = 1) -> Savepoint:
    path = folder / name
    told = manifest(written(path, [b"key", b"v" * size]))
    told.created, told.job_name = int(time.time() * 1000 - hours * HOUR), job
    return publish(str(path), told)


def running(registry: Registry, **facts: Any) -> JobEntry:
    entry = JobEntry(id="1" * 32, name="j", process=this_process(), program="", master="", checkpoint="", **facts)
    entry.status = "running"
    registry.write(entry)
    return entry


def names(found: list[Any]) -> list[str]:
    return [Path((s[0] if isinstance(s, tuple) else s).path).name for s in found]


@pytest.fixture
def three(tmp_path: Path) -> Path:
    for number, hours in enumerate((30, 20, 10)):
        save(tmp_path / "saved", f"s{number}", hours)
    save(tmp_path / "saved", "other", 100, job="another job")
    (tmp_path / "saved" / "half").mkdir()
    (tmp_path / "saved" / "half" / "1-0").write_text("no manifest")
    return tmp_path / "saved"


def test_whole_savepoints_of_a_folder_are_found_oldest_first(three: Path) -> None:
    assert names(found_in(str(three))) == ["other", "s0", "s1", "s2"]
    assert found_in(str(three / "nowhere")) == []


@pytest.mark.parametrize(
    ("retention", "gone"),
    [
        (Retention(), []),
        (Retention(count=2), ["s0"]),
        (Retention(count=1), ["s1", "s0"]),
        (Retention(age=15 * HOUR), ["s1", "s0"]),
        (Retention(age=HOUR), ["s1", "s0"]),  # the newest stays
        (Retention(size=0), ["s1", "s0"]),
    ],
)
def test_what_is_too_much_goes_job_by_job(three: Path, tmp_path: Path, retention: Retention, gone: list[str]) -> None:
    registry = Registry(tmp_path / "home")
    assert names(prune(registry, str(three), retention, dry_run=True)) == gone
    assert len(found_in(str(three))) == 4, "a dry run removes nothing"
    assert names(prune(registry, str(three), retention, job="job")) == gone
    assert names(found_in(str(three))) == sorted(
        {"other", "s0", "s1", "s2"} - set(gone), key=lambda n: (n != "other", n)
    )


def test_a_budget_of_bytes_keeps_the_newest_that_fit(three: Path, tmp_path: Path) -> None:
    size = found_in(str(three))[-1].size
    assert names(prune(Registry(tmp_path / "home"), str(three), Retention(size=2 * size), dry_run=True)) == ["s0"]


def test_what_a_running_job_came_from_stays(three: Path, tmp_path: Path) -> None:
    registry = Registry(tmp_path / "home")
    entry = running(registry, from_savepoint=str(three / "s0"))
    assert names(prune(registry, str(three), Retention(count=1))) == ["s1"]
    with pytest.raises(CheckpointError, match=f"SAVEPOINT_IN_USE.*{entry.id}"):
        delete(registry, open_savepoint(str(three / "s0")))
    entry.status = "finished"
    registry.write(entry)
    delete(registry, open_savepoint(str(three / "s0")))
    assert not (three / "s0").exists()
