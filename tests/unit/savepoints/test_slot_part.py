"""Savepoint parts: the entries of a working copy with later changes, in one state file."""

from __future__ import annotations

import io
import os
import subprocess
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.connectors.file.system.file_system import file_system
from penstock.engine.slots.entry_groups import BROADCAST
from penstock.engine.slots.slot_metadata import SlotMetadata
from penstock.engine.wire.frames import SavepointRequest
from penstock.runtime.state.store import MemoryView, after_prefix
from penstock.runtime.state.tables import StateTable
from penstock.savepoints.slot_part import SavepointPart, SlotAssignment, chunked_scan, write_part
from penstock.savepoints.state_file import StateFileReader
from penstock.spark.savepoint import savepoint_writer
from penstock.spark.savepoint.savepoint_writer import CopyScan, receive, send
from penstock.spark.savepoint.snapshot_handoff import SnapshotHandoff
from penstock.spark.state.copy_view import CopyReader
from penstock.spark.state.uncompacted_deltas import CommittedDelta
from penstock.spark.state.working_copy import WorkingCopy

PLACE = SlotAssignment(1, 0, {"op": 2}, 8)
LIMIT = 1 << 26
# Short keys that meet each other, and keys that LMDB cannot hold as they are.
keys = st.one_of(
    st.binary(min_size=3, max_size=4),
    st.builds(lambda n, t: b"\x00\x01" + b"k" * n + t, st.integers(455, 470), st.binary(max_size=2)),
)
entries = st.dictionaries(keys, st.binary(max_size=3), max_size=30)
changes = st.dictionaries(keys, st.one_of(st.none(), st.binary(max_size=3)), max_size=30)


def copy_with(folder: Path, entries: dict[bytes, bytes]) -> CopyReader:
    copy = WorkingCopy(str(folder), LIMIT)
    copy.rebuild((dict[bytes, bytes | None](entries),), 1, b"token")
    file = copy.file
    copy.close()
    return CopyReader(file, LIMIT, readahead=True)


@given(entries, changes, st.integers(1, 4))
@settings(max_examples=60, deadline=None)
def test_a_scan_returns_the_copy_with_later_changes(
    tmp_path_factory: pytest.TempPathFactory,
    entries: dict[bytes, bytes],
    above: dict[bytes, bytes | None],
    at_once: int,
) -> None:
    reader = copy_with(tmp_path_factory.mktemp("copy"), entries)
    before, savepoint_writer._AT_ONCE = savepoint_writer._AT_ONCE, at_once
    try:
        scan = CopyScan(reader.view, above)
        for prefix in (b"\x00\x01", b"\x00", b"\x00\x02"):
            found = [entry for chunk in scan(prefix, after_prefix(prefix)) for entry in chunk]
            expected = {k: v for k, v in {**entries, **above}.items() if v is not None and k.startswith(prefix)}
            assert found == sorted(expected.items())
    finally:
        savepoint_writer._AT_ONCE = before
        reader.close()


def part_of(
    folder: Path, entries: dict[bytes, bytes], tables: list[StateTable], place: SlotAssignment = PLACE
) -> SavepointPart:
    base = MemoryView()
    base.apply(dict(entries))
    return write_part(
        file_system(str(folder)), str(folder), "1-0", place, SlotMetadata(tables=tables), chunked_scan(base.scan), 0.0
    )


def blocks_of(folder: Path, part: SavepointPart) -> list[tuple[Any, list[bytes]]]:
    with StateFileReader(file_system(str(folder)), str(folder), part.file) as reader:
        return [(block, reader.read(block)) for block in reader.blocks]


def test_blocks_end_with_key_groups_and_are_not_too_large(tmp_path: Path) -> None:
    entries = {b"\x00\x01\x00" + bytes([group]) + b"%05d" % n: b"v" * 300 for group in range(4) for n in range(2000)}
    entries |= {b"\x00\x02\x00\x03" + b"%d" % n: b"v" * 700_000 for n in range(4)}
    part = part_of(
        tmp_path, entries, [StateTable(1, "op", "count", "value", "int"), StateTable(2, "op", "big", "value", "int")]
    )
    blocks = blocks_of(tmp_path, part)
    counts = [block for block, _ in blocks if block.state == "count"]
    assert [(b.first, b.last) for b in counts] == [(0, 0), (1, 1), (2, 2), (3, 3)]
    assert [b.entries for b in counts] == [2000] * 4
    assert max(b.raw_size for b, _ in blocks) < 1_500_000
    found = {
        b"\x00" + bytes([1 if b.state == "count" else 2]) + k: v
        for b, f in blocks
        for k, v in zip(f[::2], f[1::2], strict=True)
    }
    assert found == entries
    assert [(s.state.name, s.state.entries) for s in part.states] == [("count", 8000), ("big", 4)]
    assert part.states[0].state.size == 8000 * (7 + 300)
    note = msgspec.json.decode((tmp_path / "1-0.json").read_bytes(), type=SavepointPart)
    assert msgspec.json.decode(note.meta, type=SlotMetadata).tables[0].name == "count"


