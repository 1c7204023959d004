"""State files and manifests: entries are read as they were written, and damage is found."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.connectors.file.system.file_system import file_system
from penstock.errors import CheckpointError
from penstock.savepoints import Manifest, StateFile, StateFileWriter, open_savepoint, publish
from penstock.savepoints.manifest import FORMAT

Entries = list[bytes]


def write_state_file(folder: Path, *blocks: Entries, name: str = "1-0") -> StateFile:
    writer = StateFileWriter(file_system(str(folder)), str(folder), name)
    for number, flat in enumerate(blocks):
        writer.add("operator", f"state {number}", number, number + 1, flat)
    return writer.close()


def manifest(*files: StateFile) -> Manifest:
    return Manifest(FORMAT, "s", 0, "0", "4", "j", "job", 7, 2, 128, [], [], [], [], list(files))


@given(st.lists(st.lists(st.tuples(st.binary(max_size=40), st.binary(max_size=40))), max_size=5))
def test_entries_are_read_as_they_were_written(
    tmp_path_factory: pytest.TempPathFactory, blocks: list[list[tuple[bytes, bytes]]]
) -> None:
    folder = tmp_path_factory.mktemp("savepoint")
    flat = [[part for entry in block for part in entry] for block in blocks]
    file = write_state_file(folder, *flat)
    assert file.size == (folder / "1-0").stat().st_size
    assert file.entries == sum(map(len, blocks))
    savepoint = publish(str(folder), manifest(file))
    assert [entries for _, entries in open_savepoint(str(folder)).blocks()] == flat
    assert savepoint.verify() == []


def test_blocks_are_found_by_operator_and_state(tmp_path: Path) -> None:
    savepoint = publish(str(tmp_path), manifest(write_state_file(tmp_path, [b"a", b"1"], [b"b", b"2"])))
    assert [e for _, e in savepoint.blocks("operator", "state 1")] == [[b"b", b"2"]]
    assert list(savepoint.blocks("another")) == []


def test_a_folder_without_a_manifest_is_not_a_savepoint(tmp_path: Path) -> None:
    write_state_file(tmp_path, [b"a", b"1"])
    with pytest.raises(CheckpointError, match="NO_SAVEPOINT"):
        open_savepoint(str(tmp_path))


@pytest.mark.parametrize("place", [12, -30, -3])
def test_one_changed_byte_is_found(tmp_path: Path, place: int) -> None:
    savepoint = publish(str(tmp_path), manifest(write_state_file(tmp_path, [b"key" * 20, b"value"])))
    file = tmp_path / "1-0"
    data = bytearray(file.read_bytes())
    data[place] ^= 1
    file.write_bytes(data)
    (error,) = savepoint.verify()
    assert error.code == "SAVEPOINT_DAMAGED"


def test_a_missing_or_shorter_file_is_found(tmp_path: Path) -> None:
    savepoint = publish(
        str(tmp_path),
        manifest(write_state_file(tmp_path, [b"a", b"1"]), write_state_file(tmp_path, [b"b", b"2"], name="1-1")),
    )
    (tmp_path / "1-0").unlink()
    (tmp_path / "1-1").write_bytes((tmp_path / "1-1").read_bytes()[:-1])
    assert ["missing" in str(e) or "instead of" in str(e) for e in savepoint.verify()] == [True, True]


def test_a_manifest_of_a_newer_format_is_refused(tmp_path: Path) -> None:
    publish(str(tmp_path), msgspec.structs.replace(manifest(), format=FORMAT + 1))
    with pytest.raises(CheckpointError, match=r"SAVEPOINT_FORMAT.*newer"):
        open_savepoint(str(tmp_path))


def test_an_invalid_manifest_is_refused(tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_text("{")
    with pytest.raises(CheckpointError, match="SAVEPOINT_DAMAGED"):
        open_savepoint(str(tmp_path))
