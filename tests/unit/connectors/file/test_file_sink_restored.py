"""The file sink of a job that starts from a savepoint publishes the hidden files of the savepoint once."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.connectors import Encoder, FileCompactor, FileCompactStrategy, FileSink, RollingPolicy
from penstock.connectors.file.sink.bucket_assigner import BucketAssigner
from penstock.connectors.sink import WriteTask
from penstock.errors import JobError


def sink_in(folder: Path, name: str, out: str = "out") -> FileSink:
    """A sink whose files become visible when the job ends."""
    sink = FileSink(
        folder / out,
        Encoder.simple_string_encoder(),
        rolling=RollingPolicy.default_rolling_policy(1 << 30, 10**9, 10**9),
        buckets=BucketAssigner.base_path_bucket_assigner(),
    )
    (folder / name).mkdir()
    sink.attach(str(folder / name))
    return sink


def write(sink: FileSink, batch: int, *words: str) -> None:
    writer = sink.writer(WriteTask(batch, 0, "0"))
    writer.write(list(words), [0] * len(words), None)
    sink.commit(batch, [writer.prepare()])


def visible(folder: Path, out: str = "out") -> list[str]:
    return sorted(line for file in (folder / out).glob("part-*") for line in file.read_text().split())


def test_hidden_files_are_copied_and_the_old_job_keeps_its_own(tmp_path: Path) -> None:
    old = sink_in(tmp_path, "old")
    write(old, 0, "a", "b")
    write(old, 1, "c")
    memory = old.memory()
    new = sink_in(tmp_path, "new")
    new.restore(memory)
    write(new, 0, "d")
    assert visible(tmp_path) == []
    new.finish()
    assert visible(tmp_path) == ["a", "b", "c", "d"]
    again = sink_in(tmp_path, "again")  # a savepoint can be started from more than once
    again.restore(memory)
    again.finish()
    assert visible(tmp_path) == ["a", "a", "b", "b", "c", "c", "d"]


def test_files_published_by_the_old_job_are_not_written_again(tmp_path: Path) -> None:
    old = sink_in(tmp_path, "old")
    write(old, 0, "a", "b")
    memory = old.memory()
    old.finish()
    new = sink_in(tmp_path, "new")
    new.restore(memory)
    write(new, 0, "c")
    new.finish()
    assert visible(tmp_path) == ["a", "b", "c"]


def test_missing_hidden_files_are_an_error(tmp_path: Path) -> None:
    old = sink_in(tmp_path, "old")
    write(old, 0, "a")
    memory = old.memory()
    for file in (tmp_path / "out").glob(".part-*/*"):
        file.unlink()
    with pytest.raises(JobError) as caught:
        sink_in(tmp_path, "new").restore(memory)
    assert caught.value.code == "PART_VANISHED"
    assert "--allow-dropped-state" in caught.value.text


@pytest.mark.parametrize("published", [False, True])
def test_a_second_job_with_another_folder_writes_the_pending_elements_too(tmp_path: Path, published: bool) -> None:
    """Whether the first job has made its files visible since does not change the output of the second job."""
    first = sink_in(tmp_path, "first")
    write(first, 0, "a", "b")
    write(first, 1, "c")
    memory = first.memory()
    write(first, 2, "later")  # is added to the same file after the savepoint
    if published:
        first.finish()
    second = sink_in(tmp_path, "second", "elsewhere")
    second.restore(memory)
    write(second, 0, "d")
    second.finish()
    assert visible(tmp_path, "elsewhere") == ["a", "b", "c", "d"]
    first.finish()
    assert visible(tmp_path) == ["a", "b", "c", "later"]


def test_memory_of_earlier_versions_has_no_folders(tmp_path: Path) -> None:
    old = sink_in(tmp_path, "old")
    write(old, 0, "a")
    memory = {name: value for name, value in old.memory().items() if name in ("name", "files")}
    new = sink_in(tmp_path, "new")
    new.restore(memory)
    new.finish()
    assert visible(tmp_path) == ["a"]


def test_the_checkpoint_of_a_job_with_another_folder(tmp_path: Path) -> None:
    """The sink of the new program reads the journal of the old job, as for a job that starts from a checkpoint."""
    write(sink_in(tmp_path, "old"), 0, "a")
    reading = FileSink(tmp_path / "elsewhere", Encoder.simple_string_encoder())
    reading.attach(str(tmp_path / "old"))
    new = sink_in(tmp_path, "new", "elsewhere")
    new.restore(reading.memory())
    new.finish()
    assert visible(tmp_path, "elsewhere") == ["a"]


def compacting(folder: Path, name: str, out: str = "out") -> FileSink:
    """A sink that compacts the files of three batches, with a line between them."""
    sink = FileSink(
        folder / out,
        Encoder.simple_string_encoder(),
        buckets=BucketAssigner.base_path_bucket_assigner(),
        compaction=(FileCompactStrategy(-1, 3), FileCompactor.concat_file_compactor(b"---\n")),
    )
    (folder / name).mkdir()
    sink.attach(str(folder / name))
    return sink


def compacted(folder: Path, out: str) -> list[str]:
    return [line for file in sorted((folder / out).glob("compacted-*")) for line in file.read_text().split()]


@pytest.mark.parametrize("published", [False, True])
def test_a_second_job_continues_with_files_that_the_first_job_has_compacted_since(
    tmp_path: Path, published: bool
) -> None:
    saved = str(tmp_path / "saved")
    first = compacting(tmp_path, "first")
    for batch, word in enumerate(["early", "earlier", "earliest", "a", "b"]):
        write(first, batch, word)
    memory = first.memory_in(saved)
    assert sorted(p.name for p in (tmp_path / "saved").iterdir()) == sorted(memory["copies"].values())
    if published:
        write(first, 5, "later")
        assert compacted(tmp_path, "out")[-5:] == ["a", "---", "b", "---", "later"]
    second = compacting(tmp_path, "second", "elsewhere")
    second.restore_from(saved, memory)
    write(second, 0, "c")
    second.finish()
    assert compacted(tmp_path, "elsewhere") == ["a", "---", "b", "---", "c"]


def test_a_savepoint_without_copies_of_a_compacted_file_is_an_error(tmp_path: Path) -> None:
    """As taken by earlier versions."""
    first = compacting(tmp_path, "first")
    write(first, 0, "a")
    memory = first.memory()
    write(first, 1, "b")
    first.finish()
    with pytest.raises(JobError, match="also has later elements"):
        compacting(tmp_path, "second", "elsewhere").restore_from(str(tmp_path / "saved"), memory)


def test_files_that_were_visible_when_the_savepoint_was_taken_are_not_written_to_another_folder(tmp_path: Path) -> None:
    first = FileSink(
        tmp_path / "out",
        Encoder.simple_string_encoder(),
        rolling=RollingPolicy.on_checkpoint_rolling_policy(),
        buckets=BucketAssigner.base_path_bucket_assigner(),
    )
    (tmp_path / "first").mkdir()
    first.attach(str(tmp_path / "first"))
    write(first, 0, "a")
    assert visible(tmp_path) == ["a"]
    second = sink_in(tmp_path, "second", "elsewhere")
    second.restore_from(str(tmp_path / "saved"), first.memory_in(str(tmp_path / "saved")))
    second.finish()
    assert visible(tmp_path, "elsewhere") == []
