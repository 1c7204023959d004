"""A checkpoint is damaged while no job runs on it: the resumed job goes back to the last whole batch, says so, and ends right."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.faults.disturbed import DisturbedJob

pytestmark = pytest.mark.spark


@pytest.fixture
def killed(tmp_path: Path) -> Iterator[DisturbedJob]:
    """A job that was killed hard after some batches."""
    job = DisturbedJob(tmp_path)
    try:
        job.start()
        job.wait_for_batches(8)
        job.kill()
        yield job
    finally:
        job.kill()


def spark_of(job: DisturbedJob) -> Path:
    return Path(job.checkpoint, "spark")


def garble(file: Path) -> None:
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 0xFF
    file.write_bytes(data)


def go_on(job: DisturbedJob) -> str:
    """Resumes the job to its right end; what it said."""
    job.start(resume=True)
    job.ends_right()
    assert job.process is not None
    return job.process.text()


def test_state_that_is_cut_off_and_garbled(killed: DisturbedJob) -> None:
    """One file is too short, which is seen at once; another one has a wrong byte, which is seen when Spark reads it."""
    spark, last = spark_of(killed), killed.batches() - 1
    os.truncate(spark / "state" / "0" / "1" / f"{last}.changelog", 100)
    garble(spark / "state" / "0" / "0" / f"{last - 2}.changelog")
    told = go_on(killed)
    found = re.findall(r"last whole state is as of batch (\d+)", told)
    assert [int(n) for n in found] == [last - 2, last - 4], told
    assert "nothing of them is lost, and nothing comes twice" in told
    assert list(Path(killed.checkpoint, "penstock", "damaged").rglob(f"{last}.changelog"))


def cut_commit(spark: Path, last: int) -> None:
    (spark / "commits" / str(last)).write_bytes(b"")


def lose_commit(spark: Path, last: int) -> None:
    (spark / "commits" / str(last)).unlink()
    (spark / "commits" / f".{last}.crc").unlink()


def cut_old_offsets(spark: Path, last: int) -> None:
    (spark / "offsets" / str(last - 1)).write_bytes(b"v1")
    (spark / "state" / "0" / "0" / f"{last - 1}.changelog").unlink()


def lose_snapshots(spark: Path, last: int) -> None:
    for file in spark.glob("state/0/*/*.zip"):
        garble(file)


def lose_metadata(spark: Path, last: int) -> None:
    (spark / "metadata").write_bytes(b"{")


@pytest.mark.long
@pytest.mark.parametrize("harm", [cut_commit, lose_commit, cut_old_offsets, lose_snapshots, lose_metadata])
def test_what_can_be_put_right_without_loss(killed: DisturbedJob, harm: Callable[[Path, int], None]) -> None:
    harm(spark_of(killed), killed.batches() - 1)
    told = go_on(killed)
    assert "a second time" not in told
    if harm is not lose_commit:  # that is as if the job had been killed a moment before
        assert "was damaged" in told


@pytest.mark.long
def test_what_a_batch_read_is_lost(tmp_path: Path) -> None:
    """The sink had the batch: its lines come again, and that is said. No line is missing."""
    job = DisturbedJob(tmp_path)
    try:
        job.start()
        job.wait_for_batches(8)
        job.kill()
        spark = spark_of(job)
        last = max(int(f.name) for f in (spark / "offsets").iterdir() if f.name.isdecimal())
        (spark / "offsets" / str(last)).write_bytes(b"")
        job.start(resume=True)
        assert job.process is not None
        assert job.process.process.wait(300) == 0, job.process.text()[-3000:]
        assert f"What batch {last} read is not known any more" in job.process.text()
        job.has_all_lines()
    finally:
        job.kill()


@pytest.mark.long
def test_a_checkpoint_without_any_whole_state_is_refused(killed: DisturbedJob) -> None:
    spark = spark_of(killed)
    for file in [*spark.glob("state/0/0/*.changelog"), *spark.glob("offsets/0"), *spark.glob("commits/0")]:
        file.unlink()
    for file in spark.glob("state/0/0/*.zip"):
        file.unlink()
    killed.start(resume=True)
    assert killed.process is not None
    assert killed.process.process.wait(300) == 1
    assert "FAILED [CHECKPOINT_DAMAGED]" in killed.process.text()
