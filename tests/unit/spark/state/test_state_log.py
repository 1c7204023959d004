"""The durable log and the working copy, without Spark: a dict stands for the state store, with versions as Spark keeps them."""

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
from penstock.runtime.store import Changes
from penstock.spark import recent, working_copy
from penstock.spark.recent import Committed, Recent
from penstock.spark.state_reader import DictStore
from penstock.spark.statelog import FoldPolicy, StateLog, read_header
from penstock.spark.working_copy import WorkingCopy, remove_unused

LIMIT = 1 << 30
EAGER = FoldPolicy(fraction=0.5, least=200, ratio=2.0)


class Slot:
    """A slot's life: batches that commit or fail, on machines that come and go."""

    def __init__(self, folder: Path, policy: FoldPolicy = EAGER) -> None:
        self.folder = folder
        self.policy = policy
        self.committed: dict[str, bytes] = {}
        self.expected: dict[bytes, bytes] = {}
        self.copies: dict[str, WorkingCopy] = {}
        self.recents: dict[tuple[str, int], Recent] = {}
        self.rebuilt = 0
        self.older: dict[str, bytes] = {}
        self.written: list[int] = []

    def batch(
        self, changes: Changes, machine: str = "a", fails: bool = False, settles: bool = True, worker: int = 0
    ) -> dict[bytes, bytes]:
        """Runs a batch; gives what it saw before its own changes. Workers of a machine share its copy, not their memory."""
        store = dict(self.committed)
        copy = self.copies.setdefault(machine, WorkingCopy(str(self.folder / machine), LIMIT))
        copy.recent = self.recents.setdefault((machine, worker), Recent())
        log = StateLog(DictStore(store), copy, self.policy)
        view = log.begin()
        seen = dict(view.scan(b"", b"\xff" * 1024))
        log.commit(dict(changes), b"")
        log.end()
        if settles:
            log.settle()
        self.rebuilt += log.rebuilt
        if not fails:
            self.committed = store
            self.written.append(log.written)
            for key, value in changes.items():
                if value is None:
                    self.expected.pop(key, None)
                else:
                    self.expected[key] = value
        return seen

    def lose_disk(self, machine: str) -> None:
        self.copies.pop(machine, None)
        self.recents = {of: recent for of, recent in self.recents.items() if of[0] != machine}
        shutil.rmtree(self.folder / machine, ignore_errors=True)


@pytest.fixture(autouse=True)
def every_batch_is_written(monkeypatch: pytest.MonkeyPatch) -> None:
    """Into the working copy, by the batch after it; unless a test says otherwise."""
    monkeypatch.setattr(recent, "_BATCHES", 1)


keys = st.sampled_from([bytes([65 + i]) * n for i in range(6) for n in (1, 3, 479, 480, 481, 700)])
changes = st.dictionaries(keys, st.one_of(st.none(), st.binary(max_size=60)), max_size=12)
fates = ["ok", "ok", "ok", "ok", "never settles", "fails", "disk lost", "set back", "written in part"]
batches = st.lists(st.tuples(changes, st.sampled_from("ab"), st.integers(0, 1), st.sampled_from(fates)), max_size=20)


class DiesError(OSError):
    """What a worker meets that is killed while it writes."""


