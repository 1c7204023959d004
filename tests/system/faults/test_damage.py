"""A checkpoint is damaged while its job does not run. The resumed job goes back to the last intact batch and ends correctly."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.system.faults.disturbed import DisturbedJob

pytestmark = pytest.mark.spark


@pytest.fixture
def killed(tmp_path: Path) -> Iterator[DisturbedJob]:
    """A job that was killed after some batches."""
    job = DisturbedJob(tmp_path)
    try:
        job.start()
        job.wait_for_batches(8)
        job.kill()
        yield job
    finally:
        job.kill()


def spark_folder(job: DisturbedJob) -> Path:
    return Path(job.checkpoint, "spark")


def corrupt(file: Path) -> None:
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 0xFF
    file.write_bytes(data)


def resume(job: DisturbedJob) -> str:
    """Resumes the job until its end. Returns its output."""
    job.start(resume=True)
    job.check_result()
    assert job.process is not None
    return job.process.text()


def test_truncated_and_corrupted_state(killed: DisturbedJob) -> None:
    """One file is too short, which is noticed immediately. Another one has a wrong byte, which is noticed when Spark reads it."""
    spark, last = spark_folder(killed), killed.batches() - 1
    os.truncate(spark / "state" / "0" / "1" / f"{last}.changelog", 100)
    corrupt(spark / "state" / "0" / "0" / f"{last - 2}.changelog")
    output = resume(killed)
    found = re.findall(r"last intact state is as of batch (\d+)", output)
    assert [int(n) for n in found] == [last - 2, last - 4], output
    assert "no data is lost or duplicated" in output
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
        corrupt(file)


def lose_metadata(spark: Path, last: int) -> None:
    (spark / "metadata").write_bytes(b"{")


@pytest.mark.long
@pytest.mark.parametrize("damage", [cut_commit, lose_commit, cut_old_offsets, lose_snapshots, lose_metadata])
def test_damage_that_is_repaired_without_loss(killed: DisturbedJob, damage: Callable[[Path, int], None]) -> None:
    damage(spark_folder(killed), killed.batches() - 1)
    output = resume(killed)
    assert "a second time" not in output
    if damage is not lose_commit:  # as if the job had been killed before the commit
        assert "was damaged" in output


@pytest.mark.long
def test_lost_offsets_of_a_batch(tmp_path: Path) -> None:
    """The sink has committed the batch. Its lines are written again, with a message. No line is missing."""
    job = DisturbedJob(tmp_path)
    try:
        job.start()
        job.wait_for_batches(8)
        job.kill()
        spark = spark_folder(job)
        last = max(int(f.name) for f in (spark / "offsets").iterdir() if f.name.isdecimal())
        (spark / "offsets" / str(last)).write_bytes(b"")
        job.start(resume=True)
        assert job.process is not None
        assert job.process.process.wait(300) == 0, job.process.text()[-3000:]
        assert f"The input of batch {last} is no longer known" in job.process.text()
        job.check_no_line_is_missing()
    finally:
        job.kill()


@pytest.mark.long
def test_a_checkpoint_without_intact_state_is_refused(killed: DisturbedJob) -> None:
    spark = spark_folder(killed)
    for file in [*spark.glob("state/0/0/*.changelog"), *spark.glob("offsets/0"), *spark.glob("commits/0")]:
        file.unlink()
    for file in spark.glob("state/0/0/*.zip"):
        file.unlink()
    killed.start(resume=True)
    assert killed.process is not None
    assert killed.process.process.wait(300) == 1
    assert "FAILED [CHECKPOINT_DAMAGED]" in killed.process.text()
