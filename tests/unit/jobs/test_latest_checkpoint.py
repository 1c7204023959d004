"""The fixed folder of a job that always resumes itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.config import Configuration
from penstock.errors import CheckpointError
from penstock.jobs.registry.latest_checkpoint import LatestCheckpoint, named_folder


def write_checkpoint(latest: LatestCheckpoint, name: str) -> str:
    folder = latest.folder / name
    (folder / "penstock").mkdir(parents=True)
    (folder / "penstock" / "job.json").write_text("{}")
    return str(folder)


@pytest.fixture
def latest(tmp_path: Path) -> LatestCheckpoint:
    return LatestCheckpoint(str(tmp_path / "fraud"))


def test_the_folder_of_a_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = Configuration({"execution.checkpointing.dir": "/data"})
    assert named_folder(chosen, "fraud alerts/eu") == "/data/fraud%20alerts%2Feu"
    assert {named_folder(chosen, name) for name in ("..", "savepoints")} == {"/data/name-..", "/data/name-savepoints"}
    monkeypatch.setenv("PENSTOCK_HOME", str(tmp_path))
    assert named_folder(Configuration(), "fraud") == f"{tmp_path}/checkpoints/fraud"


def test_the_current_checkpoint(latest: LatestCheckpoint) -> None:
    assert latest.find() is None
    one, two = write_checkpoint(latest, "one"), write_checkpoint(latest, "two")
    assert latest.find() is None  # a start that was killed before it chose its checkpoint
    latest.replace(one, "/savepoints/a")
    latest.replace(two, "/savepoints/b")
    assert latest.find() == two
    assert (latest.started_from("/savepoints/a"), latest.started_from("/savepoints/c")) == (True, False)
    assert LatestCheckpoint.containing(one) is None
    assert (found := LatestCheckpoint.containing(two)) is not None
    assert found.folder == latest.folder
    latest.clear()
    assert latest.find() is None


def test_a_checkpoint_that_is_gone_is_an_error(latest: LatestCheckpoint) -> None:
    latest.folder.mkdir()
    latest.replace(str(latest.folder / "one"))
    with pytest.raises(CheckpointError, match=rf"NO_CHECKPOINT.*{latest.folder}/one, is gone.*delete .*latest.json"):
        latest.find()


@pytest.mark.parametrize("text", ["", "{", '{"checkpoint": 7}'])
def test_a_damaged_file_is_only_an_error_if_there_is_a_choice(latest: LatestCheckpoint, text: str) -> None:
    one = write_checkpoint(latest, "one")
    (latest.folder / "latest.json").write_text(text)
    assert latest.find() == one
    write_checkpoint(latest, "two")
    with pytest.raises(CheckpointError, match=r"CHECKPOINT_DAMAGED.*latest.json cannot be read.*one, two"):
        latest.find()