@settings(max_examples=150, deadline=None)
@given(story=batches, at_once=st.integers(1, 4), together=st.integers(1, 5), most=st.integers(3, 40))
def test_whatever_fails_or_is_lost_a_batch_sees_exactly_what_was_committed(
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
        patch.setattr(working_copy, "_AT_ONCE", at_once)
        patch.setattr(recent, "_BATCHES", together)
        patch.setattr(recent, "_TOO_MANY", most)
        for change, machine, worker, fate in story:
            if fate == "disk lost":
                slot.lose_disk(machine)
            if fate == "set back":
                slot.committed, slot.expected = history[len(history) // 2]
                slot.expected = dict(slot.expected)
                del history[len(history) // 2 + 1 :]
            left = iter(range(2)) if fate == "written in part" else None

            def some(self: WorkingCopy, txn: Any, part: Changes, left: Any = left) -> None:
                if left is not None and next(left, None) is None:
                    raise DiesError
                write(self, txn, part)

            patch.setattr(WorkingCopy, "_write", some)
            expected = dict(slot.expected)
            try:
                seen = slot.batch(change, machine, fate == "fails", fate != "never settles", worker)
            except StateError:  # the batch itself had to write, and died
                assert fate == "written in part"
                continue
            assert seen == expected
            slot.copies[machine].settled()
            history.append((slot.committed, dict(slot.expected)))
        patch.setattr(WorkingCopy, "_write", write)
        assert slot.batch({}) == slot.expected


def test_a_machine_that_ran_the_last_batch_never_reads_the_whole_state_again(tmp_path: Path) -> None:
    slot = Slot(tmp_path)
    for number in range(30):
        slot.batch({b"k%d" % (number % 7): b"v" * 50})
    assert slot.rebuilt == 0


def test_a_machine_that_is_behind_reads_only_the_missing_deltas(tmp_path: Path) -> None:
    slot = Slot(tmp_path, FoldPolicy(least=1 << 20))
    slot.batch({b"a": b"1"}, "a")
    slot.batch({b"b": b"2"}, "b")  # no copy yet: built from the log
    slot.batch({b"c": b"3"}, "b")
    assert slot.batch({}, "a") == {b"a": b"1", b"b": b"2", b"c": b"3"}
    assert slot.rebuilt == 1


def test_bytes_written_follow_the_changes_not_the_size_of_the_state(tmp_path: Path) -> None:
    slot = Slot(tmp_path, FoldPolicy(fraction=0.5, least=100_000, ratio=2.0))
    for start in range(0, 20_000, 5_000):
        slot.batch({b"key-%08d" % i: b"x" * 50 for i in range(start, start + 5_000)})
    size = sum(map(len, slot.committed.values()))
    slot.written.clear()
    for turn in range(60):
        slot.batch({b"key-%08d" % ((turn * 7919 + i * 37) % 20_000): b"y" * 50 for i in range(200)})
    changed = 200 * 70
    assert size > 50 * changed
    # One base chunk is at most a megabyte; on average a batch writes its changes, and folds twice as much while folding.
    assert sum(slot.written) / len(slot.written) < 4 * changed + size / 10


def test_the_log_stays_in_proportion_to_the_base(tmp_path: Path) -> None:
    slot = Slot(tmp_path, FoldPolicy(fraction=0.5, least=1_000, ratio=2.0))
    for turn in range(400):
        slot.batch({b"key-%04d" % ((turn * 13 + i) % 500): os.urandom(40) for i in range(10)})
    state = sum(len(k) + len(v) for k, v in slot.expected.items())
    assert sum(map(len, slot.committed.values())) < 5 * state


def test_many_small_deltas_are_folded_too(tmp_path: Path) -> None:
    slot = Slot(tmp_path, FoldPolicy(least=1 << 30, most_deltas=20))
    for turn in range(100):
        slot.batch({b"k": b"%d" % turn})
    assert len(slot.committed) < 60
    slot.lose_disk("a")
    assert slot.batch({}) == {b"k": b"99"}


def test_a_damaged_checkpoint_is_named(tmp_path: Path) -> None:
    slot = Slot(tmp_path)
    slot.batch({b"a": b"1"})
    slot.committed.pop("d/1/0")
    slot.lose_disk("a")
    with pytest.raises(CheckpointError, match="STATE_MISSING"):
        slot.batch({})


def test_a_copy_that_ran_ahead_is_not_believed(tmp_path: Path) -> None:
    """A job set back to an older checkpoint finds a copy with newer state: it must not use it."""
    slot = Slot(tmp_path)
    slot.batch({b"a": b"1"})
    older = dict(slot.committed)
    slot.batch({b"a": b"2"})
    slot.batch({})
    slot.committed, slot.expected = older, {b"a": b"1"}
    assert slot.batch({b"a": b"3"}) == {b"a": b"1"}
    assert slot.batch({}) == {b"a": b"3"}


def test_a_copy_that_moves_on_before_it_is_seen_is_not_believed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same, when the worker of the batch that is gone still writes it."""
    slot = Slot(tmp_path)
    slot.batch({b"a": b"1"})
    older = dict(slot.committed)
    slot.batch({b"a": b"2"})
    slot.copies["a"].settled()
    assert slot.copies["a"].position().seq == 1
    before, after = read_header(older["h"]).token, read_header(slot.committed["h"]).token
    late = [Committed({b"a": b"2"}, 2, after, before)]
    view = WorkingCopy.view

    def view_a_moment_later(self: WorkingCopy) -> Any:
        while late:
            self.apply(late.pop())
        return view(self)

    monkeypatch.setattr(WorkingCopy, "view", view_a_moment_later)
    slot.committed, slot.expected = older, {b"a": b"1"}
    assert slot.batch({}) == {b"a": b"1"}
    assert slot.rebuilt == 1


def test_a_copy_of_before_a_reboot_is_not_believed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    slot = Slot(tmp_path)
    slot.batch({b"a": b"1"})
    slot.batch({})
    slot.copies["a"].settled()
    monkeypatch.setattr("penstock.spark.working_copy.boot_id", lambda: b"another boot")
    assert slot.batch({}) == {b"a": b"1"}
    assert slot.rebuilt == 1


def test_a_copy_whose_update_was_cut_short_goes_on_where_it_stands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    slot = cut_short(tmp_path, monkeypatch)
    assert slot.copies["a"].position().partial
    assert slot.batch({}) == slot.expected  # what was written in part lies under the same delta
    slot.copies["a"].settled()
    assert slot.copies["a"].position().seq == 3
    assert not slot.copies["a"].position().partial
    assert slot.batch({}) == slot.expected
    assert slot.rebuilt == 0


def test_a_copy_that_took_a_part_of_what_is_not_there_any_more_is_built_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A job set back to an older checkpoint finds a copy of that batch, with some entries of the next one."""
    slot = cut_short(tmp_path, monkeypatch)
    slot.committed, slot.expected = slot.older, {b"%d" % i: b"old" for i in range(10)}
    assert slot.copies["a"].position().token == read_header(slot.committed["h"]).token
    assert slot.batch({}) == slot.expected
    assert slot.rebuilt == 1


def test_a_copy_that_took_a_part_of_several_batches_is_built_anew_when_the_last_of_them_is_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recent, "_BATCHES", 2)
    monkeypatch.setattr(working_copy, "_AT_ONCE", 1)
    slot = Slot(tmp_path)
    slot.batch({b"a": b"0", b"b": b"0"})
    slot.older, older = dict(slot.committed), dict(slot.expected)
    slot.batch({b"a": b"1", b"b": b"1"})
    write = WorkingCopy._write
    left = iter(range(1))

    def dies_at_the_second_part(self: WorkingCopy, txn: Any, part: Changes) -> None:
        if next(left, None) is None:
            raise OSError
        write(self, txn, part)

    monkeypatch.setattr(WorkingCopy, "_write", dies_at_the_second_part)
    slot.batch({})
    slot.copies["a"].settled()
    assert slot.copies["a"].position().partial
    monkeypatch.setattr(WorkingCopy, "_write", write)
    slot.committed, slot.expected = slot.older, older
    assert slot.batch({}, worker=1) == older
    assert slot.rebuilt == 1


def cut_short(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Slot:
    """A copy that has taken batch 1, and a part of batch 2; batch 3 is committed too."""
    monkeypatch.setattr(working_copy, "_AT_ONCE", 3)
    slot = Slot(tmp_path)
    slot.batch({b"%d" % i: b"old" for i in range(10)})
    slot.older = dict(slot.committed)
    slot.batch({b"%d" % i: b"new" for i in range(10)})
    slot.copies["a"].settled()
    assert slot.copies["a"].position().seq == 1
    write = WorkingCopy._write
    parts: list[Changes] = []

    def dies_at_the_third_part(self: WorkingCopy, txn: Any, changes: Changes) -> None:
        parts.append(changes)
        if len(parts) == 3:
            raise OSError
        write(self, txn, changes)

    monkeypatch.setattr(WorkingCopy, "_write", dies_at_the_third_part)
    slot.batch({})
    slot.copies["a"].settled()
    assert len(parts[0]) == 3
    monkeypatch.setattr(WorkingCopy, "_write", write)
    return slot


def test_a_full_working_copy_is_an_error_that_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    slot = Slot(tmp_path)
    slot.copies["a"] = WorkingCopy(str(tmp_path / "a"), 1 << 17)
    monkeypatch.setattr(recent, "_TOO_MANY", 600)
    slot.batch({b"k%d" % i: b"v" * 1000 for i in range(500)})
    slot.batch({b"l%d" % i: b"v" for i in range(200)})  # the large delta lies over the copy, which cannot take it
    slot.copies["a"].settled()
    with pytest.raises(StateError, match=r"state\.local\.size-limit"):
        slot.batch({})


def test_batches_are_written_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Until there are enough of them they are read from memory."""
    monkeypatch.setattr(recent, "_BATCHES", 4)
    slot = Slot(tmp_path, FoldPolicy(least=1 << 20))
    positions = []
    for number in range(10):
        assert slot.batch({b"%d" % number: b"1"}) == {b"%d" % n: b"1" for n in range(number)}
        slot.copies["a"].settled()
        positions.append(slot.copies["a"].position().seq)
    assert positions == [0, 0, 0, 0, 4, 4, 4, 4, 8, 8]


def test_a_worker_that_is_new_to_a_slot_reads_what_the_copy_lacks_from_the_machine_s_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recent, "_BATCHES", 100)
    slot = Slot(tmp_path)
    for number in range(12):
        slot.batch({b"%d" % number: b"v" * 60}, worker=number % 2)
    assert slot.batch({}, worker=2) == slot.expected
    assert slot.rebuilt == 0


def test_the_last_delta_is_read_from_memory_and_written_after_the_batch(tmp_path: Path) -> None:
    slot = Slot(tmp_path)
    slot.batch({b"a": b"1"})
    slot.batch({b"a": b"2"}, settles=False)
    assert slot.copies["a"].position().seq == 0
    assert slot.batch({b"b": b"1"}) == {b"a": b"2"}
    slot.copies["a"].settled()
    assert slot.copies["a"].position().seq == 2


def test_a_worker_that_writes_late_does_not_disturb_the_one_that_went_on(tmp_path: Path) -> None:
    """The worker of the last batch still holds its delta when another process of the machine runs the next ones."""
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
    late.settle()
    assert slot.batch({}) == {b"a": b"3", b"b": b"1"}
    assert slot.rebuilt == 0


def test_a_large_delta_is_written_before_its_batch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recent, "_TOO_MANY", 3)
    slot = Slot(tmp_path)
    slot.batch({b"%d" % i: b"1" for i in range(4)})
    assert slot.batch({}, settles=False) == slot.expected
    assert slot.copies["a"].position().seq == 1


_HOLDS_THE_LOCK = """
import lmdb, sys, time
with lmdb.open(sys.argv[1], max_dbs=2).begin(write=True):
    print("held", flush=True)
    time.sleep(1)
"""


def test_a_worker_that_opens_a_copy_goes_on_writing_another_one(tmp_path: Path) -> None:
    """Two workers that opened each other's copies while they wrote to their own waited for each other for ever."""
    copy = WorkingCopy(str(tmp_path), 1 << 24)
    copy.rebuild([{b"a": b"1"}], 7, b"token")
    file = copy.folder / (tmp_path / "current").read_text()
    copy.close()
    turns = 0
    opened = threading.Event()

    def write() -> None:
        nonlocal turns
        while not opened.wait(0.01):
            turns += 1

    command = [sys.executable, "-c", _HOLDS_THE_LOCK, str(file)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "held\n"
        writer = threading.Thread(target=write)
        writer.start()
        assert copy.position().seq == 7
        opened.set()
        writer.join()
    assert turns > 5
    copy.close()


def test_copies_that_nobody_uses_are_removed(tmp_path: Path) -> None:
    for job, age in (("old", 200), ("new", 1)):
        copy = WorkingCopy(str(tmp_path / job / "1-0"), LIMIT)
        copy.rebuild((), 0, b"empty")
        copy.touch()
        (tmp_path / job / "1-0" / "used").write_text(str(time.time() - age * 3600))
    remove_unused(str(tmp_path), keep_hours=168)
    assert not (tmp_path / "old").exists()
    assert (tmp_path / "new").exists()
