"""A damaged checkpoint goes back to its last whole batch; what is run again, and what is not known any more, is told."""

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
from penstock.spark import mending
from penstock.spark.checkpoint_files import fault_of, put_aside
from penstock.spark.mending import Repeats, mend
from tests.spark.checkpoints import checkpoint, offsets_entry, with_sums


def commits(spark: Path) -> list[int]:
    return sorted(int(f.name) for f in (spark / "commits").iterdir() if f.name.isdecimal())


def offsets(spark: Path) -> list[int]:
    return sorted(int(f.name) for f in (spark / "offsets").iterdir() if f.name.isdecimal())


def test_a_whole_checkpoint_is_left_alone(tmp_path: Path) -> None:
    checkpoint(tmp_path / "done", 5)
    checkpoint(tmp_path / "begun", 5, begun=6)
    for name in ("done", "begun"):
        before = sorted(tmp_path.joinpath(name).rglob("*"))
        assert mend(str(tmp_path / name), deep=True) is None
        assert sorted(tmp_path.joinpath(name).rglob("*")) == before
    assert mend(str(tmp_path / "not begun"), deep=True) is None


def cut(file: Path) -> None:
    os.truncate(file, 700)


def garble(file: Path) -> None:
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    file.write_bytes(data)


def empty(file: Path) -> None:
    file.write_bytes(b"")


def lose(file: Path) -> None:
    file.unlink()


HARMS: list[Callable[[Path], None]] = [garble, lose, empty]


@pytest.mark.parametrize("harm", [cut, garble, lose])
def test_a_changelog_that_is_damaged(tmp_path: Path, harm: Callable[[Path], None]) -> None:
    spark = checkpoint(tmp_path, 8, begun=9)
    harm(spark / "state" / "0" / "1" / "6.changelog")  # of batch 5
    mended = mend(str(tmp_path), deep=True)
    assert mended is not None
    assert (mended.last_good, mended.repeated, mended.unknown) == (4, [5, 6, 7, 8, 9], [])
    assert "state/0/1/6.changelog" in mended.words
    assert "Batches 5 to 9 run again with the same input" in mended.words
    assert commits(spark) == offsets(spark) == [0, 1, 2, 3, 4]
    left = {f.name for f in (spark / "state" / "0" / "0").glob("*.changelog")}
    assert left == {f"{n}.changelog" for n in range(1, 6)}, "newer state is of another history"
    assert mend(str(tmp_path), deep=True) is None


def test_batches_are_repeated_one_by_one_from_their_own_entries(tmp_path: Path) -> None:
    spark = checkpoint(tmp_path, 4, begun=5)
    (spark / "state" / "0" / "0" / "4.changelog").unlink()
    assert mend(str(tmp_path), deep=False) is not None
    repeats = Repeats(str(tmp_path))
    for number in (3, 4, 5):
        assert repeats.pending()
        repeats.prepare()
        repeats.prepare()  # as after a crash
        assert offsets(spark)[-1] == number
        assert (spark / "offsets" / str(number)).read_bytes() == offsets_entry(number)
        assert not (spark / "offsets" / f".{number}.crc").exists(), "checksums of another file"
        with_sums(spark / "commits" / str(number), b"v1\n{}")
    assert not repeats.pending()


def test_going_back_twice_forgets_no_batch(tmp_path: Path) -> None:
    """The second damage is found while the batches are repeated that the first one had cost."""
    spark = checkpoint(tmp_path, 8)
    (spark / "state" / "0" / "0" / "7.changelog").unlink()
    garble(spark / "state" / "0" / "1" / "4.changelog")
    first = mend(str(tmp_path), deep=False)
    assert first is not None
    assert (first.last_good, first.repeated) == (5, [6, 7, 8])
    Repeats(str(tmp_path)).prepare()
    second = mend(str(tmp_path), deep=True)
    assert second is not None
    assert (second.last_good, second.repeated, second.unknown) == (2, [3, 4, 5, 6, 7, 8], [])
    kept = [(tmp_path / "penstock" / "repeat" / str(n)).read_bytes() for n in second.repeated]
    assert kept == [offsets_entry(n) for n in second.repeated]


