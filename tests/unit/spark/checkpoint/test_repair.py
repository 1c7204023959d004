"""Repair of a damaged checkpoint: rollback to the last intact batch, repeated batches, and the message."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.errors import CheckpointError
from penstock.spark.checkpoint import repair
from penstock.spark.checkpoint.checkpoint_files import find_fault, quarantine
from penstock.spark.checkpoint.repair import RepeatedBatches, repair_checkpoint
from tests.unit.spark.checkpoint.checkpoints import checkpoint, offsets_entry, write_with_checksums


def commits(spark: Path) -> list[int]:
    return sorted(int(f.name) for f in (spark / "commits").iterdir() if f.name.isdecimal())


def offsets(spark: Path) -> list[int]:
    return sorted(int(f.name) for f in (spark / "offsets").iterdir() if f.name.isdecimal())


def test_an_intact_checkpoint_is_not_changed(tmp_path: Path) -> None:
    checkpoint(tmp_path / "done", 5)
    checkpoint(tmp_path / "started", 5, started=6)
    for name in ("done", "started"):
        before = sorted(tmp_path.joinpath(name).rglob("*"))
        assert repair_checkpoint(str(tmp_path / name), deep=True) is None
        assert sorted(tmp_path.joinpath(name).rglob("*")) == before
    assert repair_checkpoint(str(tmp_path / "not started"), deep=True) is None


def truncate(file: Path) -> None:
    os.truncate(file, 700)


def garble(file: Path) -> None:
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    file.write_bytes(data)


def empty(file: Path) -> None:
    file.write_bytes(b"")


def remove(file: Path) -> None:
    file.unlink()


DAMAGES: list[Callable[[Path], None]] = [garble, remove, empty]


@pytest.mark.parametrize("damage", [truncate, garble, remove])
def test_a_damaged_changelog(tmp_path: Path, damage: Callable[[Path], None]) -> None:
    spark = checkpoint(tmp_path, 8, started=9)
    damage(spark / "state" / "0" / "1" / "6.changelog")  # of batch 5
    result = repair_checkpoint(str(tmp_path), deep=True)
    assert result is not None
    assert (result.last_good, result.repeated, result.unknown) == (4, [5, 6, 7, 8, 9], [])
    assert "state/0/1/6.changelog" in result.message
    assert "Batches 5 to 9 run again with the same input" in result.message
    assert commits(spark) == offsets(spark) == [0, 1, 2, 3, 4]
    left = {f.name for f in (spark / "state" / "0" / "0").glob("*.changelog")}
    assert left == {f"{n}.changelog" for n in range(1, 6)}, "newer state belongs to batches that were rolled back"
    assert repair_checkpoint(str(tmp_path), deep=True) is None


def test_batches_are_repeated_one_by_one_from_their_own_offsets(tmp_path: Path) -> None:
    spark = checkpoint(tmp_path, 4, started=5)
    (spark / "state" / "0" / "0" / "4.changelog").unlink()
    assert repair_checkpoint(str(tmp_path), deep=False) is not None
    repeats = RepeatedBatches(str(tmp_path))
    for number in (3, 4, 5):
        assert repeats.pending()
        repeats.prepare()
        repeats.prepare()  # as after a crash
        assert offsets(spark)[-1] == number
        assert (spark / "offsets" / str(number)).read_bytes() == offsets_entry(number)
        assert not (spark / "offsets" / f".{number}.crc").exists(), "checksums of another file"
        write_with_checksums(spark / "commits" / str(number), b"v1\n{}")
    assert not repeats.pending()


def test_two_rollbacks_in_a_row_repeat_all_batches(tmp_path: Path) -> None:
    """The second damage is found while batches are repeated because of the first one."""
    spark = checkpoint(tmp_path, 8)
    (spark / "state" / "0" / "0" / "7.changelog").unlink()
    garble(spark / "state" / "0" / "1" / "4.changelog")
    first = repair_checkpoint(str(tmp_path), deep=False)
    assert first is not None
    assert (first.last_good, first.repeated) == (5, [6, 7, 8])
    RepeatedBatches(str(tmp_path)).prepare()
    second = repair_checkpoint(str(tmp_path), deep=True)
    assert second is not None
    assert (second.last_good, second.repeated, second.unknown) == (2, [3, 4, 5, 6, 7, 8], [])
    stored = [(tmp_path / "penstock" / "repeat" / str(n)).read_bytes() for n in second.repeated]
    assert stored == [offsets_entry(n) for n in second.repeated]


def test_a_damaged_offsets_file_is_covered_by_the_next_one(tmp_path: Path) -> None:
    """The next batch reads the input of both batches. Sinks know its number."""
    spark = checkpoint(tmp_path, 5)
    garble(spark / "offsets" / "4")
    (spark / "state" / "0" / "0" / "5.changelog").unlink()
    result = repair_checkpoint(str(tmp_path), deep=True)
    assert result is not None
    assert (result.last_good, result.repeated, result.unknown) == (3, [4, 5], [])
    assert (tmp_path / "penstock" / "repeat" / "4").read_bytes() == offsets_entry(3), "it reads nothing"
    assert (tmp_path / "penstock" / "repeat" / "5").read_bytes() == offsets_entry(5)


@pytest.mark.parametrize("started", [None, 6])
def test_the_newest_offsets_file_is_partly_written(tmp_path: Path, started: int | None) -> None:
    spark = checkpoint(tmp_path, 5, started)
    last = offsets(spark)[-1]
    (spark / "offsets" / str(last)).write_bytes(b"v1\n{")
    result = repair_checkpoint(str(tmp_path), deep=False)
    assert result is not None
    assert (result.last_good, result.repeated, result.unknown) == (last - 1, [], [last])
    assert f"The input of batch {last} is no longer known" in result.message
    assert "a second time" in result.message
    assert (tmp_path / "penstock" / "repeat" / str(last)).read_bytes() == offsets_entry(last - 1)


def test_a_batch_with_an_empty_commit_file_runs_again(tmp_path: Path) -> None:
    spark = checkpoint(tmp_path, 5)
    (spark / "commits" / "5").write_bytes(b"")
    result = repair_checkpoint(str(tmp_path), deep=False)
    assert result is not None
    assert (result.last_good, result.repeated, result.unknown) == (4, [5], [])
    assert commits(spark) == [0, 1, 2, 3, 4]


def test_a_damaged_snapshot_that_is_not_needed_is_removed(tmp_path: Path) -> None:
    spark = checkpoint(tmp_path, 5, snapshots=(1, 4))
    garble(next((spark / "state" / "0" / "0" / "SSTs").glob("000004*")))
    assert repair_checkpoint(str(tmp_path), deep=False) is None, "only a deep check finds it"
    result = repair_checkpoint(str(tmp_path), deep=True)
    assert result is not None
    assert (result.last_good, result.repeated, result.unknown) == (5, [], [])
    assert "no data is lost" in result.message
    assert not (spark / "state" / "0" / "0" / "4.zip").exists()
    assert (spark / "state" / "0" / "1" / "4.zip").exists()
    assert commits(spark)[-1] == 5


def test_without_a_snapshot_all_batches_run_again(tmp_path: Path) -> None:
    spark = checkpoint(tmp_path, 3)
    garble(spark / "state" / "0" / "1" / "1.zip")
    result = repair_checkpoint(str(tmp_path), deep=True)
    assert result is not None
    assert (result.last_good, result.repeated) == (-1, [0, 1, 2, 3])


def test_a_damaged_query_id_is_replaced(tmp_path: Path) -> None:
    spark = checkpoint(tmp_path, 2)
    (spark / "metadata").write_text("")
    result = repair_checkpoint(str(tmp_path), deep=False)
    assert result is not None
    assert result.repeated == []
    assert '"id"' in (spark / "metadata").read_text()


def test_a_checkpoint_without_an_intact_batch_is_refused_and_not_changed(tmp_path: Path) -> None:
    spark = checkpoint(tmp_path, 6)
    for log in ("offsets", "commits"):
        for batch in (0, 1, 2):  # as Spark removes old entries
            (spark / log / str(batch)).unlink()
    (spark / "state" / "0" / "0" / "3.changelog").unlink()
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(CheckpointError, match=r"CHECKPOINT_DAMAGED.*3\.changelog is missing") as raised:
        repair_checkpoint(str(tmp_path), deep=True)
    assert "This one was not changed" in str(raised.value)
    assert sorted(tmp_path.rglob("*")) == before


def test_all_batches_run_again_if_the_first_one_is_still_in_the_log(tmp_path: Path) -> None:
    spark = checkpoint(tmp_path, 3)
    shutil.rmtree(spark / "state" / "0" / "0" / "SSTs")
    (spark / "state" / "0" / "0" / "1.changelog").unlink()
    result = repair_checkpoint(str(tmp_path), deep=True)
    assert result is not None
    assert (result.last_good, result.repeated) == (-1, [0, 1, 2, 3])
    assert "from before the first batch" in result.message
    assert commits(spark) == offsets(spark) == []


def outcome(root: Path) -> tuple[list[bytes], set[str]]:
    """The offsets files of all batches, including repeated ones, and the state files."""
    spark, repeats = root / "spark", RepeatedBatches(str(root))
    state = {str(f.relative_to(spark)) for f in (spark / "state").rglob("*") if f.suffix in (".zip", ".changelog")}
    while repeats.pending():
        repeats.prepare()
        write_with_checksums(spark / "commits" / str(commits(spark)[-1] + 1), b"v1\n{}")
    assert commits(spark) == offsets(spark)
    return [(spark / "offsets" / str(n)).read_bytes() for n in offsets(spark)], state


@pytest.mark.parametrize("unreadable", [False, True])
def test_a_repair_may_be_interrupted_at_any_point(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, unreadable: bool
) -> None:
    def damaged(name: str) -> Path:
        spark = checkpoint(tmp_path / name, 6, started=7, snapshots=(1, 5))
        (spark / "state" / "0" / "1" / "4.changelog").unlink()
        garble(spark / "state" / "0" / "1" / "5.zip")
        if unreadable:
            garble(spark / "offsets" / "7")
            (spark / "commits" / "6").write_bytes(b"")
        return tmp_path / name

    assert repair_checkpoint(str(damaged("complete")), deep=True) is not None
    expected = outcome(tmp_path / "complete")
    last = 6 if unreadable else 7
    assert expected[0] == [offsets_entry(min(n, last)) for n in range(8)]
    moves = len([f for f in (tmp_path / "complete" / "penstock" / "damaged").rglob("*") if not f.name.startswith(".")])
    for stop in range(moves):
        interrupted = damaged(f"interrupted at {stop}")
        left = stop

        def quarantine_or_stop(file: Path, root: Path, target: Path) -> None:
            nonlocal left
            if left == 0:
                raise KeyboardInterrupt
            left -= 1
            quarantine(file, root, target)

        with monkeypatch.context() as patch, contextlib.suppress(KeyboardInterrupt):
            patch.setattr(repair, "quarantine", quarantine_or_stop)
            repair_checkpoint(str(interrupted), deep=True)
        repair_checkpoint(str(interrupted), deep=True)
        assert outcome(interrupted) == expected, stop


def test_checksums_are_those_of_hadoop(tmp_path: Path) -> None:
    """Checksums of a file that Spark wrote."""
    file = tmp_path / "0"
    file.write_bytes(b'v1\n{"nextBatchWatermarkMs":0}')
    assert find_fault(file, deep=True) == "", "without checksums no fault can be found"
    (tmp_path / ".0.crc").write_bytes(b"crc\0\0\0\2\0" + b"\0\0\0\0")
    assert "other bytes" in find_fault(file, deep=True)
    assert find_fault(file, deep=False) == ""


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_any_damage_leaves_an_intact_checkpoint_and_uses_every_batch_number(data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as name:
        root = Path(name, "c")
        committed = data.draw(st.integers(1, 6))
        started = data.draw(st.sampled_from([committed, committed + 1]))
        spark = checkpoint(root, committed, started, snapshots=data.draw(st.sampled_from([(1,), (1, 3), ()])))
        files = sorted(f for f in spark.rglob("*") if f.is_file() and not f.name.startswith("."))
        for file in data.draw(st.lists(st.sampled_from(files), max_size=4, unique=True)):
            damage: Callable[[Path], None] = data.draw(st.sampled_from(DAMAGES))
            damage(file)
        try:
            result = repair_checkpoint(str(root), deep=True)
        except CheckpointError:
            return
        assert repair_checkpoint(str(root), deep=True) is None
        repeats = RepeatedBatches(str(root))
        while repeats.pending():
            repeats.prepare()
            write_with_checksums(spark / "commits" / str(offsets(spark)[-1]), b"v1\n{}")
        if result is not None and (result.repeated or result.unknown):
            used = [*result.repeated, *result.unknown]
            assert used == list(range(result.last_good + 1, commits(spark)[-1] + 1))
            assert commits(spark)[-1] == offsets(spark)[-1] >= committed or not offsets(spark)
