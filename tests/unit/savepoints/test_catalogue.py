"""Savepoints of a folder: finding them, retention, and savepoints in use."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from penstock.errors import CheckpointError
from penstock.jobs.actions.savepoint_files import delete_savepoint, prune_savepoints
from penstock.jobs.registry.entry import JobEntry
from penstock.jobs.registry.process import this_process
from penstock.jobs.registry.registry import Registry
from penstock.savepoints import Savepoint, open_savepoint, publish
from penstock.savepoints.catalogue import Retention, find_savepoints, remove_savepoint
from penstock.savepoints.manifest import SinkFile
from penstock.state_processor import SavepointWriter
from tests.unit.savepoints.test_state_file import manifest, write_state_file

HOUR = 3_600_000


def save(folder: Path, name: str, hours: float, job: str = "job", size: int = 1) -> Savepoint:
    path = folder / name
    saved = manifest(write_state_file(path, [b"key", b"v" * size]))
    saved.created, saved.job_name = int(time.time() * 1000 - hours * HOUR), job
    return publish(str(path), saved)


def save_with_sink_file(folder: Path) -> Savepoint:
    saved = manifest(write_state_file(folder, [b"key", b"value"]))
    (folder / "sink-a").write_bytes(b"pending")
    saved.sink_files = [SinkFile("sink-a", 7)]
    return publish(str(folder), saved)


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


def test_complete_savepoints_are_found_oldest_first(three: Path) -> None:
    assert names(find_savepoints(str(three))) == ["other", "s0", "s1", "s2"]
    assert find_savepoints(str(three / "nowhere")) == []


@pytest.mark.parametrize(
    ("retention", "removed"),
    [
        (Retention(), []),
        (Retention(count=2), ["s0"]),
        (Retention(count=1), ["s1", "s0"]),
        (Retention(age=15 * HOUR), ["s1", "s0"]),
        (Retention(age=HOUR), ["s1", "s0"]),  # the newest stays
        (Retention(size=0), ["s1", "s0"]),
    ],
)
def test_retention_applies_to_each_job(three: Path, tmp_path: Path, retention: Retention, removed: list[str]) -> None:
    registry = Registry(tmp_path / "home")
    assert names(prune_savepoints(registry, str(three), retention, dry_run=True)) == removed
    assert len(find_savepoints(str(three))) == 4, "a dry run removes nothing"
    assert names(prune_savepoints(registry, str(three), retention, job="job")) == removed
    assert names(find_savepoints(str(three))) == sorted(
        {"other", "s0", "s1", "s2"} - set(removed), key=lambda n: (n != "other", n)
    )


def test_a_maximum_size_keeps_the_newest_savepoints(three: Path, tmp_path: Path) -> None:
    size = find_savepoints(str(three))[-1].size
    assert names(prune_savepoints(Registry(tmp_path / "home"), str(three), Retention(size=2 * size), dry_run=True)) == [
        "s0"
    ]


def test_the_savepoint_of_a_running_job_stays(three: Path, tmp_path: Path) -> None:
    registry = Registry(tmp_path / "home")
    entry = running(registry, from_savepoint=str(three / "s0"))
    assert names(prune_savepoints(registry, str(three), Retention(count=1))) == ["s1"]
    with pytest.raises(CheckpointError, match=f"SAVEPOINT_IN_USE.*{entry.id}"):
        delete_savepoint(registry, open_savepoint(str(three / "s0")))
    entry.status = "finished"
    registry.write(entry)
    delete_savepoint(registry, open_savepoint(str(three / "s0")))
    assert not (three / "s0").exists()


def test_links_are_not_followed(three: Path, tmp_path: Path) -> None:
    """Neither a link to a savepoint, nor one to a folder of savepoints, nor one to its own folder."""
    elsewhere = save(tmp_path / "elsewhere", "kept", 50)
    save(tmp_path / "more", "kept", 60)
    (three / "link").symlink_to(elsewhere.path)
    (three / "links").symlink_to(tmp_path / "more")
    manifest_only = three / "manifest-only"
    manifest_only.mkdir()
    (manifest_only / "manifest.json").symlink_to(Path(elsewhere.path, "manifest.json"))
    registry = Registry(tmp_path / "home")
    assert names(prune_savepoints(registry, str(three), Retention(count=1))) == ["s1", "s0"]
    assert Path(elsewhere.path, "manifest.json").exists()
    assert (tmp_path / "more" / "kept" / "manifest.json").exists()
    for linked in (three / "link", manifest_only):
        with pytest.raises(CheckpointError, match="SAVEPOINT_IS_LINK"):
            delete_savepoint(registry, open_savepoint(str(linked)))
    assert elsewhere.verify() == []


def test_a_folder_of_savepoints_may_be_a_link(three: Path, tmp_path: Path) -> None:
    (tmp_path / "here").symlink_to(three)
    removed = prune_savepoints(Registry(tmp_path / "home"), str(tmp_path / "here"), Retention(count=1))
    assert names(removed) == ["s1", "s0"]
    assert not (three / "s0").exists()


def test_files_of_others_stay(three: Path, tmp_path: Path) -> None:
    (three / "s0" / "notes.txt").write_text("mine")
    (three / "s0" / ".hidden").mkdir()
    (three / "s0" / ".hidden" / "file").write_text("mine")
    (three / "s1" / "data").mkdir()
    prune_savepoints(Registry(tmp_path / "home"), str(three), Retention(count=1))
    assert sorted(p.name for p in (three / "s0").iterdir()) == [".hidden", "notes.txt"]
    assert (three / "s0" / ".hidden" / "file").read_text() == "mine"
    assert [p.name for p in (three / "s1").iterdir()] == ["data"]
    assert names(find_savepoints(str(three))) == ["other", "s2"]


def test_files_of_sinks_are_verified_copied_and_removed_with_the_savepoint(tmp_path: Path) -> None:
    saved = save_with_sink_file(tmp_path / "saved")
    assert saved.verify() == []
    assert saved.size == 7 + sum(file.size for file in saved.manifest.files)
    copied = SavepointWriter.from_existing_savepoint(saved.path).write(str(tmp_path / "copied"))
    remove_savepoint(saved)
    assert not (tmp_path / "saved").exists()
    assert (tmp_path / "copied" / "sink-a").read_bytes() == b"pending"
    assert copied.verify() == []
    (tmp_path / "copied" / "sink-a").write_bytes(b"pend")
    assert ["sink-a has 4 bytes instead of 7" in error.text for error in open_savepoint(copied.path).verify()] == [True]
    (tmp_path / "copied" / "sink-a").unlink()
    assert ["sink-a does not exist" in error.text for error in open_savepoint(copied.path).verify()] == [True]
