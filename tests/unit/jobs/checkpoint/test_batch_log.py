"""The log of batches: what is read back after any end of the process, and after damage."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import msgspec
import pytest

from penstock.engine.slots.rescale import SlotState
from penstock.engine.slots.slot_metadata import SlotMetadata
from penstock.errors import CheckpointError, JobError
from penstock.jobs.checkpoint.batch_log import FORMAT, START, BaseHeader, BatchInput, BatchLog, LoggedState
from penstock.jobs.checkpoint.record_file import RecordWriter, encode_record
from penstock.runtime.state.store import Changes, MemoryView

AT = (1, 0)


def batch_input(number: int) -> BatchInput:
    return BatchInput(number, 1000 + number, {"n": number}, f"[{number}]")


def write(log: BatchLog, number: int, changes: Changes) -> None:
    log.begin(batch_input(number))
    log.commit(number, [(AT, SlotMetadata(batch=number + 1), changes)])


def read(folder: Path) -> LoggedState:
    log = BatchLog(folder)
    try:
        return log.open()
    finally:
        log.close()


def views(state: LoggedState) -> list[tuple[tuple[int, int], SlotMetadata, MemoryView]]:
    found = []
    for at, slot in state.slots.items():
        view = MemoryView()
        view.entries.update(slot.entries)
        found.append((at, slot.meta, view))
    return found


@pytest.fixture
def log(tmp_path: Path) -> BatchLog:
    log = BatchLog(tmp_path)
    assert log.open() == LoggedState()
    log.begin(batch_input(START))
    write(log, 0, {b"a": b"1", b"b": b"1"})
    write(log, 1, {b"a": b"2", b"b": None})
    return log


def test_state_and_input_are_read_back(log: BatchLog, tmp_path: Path) -> None:
    log.close()
    state = read(tmp_path)
    assert state.next_batch == 2
    assert state.input == batch_input(1)
    assert state.unfinished is None
    assert state.slots == {AT: SlotState(SlotMetadata(batch=2), {b"a": b"2"})}


def test_a_batch_that_began_is_unfinished(log: BatchLog, tmp_path: Path) -> None:
    log.begin(batch_input(2))
    log.close()
    state = read(tmp_path)
    assert (state.next_batch, state.unfinished) == (2, batch_input(2))


def test_a_torn_record_is_ignored_at_every_position(log: BatchLog, tmp_path: Path) -> None:
    log.close()
    file = tmp_path / "local" / "log-000000000"
    complete = file.read_bytes()
    log.open()
    write(log, 2, {b"c": b"3"})
    log.close()
    torn = file.read_bytes()
    first_record = 8 + int.from_bytes(torn[len(complete) : len(complete) + 4], "little")
    for size in range(len(complete), len(torn)):
        file.write_bytes(torn[:size])
        assert read(tmp_path).next_batch == 2
        assert file.stat().st_size in (len(complete), len(complete) + first_record)


def test_a_disk_may_leave_zeros(log: BatchLog, tmp_path: Path) -> None:
    log.close()
    with open(tmp_path / "local" / "log-000000000", "ab") as file:
        file.write(bytes(5000))
    assert read(tmp_path).next_batch == 2


def test_damage_in_the_middle_names_the_file(log: BatchLog, tmp_path: Path) -> None:
    log.close()
    file = tmp_path / "local" / "log-000000000"
    contents = bytearray(file.read_bytes())
    contents[20] ^= 0xFF
    file.write_bytes(contents)
    with pytest.raises(CheckpointError, match=rf"CHECKPOINT_DAMAGED.*{file}"):
        read(tmp_path)


def test_a_base_replaces_the_log(log: BatchLog, tmp_path: Path) -> None:
    log.close()
    state = log.open()
    log.compact(2, state.input, views(state))
    write(log, 2, {b"c": b"3"})
    log.close()
    after = read(tmp_path)
    assert after.next_batch == 3
    assert after.slots[AT].entries == {b"a": b"2", b"c": b"3"}


@pytest.mark.parametrize("contents", [b"", b"garbage", None])
def test_a_damaged_base_is_computed_again_from_the_generation_before(
    log: BatchLog, tmp_path: Path, contents: bytes | None
) -> None:
    for number in (2, 3):
        log.close()
        state = log.open()
        log.compact(number, state.input, views(state))
        write(log, number, {f"{number}".encode(): b"x"})
    log.close()
    base = tmp_path / "local" / "base-000000002"
    base.write_bytes(base.read_bytes()[:-4] if contents is None else contents)
    state = read(tmp_path)
    assert state.next_batch == 4
    assert state.slots[AT].entries == {b"a": b"2", b"2": b"x", b"3": b"x"}


def test_only_the_last_two_generations_are_kept(log: BatchLog, tmp_path: Path) -> None:
    for number in range(2, 6):
        log.close()
        state = log.open()
        log.compact(number, state.input, views(state))
        write(log, number, {})
    log.close()
    names = sorted(file.name for file in (tmp_path / "local").iterdir())
    assert names == ["base-000000003", "base-000000004", "log-000000003", "log-000000004"]


def test_a_process_that_is_killed_while_it_writes_a_base_leaves_no_trace(log: BatchLog, tmp_path: Path) -> None:
    log.close()
    (tmp_path / "local" / ".base-000000001.99").write_bytes(b"half")
    assert read(tmp_path).next_batch == 2
    assert [file.name for file in (tmp_path / "local").iterdir()] == ["log-000000000"]


def test_a_base_without_all_its_entries_is_damaged(tmp_path: Path) -> None:
    (tmp_path / "local").mkdir()
    header = msgspec.msgpack.encode(BaseHeader(FORMAT, 3, None, [(1, 0, SlotMetadata())]))
    (tmp_path / "local" / "base-000000004").write_bytes(encode_record(header))
    with pytest.raises(CheckpointError, match="its end is missing"):
        read(tmp_path)


def test_a_base_of_a_later_version_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "local").mkdir()
    header = msgspec.msgpack.encode(BaseHeader(FORMAT + 1, 3, None, []))
    (tmp_path / "local" / "base-000000001").write_bytes(encode_record(header))
    with pytest.raises(CheckpointError, match="CHECKPOINT_VERSION"):
        read(tmp_path)


def test_the_log_is_compacted_when_it_is_larger_than_its_base(tmp_path: Path) -> None:
    log = BatchLog(tmp_path, min_log_bytes=1000)
    log.open()
    sizes = []
    for number in range(200):
        write(log, number, {f"{number % 50}".encode(): bytes(100)})
        if log.needs_compaction():
            state = read(tmp_path)
            log.compact(number + 1, state.input, views(state))
            sizes.append(number)
    log.close()
    assert 3 < len(sizes) < 40
    assert read(tmp_path).next_batch == 200


def test_an_error_names_the_file(tmp_path: Path) -> None:
    with pytest.raises(JobError, match=r"CHECKPOINT_STORAGE.*missing/log"):
        RecordWriter(tmp_path / "missing" / "log")


def test_a_full_disk_fails_the_batch_and_leaves_the_state(
    log: BatchLog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def write_half(descriptor: int, data: bytes) -> int:
        original(descriptor, data[:20])
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    original = os.write
    monkeypatch.setattr("os.write", write_half)
    with pytest.raises(JobError, match="No space left"):
        log.begin(batch_input(2))
    monkeypatch.undo()
    log.close()
    assert read(tmp_path).next_batch == 2
