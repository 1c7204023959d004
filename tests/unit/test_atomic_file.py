"""Files that are written in one step."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from penstock.atomic_file import write_atomic


@pytest.mark.parametrize("durable", [False, True])
def test_replaces_the_content_and_leaves_no_temporary_file(tmp_path: Path, durable: bool) -> None:
    file = tmp_path / "offsets.json"
    write_atomic(file, b"1", durable=durable)
    write_atomic(str(file), b"2", durable=durable)
    assert file.read_bytes() == b"2"
    assert os.listdir(tmp_path) == ["offsets.json"]


def test_the_temporary_file_is_in_the_staging_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    listed = tmp_path / "listed"
    listed.mkdir()
    renamed: list[Path] = []
    replace = os.replace

    def record(source: Path, target: Path) -> None:
        renamed.append(source)
        replace(source, target)

    monkeypatch.setattr(os, "replace", record)
    write_atomic(listed / "7", b"x", durable=False, staging_folder=tmp_path)
    assert [path.parent for path in renamed] == [tmp_path]
    assert (listed / "7").read_bytes() == b"x"


@pytest.mark.parametrize("durable", [False, True])
def test_only_a_durable_write_waits_for_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, durable: bool
) -> None:
    synced: list[int] = []
    monkeypatch.setattr(os, "fsync", synced.append)
    write_atomic(tmp_path / "file", b"x", durable=durable)
    assert len(synced) == durable


def test_a_failed_write_keeps_the_old_content_and_names_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "offsets.json"
    write_atomic(file, b"old", durable=True)

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left") as failed:
        write_atomic(file, b"new", durable=True)
    assert failed.value.filename == str(file)
    assert file.read_bytes() == b"old"