def test_an_entry_in_the_middle_is_covered_by_the_next_one(tmp_path: Path) -> None:
    """The batch behind it reads what both had read; its number is known to the sinks."""
    spark = checkpoint(tmp_path, 5)
    garble(spark / "offsets" / "4")
    (spark / "state" / "0" / "0" / "5.changelog").unlink()
    mended = mend(str(tmp_path), deep=True)
    assert mended is not None
    assert (mended.last_good, mended.repeated, mended.unknown) == (3, [4, 5], [])
    assert (tmp_path / "penstock" / "repeat" / "4").read_bytes() == offsets_entry(3), "it reads nothing"
    assert (tmp_path / "penstock" / "repeat" / "5").read_bytes() == offsets_entry(5)


@pytest.mark.parametrize("begun", [None, 6])
def test_the_newest_entry_is_half_written(tmp_path: Path, begun: int | None) -> None:
    spark = checkpoint(tmp_path, 5, begun)
    last = offsets(spark)[-1]
    (spark / "offsets" / str(last)).write_bytes(b"v1\n{")
    mended = mend(str(tmp_path), deep=False)
    assert mended is not None
    assert (mended.last_good, mended.repeated, mended.unknown) == (last - 1, [], [last])
    assert f"What batch {last} read is not known any more" in mended.words
    assert "a second time" in mended.words
    assert (tmp_path / "penstock" / "repeat" / str(last)).read_bytes() == offsets_entry(last - 1)


def test_a_commit_that_is_empty_means_a_batch_that_runs_again(tmp_path: Path) -> None:
    spark = checkpoint(tmp_path, 5)
    (spark / "commits" / "5").write_bytes(b"")
    mended = mend(str(tmp_path), deep=False)
    assert mended is not None
    assert (mended.last_good, mended.repeated, mended.unknown) == (4, [5], [])
    assert commits(spark) == [0, 1, 2, 3, 4]


def test_a_damaged_snapshot_is_done_without(tmp_path: Path) -> None:
    spark = checkpoint(tmp_path, 5, snapshots=(1, 4))
    garble(next((spark / "state" / "0" / "0" / "SSTs").glob("000004*")))
    assert mend(str(tmp_path), deep=False) is None, "a close look is needed for that"
    mended = mend(str(tmp_path), deep=True)
    assert mended is not None
    assert (mended.last_good, mended.repeated, mended.unknown) == (5, [], [])
    assert "nothing is lost" in mended.words
    assert not (spark / "state" / "0" / "0" / "4.zip").exists()
    assert (spark / "state" / "0" / "1" / "4.zip").exists()
    assert commits(spark)[-1] == 5


def test_without_a_snapshot_all_batches_are_run_again(tmp_path: Path) -> None:
    spark = checkpoint(tmp_path, 3)
    garble(spark / "state" / "0" / "1" / "1.zip")
    mended = mend(str(tmp_path), deep=True)
    assert mended is not None
    assert (mended.last_good, mended.repeated) == (-1, [0, 1, 2, 3])


def test_the_name_of_the_query_is_made_anew(tmp_path: Path) -> None:
    spark = checkpoint(tmp_path, 2)
    (spark / "metadata").write_text("")
    mended = mend(str(tmp_path), deep=False)
    assert mended is not None
    assert mended.repeated == []
    assert '"id"' in (spark / "metadata").read_text()


def test_one_that_remembers_nothing_whole_is_refused_and_not_touched(tmp_path: Path) -> None:
    spark = checkpoint(tmp_path, 6)
    for log in ("offsets", "commits"):
        for batch in (0, 1, 2):  # Spark has forgotten them
            (spark / log / str(batch)).unlink()
    (spark / "state" / "0" / "0" / "3.changelog").unlink()
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(CheckpointError, match=r"CHECKPOINT_DAMAGED.*3\.changelog is missing") as raised:
        mend(str(tmp_path), deep=True)
    assert "nothing was changed" in str(raised.value)
    assert sorted(tmp_path.rglob("*")) == before


def test_all_of_it_may_be_run_again_while_the_first_batch_is_remembered(tmp_path: Path) -> None:
    spark = checkpoint(tmp_path, 3)
    shutil.rmtree(spark / "state" / "0" / "0" / "SSTs")
    (spark / "state" / "0" / "0" / "1.changelog").unlink()
    mended = mend(str(tmp_path), deep=True)
    assert mended is not None
    assert (mended.last_good, mended.repeated) == (-1, [0, 1, 2, 3])
    assert "from before the first batch" in mended.words
    assert commits(spark) == offsets(spark) == []


