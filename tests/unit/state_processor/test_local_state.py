"""Local state of a running job: the state of its last committed batch, or an error."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.runtime.state.store import Changes
from penstock.runtime.state.tables import StateTable
from penstock.spark.state import uncompacted_deltas as recent
from penstock.spark.state.local_state import LocalSlot, LocalStateUnavailable, open_local_slot
from tests.unit.spark.state.test_state_log import LIMIT, Slot, changes

fates = st.sampled_from(["ok", "ok", "copy not updated", "fails"])
TABLES = [StateTable(1, "counts", "count", "value", "pickle")]


class Job:
    """One slot of a job, with the commit log that Spark would write."""

    def __init__(self, folder: Path) -> None:
        self.slot = Slot(folder / "copies")
        self.checkpoint = folder / "checkpoint"
        self.copies = folder / "copies"
        self.batches = 0
        (self.checkpoint / "spark" / "commits").mkdir(parents=True)

    def batch(self, changed: Changes, fate: str = "ok") -> None:
        self.slot.batch(changed, machine="1-0", fails=fate == "fails", updates_copy=fate != "copy not updated")
        copy = self.slot.copies["1-0"]
        copy.close()  # another process reads it, and LMDB opens a file once per process
        copy.write_tables(TABLES)
        if fate != "fails":
            (self.checkpoint / "spark" / "commits" / str(self.batches)).touch()
            self.batches += 1

    def read(self) -> LocalSlot:
        return open_local_slot(str(self.copies), str(self.checkpoint), 1, 0, LIMIT)


def seen(job: Job) -> dict[bytes, bytes]:
    found = job.read()
    try:
        assert found.batch == job.batches - 1
        assert found.tables == TABLES
        return dict(found.view.scan(b"", b"\xff" * 1024))
    finally:
        found.close()


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(changes, fates), max_size=12), st.sampled_from([1, 3, 16]))
def test_the_committed_state_is_visible(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[Changes, str]], held_back: int
) -> None:
    job = Job(tmp_path_factory.mktemp("job"))
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(recent, "_MAX_BATCHES", held_back)
        failed = False
        for changed, fate in steps:
            job.batch(changed, fate)
            failed = failed or fate == "fails"
            try:
                assert seen(job) == job.slot.expected
            except LocalStateUnavailable:
                assert failed or job.batches == 0, "without a failed attempt there is no doubt"


def test_an_uncommitted_batch_is_not_visible(tmp_path: Path) -> None:
    job = Job(tmp_path)
    job.batch({b"\x00\x01a": b"1"})
    job.batch({b"\x00\x01a": b"2"}, "fails")
    assert seen(job) == {b"\x00\x01a": b"1"}


def test_state_that_the_checkpoint_has_lost_is_not_visible(tmp_path: Path) -> None:
    job = Job(tmp_path)
    for number in range(20):  # so that the copy has taken some of them
        job.batch({b"\x00\x01a": b"%d" % number})
    for number in range(2, 20):
        (job.checkpoint / "spark" / "commits" / str(number)).unlink()
    with pytest.raises(LocalStateUnavailable, match="lost"):
        job.read()


@pytest.mark.parametrize("missing", ["tables", "commits", "copy"])
def test_incomplete_local_state_is_refused(tmp_path: Path, missing: str) -> None:
    job = Job(tmp_path)
    job.batch({b"\x00\x01a": b"1"})
    if missing == "tables":
        (job.copies / "1-0" / "tables").unlink()
    elif missing == "commits":
        (job.checkpoint / "spark" / "commits" / "0").unlink()
    else:
        job.slot.lose_disk("1-0")
    with pytest.raises(LocalStateUnavailable):
        job.read()
