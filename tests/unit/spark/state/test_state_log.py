"""The state log and the working copy without Spark. A dict replaces the state store of Spark, with its versions."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.errors import CheckpointError, StateError
from penstock.runtime.state.store import Changes
from penstock.spark.state import copy_size, uncompacted_deltas, working_copy
from penstock.spark.state.compaction import CompactionPolicy
from penstock.spark.state.state_format import read_header
from penstock.spark.state.state_log import StateLog
from penstock.spark.state.uncompacted_deltas import CommittedDelta, UncompactedDeltas
from penstock.spark.state.working_copy import StoredChanges, WorkingCopy
from tests.unit.spark.state.dict_store import DictStore

LIMIT = 1 << 30
EAGER = CompactionPolicy(fraction=0.5, least=200, ratio=2.0)


class CountingLog(StateLog):
    """Counts rebuilds of the working copy from the checkpoint."""

    rebuilds = 0

    def _rebuild(self) -> None:
        self.rebuilds += 1
        super()._rebuild()


class Slot:
    """A slot over many batches that commit or fail, on machines that may lose their disk."""

    def __init__(self, folder: Path, policy: CompactionPolicy = EAGER) -> None:
        self.folder = folder
        self.policy = policy
        self.committed: dict[str, bytes] = {}
        self.expected: dict[bytes, bytes] = {}
        self.copies: dict[str, WorkingCopy] = {}
        self.deltas: dict[tuple[str, int], UncompactedDeltas] = {}
        self.rebuilds = 0
        self.older: dict[str, bytes] = {}
        self.written: list[int] = []
        self.log_bytes = 0

    def batch(
        self, changes: Changes, machine: str = "a", fails: bool = False, updates_copy: bool = True, worker: int = 0
    ) -> dict[bytes, bytes]:
        """Runs a batch and returns the entries before its changes. Workers of a machine share the copy but not memory."""
        store = dict(self.committed)
        copy = self.copies.setdefault(machine, WorkingCopy(str(self.folder / machine), LIMIT))
        copy.uncompacted = self.deltas.setdefault((machine, worker), UncompactedDeltas())
        log = CountingLog(DictStore(store), copy, self.policy)
        view = log.begin()
        seen = dict(view.scan(b"", b"\xff" * 1024))
        committed = log.commit(dict(changes), b"")
        log.end()
        if updates_copy:
            log.update_copy()
        self.rebuilds += log.rebuilds
        after = {key: value for key, value in {**self.expected, **changes}.items() if value is not None}
        assert log.live_bytes == sum(len(key) + len(value) for key, value in after.items())
        if not fails:
            self.committed, self.expected = store, after
            self.written.append(log.written)
            self.log_bytes = committed.log_bytes
        return seen

    def lose_disk(self, machine: str) -> None:
        self.copies.pop(machine, None)
        self.deltas = {key: deltas for key, deltas in self.deltas.items() if key[0] != machine}
        shutil.rmtree(self.folder / machine, ignore_errors=True)


@pytest.fixture(autouse=True)
def write_every_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each batch is written into the working copy during the next one, unless a test changes it."""
    monkeypatch.setattr(uncompacted_deltas, "_MAX_BATCHES", 1)


keys = st.sampled_from([bytes([65 + i]) * n for i in range(6) for n in (1, 3, 479, 480, 481, 700)])
changes = st.dictionaries(keys, st.one_of(st.none(), st.binary(max_size=60)), max_size=12)
fates = ["ok", "ok", "ok", "ok", "copy not updated", "fails", "disk lost", "rolled back", "partly written"]
batches = st.lists(st.tuples(changes, st.sampled_from("ab"), st.integers(0, 1), st.sampled_from(fates)), max_size=20)


class KilledError(OSError):
    """Raised where a worker is killed while it writes."""