def test_timers_may_have_any_key_group_and_one_slot_writes_broadcast_state(tmp_path: Path) -> None:
    tables = [
        StateTable(1, "op", "event", "timers", ""),
        StateTable(2, "op", "slot:rules", "map", ""),
        StateTable(3, "op", "none", "value", ""),
    ]
    entries = {b"\x00\x01\xff\xff" + b"t" * 14: b"", b"\x00\x02\xff\xffrule": b"1"}
    for slot, count in ((0, 2), (1, 1)):
        part = part_of(tmp_path, entries, tables, SlotAssignment(1, slot, {"op": 2}, 8))
        blocks = [block for block, _ in blocks_of(tmp_path, part)]
        assert (blocks[0].first, blocks[0].last) == ((0, 3), (4, 7))[slot]
        assert len(blocks) == count
        if slot == 0:
            assert (blocks[1].first, blocks[1].last) == (BROADCAST, BROADCAST)
        assert part.states[2].state.entries == 0


def take_part(tmp_path: Path, tokens: list[bytes]) -> Any:
    """A snapshot by a real process, of a copy that is at batch 3 after the process has opened it."""
    copy = WorkingCopy(str(tmp_path / "copy"), LIMIT)
    copy.rebuild(({b"\x00\x01\x00\x00a": b"1", b"\x00\x01\x00\x00b": b"1"},), 1, b"one")
    snapshot = SnapshotHandoff(SavepointRequest("id", str(tmp_path / "saved")), copy.file, LIMIT)
    assert snapshot._writer is not None
    meta = SlotMetadata(tables=[StateTable(1, "op", "count", "value", "int")])
    above: dict[bytes, bytes | None] = {b"\x00\x01\x00\x00b": b"2", b"\x00\x01\x00\x00c": b"2"}
    part = snapshot.hand_over(PLACE, meta, above, tokens, str(tmp_path))
    copy.apply(CommittedDelta({b"\x00\x01\x00\x00c": b"3"}, 2, b"two", b"one"))
    return part


def test_a_process_writes_a_part_while_the_copy_changes(tmp_path: Path) -> None:
    part = take_part(tmp_path, [b"one"])
    assert part.error == ""
    os.waitpid(part.pid, 0)
    note = msgspec.json.decode((tmp_path / "saved" / f"{part.name}.json").read_bytes(), type=SavepointPart)
    assert [flat for _, flat in blocks_of(tmp_path / "saved", note)] == [
        [b"\x00\x00a", b"1", b"\x00\x00b", b"2", b"\x00\x00c", b"2"]
    ]


def test_a_copy_that_has_changed_is_refused(tmp_path: Path) -> None:
    part = take_part(tmp_path, [b"zero"])
    assert "was changed" in part.error
    os.waitpid(part.pid, 0)
    assert not (tmp_path / "saved").exists()


def test_a_writer_whose_batch_fails_leaves_no_file(tmp_path: Path) -> None:
    copy = WorkingCopy(str(tmp_path / "copy"), LIMIT)
    copy.rebuild(({b"\x00\x01\x00\x00a": b"1"},), 1, b"one")
    snapshot = SnapshotHandoff(SavepointRequest("id", str(tmp_path / "saved")), copy.file, LIMIT)
    process = snapshot._writer
    assert process is not None
    snapshot.close()
    assert process.wait(180) == 0
    assert not (tmp_path / "saved").exists()


def test_a_writer_that_cannot_start_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*args: Any, **kwargs: Any) -> None:
        raise OSError("no more processes")

    monkeypatch.setattr(subprocess, "Popen", fails)
    snapshot = SnapshotHandoff(SavepointRequest("id", str(tmp_path)), "nowhere", LIMIT)
    assert "no more processes" in snapshot.hand_over(PLACE, SlotMetadata(), {}, [], "").error


def test_the_failure_of_a_writer_is_reported_to_the_driver(tmp_path: Path) -> None:
    (tmp_path / "saved").write_text("no folder")
    part = take_part(tmp_path, [b"one"])
    assert part.error == ""
    assert os.waitpid(part.pid, 0)[1] != 0
    assert "Not a directory" in (tmp_path / f"failed-{part.name}").read_text()


def test_messages_between_worker_and_writer() -> None:
    stream = io.BytesIO()
    send(stream, savepoint_writer.WriteAnswer("why"))
    stream.seek(0)
    assert msgspec.msgpack.decode(receive(stream) or b"", type=savepoint_writer.WriteAnswer).error == "why"
    assert receive(stream) is None
