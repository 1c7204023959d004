"""What is read beside a job is the state of its last committed batch, whatever the working copy has taken of it; or nothing."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.runtime.state.backend import Table
from penstock.runtime.store import Changes
from penstock.spark import recent
from penstock.spark.local_state import LocalSlot, NotLocal, local_slot
from tests.spark.test_statelog import LIMIT, Slot, changes

fates = st.sampled_from(["ok", "ok", "never settles", "fails"])
TABLES = [Table(1, "counts", "count", "value", "pickle")]


class Job:
    """One slot of a job, with the commit log that Spark would write."""

    def __init__(self, folder: Path) -> None:
        self.slot = Slot(folder / "copies")
        self.checkpoint = folder / "checkpoint"
        self.copies = folder / "copies"
        self.batches = 0
        (self.checkpoint / "spark" / "commits").mkdir(parents=True)

    def batch(self, changed: Changes, fate: str = "ok") -> None:
        self.slot.batch(changed, machine="1-0", fails=fate == "fails", settles=fate != "never settles")
        copy = self.slot.copies["1-0"]
        copy.close()  # who looks is another process, and LMDB opens a file once in each
        copy.keep_tables(TABLES)
        if fate != "fails":
            (self.checkpoint / "spark" / "commits" / str(self.batches)).touch()
            self.batches += 1

    def read(self) -> LocalSlot:
        return local_slot(str(self.copies), str(self.checkpoint), 1, 0, LIMIT)


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
def test_what_is_seen_is_what_was_committed(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[Changes, str]], held_back: int
) -> None:
    job = Job(tmp_path_factory.mktemp("job"))
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(recent, "_BATCHES", held_back)
        failed = False
        for changed, fate in steps:
            job.batch(changed, fate)
            failed = failed or fate == "fails"
            try:
                assert seen(job) == job.slot.expected
            except NotLocal:
                assert failed or job.batches == 0, "without a failed attempt there is no doubt"


def test_a_batch_that_is_not_committed_is_not_seen(tmp_path: Path) -> None:
    job = Job(tmp_path)
    job.batch({b"\x00\x01a": b"1"})
    job.batch({b"\x00\x01a": b"2"}, "fails")
    assert seen(job) == {b"\x00\x01a": b"1"}


def test_what_a_checkpoint_has_lost_is_not_shown(tmp_path: Path) -> None:
    job = Job(tmp_path)
    for number in range(20):  # so that the copy has taken some of them
        job.batch({b"\x00\x01a": b"%d" % number})
    for number in range(2, 20):
        (job.checkpoint / "spark" / "commits" / str(number)).unlink()
    with pytest.raises(NotLocal, match="lost"):
        job.read()


@pytest.mark.parametrize("missing", ["tables", "commits", "copy"])
def test_without_a_part_of_it_nothing_is_guessed(tmp_path: Path, missing: str) -> None:
    job = Job(tmp_path)
    job.batch({b"\x00\x01a": b"1"})
    if missing == "tables":
        (job.copies / "1-0" / "tables").unlink()
    elif missing == "commits":
        (job.checkpoint / "spark" / "commits" / "0").unlink()
    else:
        job.slot.lose_disk("1-0")
    with pytest.raises(NotLocal):
        job.read()
