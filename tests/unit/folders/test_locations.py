"""Folders that last are in the state folder of the user. Users do not use each other's folders."""

from __future__ import annotations

import os
import stat
import tempfile
from pathlib import Path

import pytest

from penstock import folders
from penstock.config import Configuration
from penstock.folders import create_private, default_checkpoint_folder, default_savepoint_folder, state_folder
from tests.other_user import OTHER_USER, as_other_user, needs_root

JOB = "0123456789abcdef" * 2


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user whose environment names only a home folder."""
    for name in ("PENSTOCK_HOME", "PENSTOCK_CACHE", "XDG_STATE_HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    folder = tmp_path / "home"
    folder.mkdir()
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.setattr("pwd.getpwuid", _no_user)
    return folder


def _no_user(uid: int) -> None:
    raise KeyError(uid)


def test_without_variables_the_state_is_in_the_home_folder(home: Path) -> None:
    assert state_folder() == home / ".penstock"
    assert folders.cache_folder() == home / ".cache" / "penstock"
    assert default_checkpoint_folder(Configuration(), JOB) == str(home / ".penstock" / "checkpoints" / JOB)


def test_the_variables_of_xdg_are_used(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert state_folder() == tmp_path / "state" / "penstock"
    assert folders.cache_folder() == tmp_path / "cache" / "penstock"
    monkeypatch.setenv("XDG_STATE_HOME", "relative")
    assert state_folder() == home / ".penstock"


def test_a_folder_of_an_earlier_version_stays_in_use(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    (home / ".penstock" / "jobs").mkdir(parents=True)
    assert state_folder() == home / ".penstock"
    (tmp_path / "state" / "penstock").mkdir(parents=True)
    assert state_folder() == tmp_path / "state" / "penstock"


def test_a_user_without_a_home_has_a_private_folder_of_its_own(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("HOME")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    assert state_folder() == tmp_path / f"penstock-{os.getuid()}"
    (tmp_path / f"penstock-{os.getuid()}").symlink_to(home)
    assert state_folder() == tmp_path / f"penstock-{os.getuid()}-1"


def test_a_checkpoint_without_a_configured_folder_is_not_in_the_temporary_folder(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "gettempdir", lambda: pytest.fail("uses the temporary folder"))
    checkpoint = default_checkpoint_folder(Configuration(), JOB)
    assert folders.is_default_checkpoint(checkpoint)
    assert default_savepoint_folder(Configuration(), checkpoint) == str(home / ".penstock" / "savepoints")
    folders.working_copies_folder()
    folders.runs_folder()


@pytest.mark.parametrize("name", ["fraud", JOB, "..", ".removed", "a/b", "savepoints", "ö" * 300])
def test_the_folder_of_a_named_job_is_its_own(home: Path, name: str) -> None:
    folder = default_checkpoint_folder(Configuration(), JOB, name)
    assert folder == default_checkpoint_folder(Configuration(), "another id", name)
    assert Path(folder).parent == folders.checkpoints_folder()
    assert not folders.is_default_checkpoint(folder)
    assert not Path(folder).name.startswith(".")
    Path(folder).mkdir(parents=True)


def test_only_the_owner_can_access_folders(home: Path) -> None:
    (home / ".penstock").mkdir(mode=0o755)
    folder = create_private(folders.checkpoints_folder() / JOB)
    for path in (folder, folder.parent, folder.parent.parent):
        assert stat.S_IMODE(path.stat().st_mode) == 0o700


def test_the_mode_of_a_configured_folder_is_not_changed(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o755)
    monkeypatch.setenv("PENSTOCK_HOME", str(shared))
    folder = create_private(folders.checkpoints_folder())
    assert stat.S_IMODE(shared.stat().st_mode) == 0o755
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


@needs_root
def test_a_folder_of_another_user_is_not_used(home: Path) -> None:
    (home / ".penstock").mkdir()
    os.chown(home / ".penstock", OTHER_USER, OTHER_USER)
    assert state_folder() == home / ".local" / "state" / "penstock"
    os.chown(home, OTHER_USER, OTHER_USER)
    assert not state_folder().is_relative_to(home)


@needs_root
def test_two_users_of_one_configured_folder_have_a_folder_each(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o777)
    monkeypatch.setenv("PENSTOCK_HOME", str(shared))
    mine = create_private(folders.checkpoints_folder())
    theirs = Path(as_other_user(lambda: str(create_private(folders.checkpoints_folder())), tmp_path))
    assert mine == shared / "checkpoints"
    assert theirs == shared / f"user-{OTHER_USER}" / "checkpoints"
    assert theirs.stat().st_uid == OTHER_USER


@needs_root
def test_a_part_of_the_state_folder_that_belongs_to_another_user_is_replaced(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copies = create_private(folders.working_copies_folder())
    os.chown(copies, OTHER_USER, OTHER_USER)
    assert create_private(folders.working_copies_folder()) == copies.with_name(f"working-copies-{os.getuid()}")
    with pytest.raises(PermissionError, match=f"belongs to user.*{OTHER_USER}") as raised:
        create_private(copies)
    assert raised.value.filename == str(copies)