@settings(max_examples=150, deadline=None)
@given(story=batches, at_once=st.integers(1, 4), together=st.integers(1, 5), most=st.integers(3, 40))
def test_a_batch_sees_exactly_the_committed_entries_after_any_failures(
    tmp_path_factory: pytest.TempPathFactory,
    story: list[tuple[Changes, str, int, str]],
    at_once: int,
    together: int,
    most: int,
) -> None:
    slot = Slot(tmp_path_factory.mktemp("slot"))
    history = [(slot.committed, slot.expected)]
    write = WorkingCopy._write
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(working_copy, "_TRANSACTION_SIZE", at_once)
        patch.setattr(uncompacted_deltas, "_MAX_BATCHES", together)
        patch.setattr(uncompacted_deltas, "_MAX_ENTRIES", most)
        for change, machine, worker, fate in story:
            if fate == "disk lost":
                slot.lose_disk(machine)
            if fate == "rolled back":
                slot.committed, slot.expected = history[len(history) // 2]
                slot.expected = dict(slot.expected)
                del history[len(history) // 2 + 1 :]
            left = iter(range(2)) if fate == "partly written" else None

            def some(self: WorkingCopy, txn: Any, part: StoredChanges, left: Any = left) -> int:
                if left is not None and next(left, None) is None:
                    raise KilledError
                return write(self, txn, part)

            patch.setattr(WorkingCopy, "_write", some)
            expected = dict(slot.expected)
            try:
                seen = slot.batch(change, machine, fate == "fails", fate != "copy not updated", worker)
            except StateError:  # the batch itself had to write and was killed
                assert fate == "partly written"
                continue
            assert seen == expected
            slot.copies[machine].wait_until_applied()
            history.append((slot.committed, dict(slot.expected)))
        patch.setattr(WorkingCopy, "_write", write)
        assert slot.batch({}) == slot.expected


def test_the_size_of_the_state_does_not_grow_with_the_log(tmp_path: Path) -> None:
    slot = Slot(tmp_path, CompactionPolicy())
    for number in range(60):
        slot.batch({b"total": b"%04d" % number})  # asserts the exact size of the state
    assert slot.log_bytes > 60 * 8  # the log contains every batch


def test_the_size_of_a_state_with_many_changes_is_estimated_and_then_counted(tmp_path: Path) -> None:
    store, copy = DictStore({}), WorkingCopy(str(tmp_path / "copy"), LIMIT)
    sizes: list[int] = []
    for number in range(40):
        log = StateLog(store, copy, CompactionPolicy())
        log.begin()
        # Half of the entries are always the same, the others replace those of the batch before.
        changes: Changes = {b"k%06d" % i: b"v" * 20 for i in range(5_000)}
        changes |= {b"n%06d-%03d" % (i, number - 1): None for i in range(5_000 if number else 0)}
        changes |= {b"n%06d-%03d" % (i, number): b"v" * (i % 40) for i in range(5_000)}
        log.commit(changes, b"")
        log.end()
        log.update_copy()
        copy.wait_until_applied()
        sizes.append(log.live_bytes)
    live = 5_000 * (7 + 20) + sum(11 + i % 40 for i in range(5_000))
    assert max(abs(size - live) for size in sizes) < live / 2  # at most 16 batches are estimated
    copy.close()


def test_the_entries_of_a_copy_are_counted_again_after_many_estimates(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(copy_size, "_SAMPLE", 5)
    copy = WorkingCopy(str(tmp_path / "copy"), LIMIT)
    copy.rebuild((), 0, b"0")
    sizes: list[tuple[int, int]] = []
    for number in range(1, 60):
        changes: Changes = {b"%d" % i: b"v" * (i * number % 97) for i in range(100)}
        copy.apply(CommittedDelta(changes, number, b"%d" % number, b"%d" % (number - 1)))
        view = copy.view()
        exact = sum(len(key) + len(value) for key, value in view.scan(b"", b"\xff" * 64))
        sizes.append((copy.live_bytes_of_view(view), exact))
        view.close()
    assert any(counted != exact for counted, exact in sizes)
    assert sizes[21][0] == sizes[21][1]
    assert sizes[42][0] == sizes[42][1]
    copy.close()


def test_a_machine_that_ran_the_last_batch_does_not_rebuild_its_copy(tmp_path: Path) -> None:
    slot = Slot(tmp_path)
    for number in range(30):
        slot.batch({b"k%d" % (number % 7): b"v" * 50})
    assert slot.rebuilds == 0


def test_a_machine_that_is_behind_reads_only_the_missing_deltas(tmp_path: Path) -> None:
    slot = Slot(tmp_path, CompactionPolicy(least=1 << 20))
    slot.batch({b"a": b"1"}, "a")
    slot.batch({b"b": b"2"}, "b")  # no copy yet, so it is built from the log
    slot.batch({b"c": b"3"}, "b")
    assert slot.batch({}, "a") == {b"a": b"1", b"b": b"2", b"c": b"3"}
    assert slot.rebuilds == 1


def test_bytes_written_depend_on_the_changes_not_on_the_size_of_the_state(tmp_path: Path) -> None:
    slot = Slot(tmp_path, CompactionPolicy(fraction=0.5, least=100_000, ratio=2.0))
    for start in range(0, 20_000, 5_000):
        slot.batch({b"key-%08d" % i: b"x" * 50 for i in range(start, start + 5_000)})
    size = sum(map(len, slot.committed.values()))
    slot.written.clear()
    for turn in range(60):
        slot.batch({b"key-%08d" % ((turn * 7919 + i * 37) % 20_000): b"y" * 50 for i in range(200)})
    changed = 200 * 70
    assert size > 50 * changed
    # A chunk of the base has at most a megabyte. On average a batch writes its changes, and twice as much while it compacts.
    assert sum(slot.written) / len(slot.written) < 4 * changed + size / 10


def test_the_log_is_limited_by_the_size_of_the_base(tmp_path: Path) -> None:
    slot = Slot(tmp_path, CompactionPolicy(fraction=0.5, least=1_000, ratio=2.0))
    for turn in range(400):
        slot.batch({b"key-%04d" % ((turn * 13 + i) % 500): os.urandom(40) for i in range(10)})
    state = sum(len(k) + len(v) for k, v in slot.expected.items())
    assert sum(map(len, slot.committed.values())) < 5 * state


def test_many_small_deltas_are_compacted_too(tmp_path: Path) -> None:
    slot = Slot(tmp_path, CompactionPolicy(least=1 << 30, most_deltas=20))
    for turn in range(100):
        slot.batch({b"k": b"%d" % turn})
    assert len(slot.committed) < 60
    slot.lose_disk("a")
    assert slot.batch({}) == {b"k": b"99"}


def test_a_missing_entry_raises_an_error(tmp_path: Path) -> None:
    slot = Slot(tmp_path)
    slot.batch({b"a": b"1"})
    slot.committed.pop("d/1/0")
    slot.lose_disk("a")
    with pytest.raises(CheckpointError, match="STATE_MISSING"):
        slot.batch({})


def test_a_copy_with_newer_state_is_not_used(tmp_path: Path) -> None:
    """A job that is rolled back to an older checkpoint must not use a copy with newer state."""
    slot = Slot(tmp_path)
    slot.batch({b"a": b"1"})
    older = dict(slot.committed)
    slot.batch({b"a": b"2"})
    slot.batch({})
    slot.committed, slot.expected = older, {b"a": b"1"}
    assert slot.batch({b"a": b"3"}) == {b"a": b"1"}
    assert slot.batch({}) == {b"a": b"3"}


def test_a_copy_that_is_changed_before_the_view_is_opened_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The worker of the lost batch may still write it into the copy."""
    slot = Slot(tmp_path)
    slot.batch({b"a": b"1"})
    older = dict(slot.committed)
    slot.batch({b"a": b"2"})
    slot.copies["a"].wait_until_applied()
    assert slot.copies["a"].position().seq == 1
    before, after = read_header(older["h"]).token, read_header(slot.committed["h"]).token
    late = [CommittedDelta({b"a": b"2"}, 2, after, before)]
    view = WorkingCopy.view

    def view_after_the_late_write(self: WorkingCopy) -> Any:
        while late:
            self.apply(late.pop())
        return view(self)

    monkeypatch.setattr(WorkingCopy, "view", view_after_the_late_write)
    slot.committed, slot.expected = older, {b"a": b"1"}
    assert slot.batch({}) == {b"a": b"1"}
    assert slot.rebuilds == 1


def test_a_copy_from_before_a_reboot_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    slot = Slot(tmp_path)
    slot.batch({b"a": b"1"})
    slot.batch({})
    slot.copies["a"].wait_until_applied()
    monkeypatch.setattr("penstock.spark.state.working_copy.boot_id", lambda: b"another boot")
    assert slot.batch({}) == {b"a": b"1"}
    assert slot.rebuilds == 1


def test_an_interrupted_update_of_a_copy_is_continued(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    slot = interrupted_slot(tmp_path, monkeypatch)
    assert slot.copies["a"].position().partial
    assert slot.batch({}) == slot.expected  # the partly applied delta is on top of the copy
    slot.copies["a"].wait_until_applied()
    assert slot.copies["a"].position().seq == 3
    assert not slot.copies["a"].position().partial
    assert slot.batch({}) == slot.expected
    assert slot.rebuilds == 0


def test_a_copy_with_a_part_of_a_lost_batch_is_rebuilt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A job is rolled back, and its copy has some entries of the batch after the checkpoint."""
    slot = interrupted_slot(tmp_path, monkeypatch)
    slot.committed, slot.expected = slot.older, {b"%d" % i: b"old" for i in range(10)}
    assert slot.copies["a"].position().token == read_header(slot.committed["h"]).token
    assert slot.batch({}) == slot.expected
    assert slot.rebuilds == 1


def test_a_copy_with_a_part_of_merged_batches_is_rebuilt_if_the_last_of_them_is_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(uncompacted_deltas, "_MAX_BATCHES", 2)
    monkeypatch.setattr(working_copy, "_TRANSACTION_SIZE", 1)
    slot = Slot(tmp_path)
    slot.batch({b"a": b"0", b"b": b"0"})
    slot.older, older = dict(slot.committed), dict(slot.expected)
    slot.batch({b"a": b"1", b"b": b"1"})
    copy = slot.copies["a"]
    write = copy._write
    left = iter(range(1))

    def fail_at_the_second_part(txn: Any, part: StoredChanges) -> int:
        if next(left, None) is None:
            raise OSError
        return write(txn, part)

    with monkeypatch.context() as patch:  # only this copy: those of earlier tests may still write in the background
        patch.setattr(copy, "_write", fail_at_the_second_part)
        slot.batch({})
        copy.wait_until_applied()
    assert copy.position().partial
    slot.committed, slot.expected = slot.older, older
    assert slot.batch({}, worker=1) == older
    assert slot.rebuilds == 1


def interrupted_slot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Slot:
    """Returns a slot whose copy contains batch 1 and a part of batch 2. Batch 3 is committed too."""
    monkeypatch.setattr(working_copy, "_TRANSACTION_SIZE", 3)
    slot = Slot(tmp_path)
    slot.batch({b"%d" % i: b"old" for i in range(10)})
    slot.older = dict(slot.committed)
    slot.batch({b"%d" % i: b"new" for i in range(10)})
    slot.copies["a"].wait_until_applied()
    assert slot.copies["a"].position().seq == 1
    copy = slot.copies["a"]
    write = copy._write
    parts: list[StoredChanges] = []

    def fail_at_the_third_part(txn: Any, changes: StoredChanges) -> int:
        parts.append(changes)
        if len(parts) == 3:
            raise OSError
        return write(txn, changes)

    with monkeypatch.context() as patch:
        patch.setattr(copy, "_write", fail_at_the_third_part)
        slot.batch({})
        copy.wait_until_applied()
    assert len(parts[0].puts) == 3
    return slot


def test_a_full_working_copy_raises_an_error_that_names_the_option(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    slot = Slot(tmp_path)
    slot.copies["a"] = WorkingCopy(str(tmp_path / "a"), 1 << 17)
    monkeypatch.setattr(uncompacted_deltas, "_MAX_ENTRIES", 600)
    slot.batch({b"k%d" % i: b"v" * 1000 for i in range(500)})
    slot.batch({b"l%d" % i: b"v" for i in range(200)})  # the large delta does not fit into the copy
    slot.copies["a"].wait_until_applied()
    with pytest.raises(StateError, match=r"state\.local\.size-limit"):
        slot.batch({})


def test_a_key_deleted_beside_a_new_one_at_the_end_of_the_copy_is_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(uncompacted_deltas, "_MAX_BATCHES", 1)
    slot = Slot(tmp_path)
    batches: list[Changes] = [{b"a": b"0", b"b": b"0"}, {b"a": None, b"c": b"0", b"d": None}, {}, {}]
    for changes in batches:
        slot.batch(changes)  # compares the size
        slot.copies["a"].wait_until_applied()


def test_several_batches_are_written_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Until there are enough of them, they are read from memory."""
    monkeypatch.setattr(uncompacted_deltas, "_MAX_BATCHES", 4)
    slot = Slot(tmp_path, CompactionPolicy(least=1 << 20))
    positions = []
    for number in range(10):
        assert slot.batch({b"%d" % number: b"1"}) == {b"%d" % n: b"1" for n in range(number)}
        slot.copies["a"].wait_until_applied()
        positions.append(slot.copies["a"].position().seq)
    assert positions == [0, 0, 0, 0, 4, 4, 4, 4, 8, 8]


def test_a_worker_that_is_new_to_a_slot_reads_pending_deltas_from_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(uncompacted_deltas, "_MAX_BATCHES", 100)
    slot = Slot(tmp_path)
    for number in range(12):
        slot.batch({b"%d" % number: b"v" * 60}, worker=number % 2)
    assert slot.batch({}, worker=2) == slot.expected
    assert slot.rebuilds == 0


def test_the_last_delta_is_read_from_memory_and_written_after_the_batch(tmp_path: Path) -> None:
    slot = Slot(tmp_path)
    slot.batch({b"a": b"1"})
    slot.batch({b"a": b"2"}, updates_copy=False)
    assert slot.copies["a"].position().seq == 0
    assert slot.batch({b"b": b"1"}) == {b"a": b"2"}
    slot.copies["a"].wait_until_applied()
    assert slot.copies["a"].position().seq == 2


def test_a_late_update_of_the_copy_does_not_disturb_later_batches(tmp_path: Path) -> None:
    """The worker of a batch writes its delta when another process of the machine has run the next batches."""
    slot = Slot(tmp_path)
    slot.batch({b"a": b"1"})
    store = dict(slot.committed)
    late = StateLog(DictStore(store), slot.copies["a"], EAGER)
    late.begin()
    late.commit({b"a": b"2"}, b"")
    late.end()
    slot.committed, slot.expected = store, {b"a": b"2"}
    slot.batch({b"a": b"3"})
    slot.batch({b"b": b"1"})
    late.update_copy()
    assert slot.batch({}) == {b"a": b"3", b"b": b"1"}
    assert slot.rebuilds == 0


def test_a_large_delta_is_written_before_its_batch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(uncompacted_deltas, "_MAX_ENTRIES", 3)
    slot = Slot(tmp_path)
    slot.batch({b"%d" % i: b"1" for i in range(4)})
    assert slot.batch({}, updates_copy=False) == slot.expected
    assert slot.copies["a"].position().seq == 1


_LOCK_HOLDER = """
import lmdb, select, sys
with lmdb.open(sys.argv[1], max_dbs=2).begin(write=True):
    print("held", flush=True)
    select.select([sys.stdin], [], [], 60)
"""


def test_opening_a_copy_does_not_block_other_threads(tmp_path: Path) -> None:
    """Otherwise two workers that open each other's copies while they write to their own wait forever."""
    copy = WorkingCopy(str(tmp_path), 1 << 24)
    copy.rebuild([{b"a": b"1"}], 7, b"token")
    file = copy.folder / (tmp_path / "current").read_text()
    copy.close()
    turns = 0

    def write() -> None:
        """Ends the other process, and with it the lock, after a few turns."""
        nonlocal turns
        while turns < 5:
            time.sleep(0.01)
            turns += 1
        assert other.stdin is not None
        other.stdin.write("end\n")
        other.stdin.flush()

    command = [sys.executable, "-c", _LOCK_HOLDER, str(file)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "held\n"
        writer = threading.Thread(target=write)
        writer.start()
        assert copy.position().seq == 7
        assert turns == 5
        writer.join()
    copy.close()