def outcome(root: Path) -> tuple[list[bytes], set[str]]:
    """What a mended checkpoint is: the entries of all batches, those that are repeated too, and the files of its state."""
    spark, repeats = root / "spark", Repeats(str(root))
    state = {str(f.relative_to(spark)) for f in (spark / "state").rglob("*") if f.suffix in (".zip", ".changelog")}
    while repeats.pending():
        repeats.prepare()
        with_sums(spark / "commits" / str(commits(spark)[-1] + 1), b"v1\n{}")
    assert commits(spark) == offsets(spark)
    return [(spark / "offsets" / str(n)).read_bytes() for n in offsets(spark)], state


@pytest.mark.parametrize("unreadable", [False, True])
def test_mending_may_be_broken_off_anywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, unreadable: bool) -> None:
    def damaged(name: str) -> Path:
        spark = checkpoint(tmp_path / name, 6, begun=7, snapshots=(1, 5))
        (spark / "state" / "0" / "1" / "4.changelog").unlink()
        garble(spark / "state" / "0" / "1" / "5.zip")
        if unreadable:
            garble(spark / "offsets" / "7")
            (spark / "commits" / "6").write_bytes(b"")
        return tmp_path / name

    assert mend(str(damaged("calm")), deep=True) is not None
    expected = outcome(tmp_path / "calm")
    last = 6 if unreadable else 7
    assert expected[0] == [offsets_entry(min(n, last)) for n in range(8)]
    moves = len([f for f in (tmp_path / "calm" / "penstock" / "damaged").rglob("*") if not f.name.startswith(".")])
    for stop in range(moves):
        root = damaged(f"broken off at {stop}")
        left = stop

        def put_or_stop(file: Path, of: Path, aside: Path) -> None:
            nonlocal left
            if left == 0:
                raise KeyboardInterrupt
            left -= 1
            put_aside(file, of, aside)

        with monkeypatch.context() as patch, contextlib.suppress(KeyboardInterrupt):
            patch.setattr(mending, "put_aside", put_or_stop)
            mend(str(root), deep=True)
        mend(str(root), deep=True)
        assert outcome(root) == expected, stop


def test_checksums_are_hadoops(tmp_path: Path) -> None:
    """Of a file that Spark wrote."""
    file = tmp_path / "0"
    file.write_bytes(b'v1\n{"nextBatchWatermarkMs":0}')
    assert fault_of(file, deep=True) == "", "without checksums nothing can be said"
    (tmp_path / ".0.crc").write_bytes(b"crc\0\0\0\2\0" + b"\0\0\0\0")
    assert "other bytes" in fault_of(file, deep=True)
    assert fault_of(file, deep=False) == ""


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_whatever_is_damaged_what_stays_is_whole_and_every_number_is_spent(data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as name:
        root = Path(name, "c")
        committed = data.draw(st.integers(1, 6))
        begun = data.draw(st.sampled_from([committed, committed + 1]))
        spark = checkpoint(root, committed, begun, snapshots=data.draw(st.sampled_from([(1,), (1, 3), ()])))
        files = sorted(f for f in spark.rglob("*") if f.is_file() and not f.name.startswith("."))
        for file in data.draw(st.lists(st.sampled_from(files), max_size=4, unique=True)):
            harm: Callable[[Path], None] = data.draw(st.sampled_from(HARMS))
            harm(file)
        try:
            mended = mend(str(root), deep=True)
        except CheckpointError:
            return
        assert mend(str(root), deep=True) is None
        repeats = Repeats(str(root))
        while repeats.pending():
            repeats.prepare()
            with_sums(spark / "commits" / str(offsets(spark)[-1]), b"v1\n{}")
        if mended is not None and (mended.repeated or mended.unknown):
            spent = [*mended.repeated, *mended.unknown]
            assert spent == list(range(mended.last_good + 1, commits(spark)[-1] + 1))
            assert commits(spark)[-1] == offsets(spark)[-1] >= committed or not offsets(spark)
