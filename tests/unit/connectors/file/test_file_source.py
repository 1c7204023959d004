"""The file source: enumeration, splits, compressed and damaged files, positions."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import os
import tempfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any
from unittest import mock

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock import Duration, StreamExecutionEnvironment, Types
from penstock.connectors import (
    FileEnumeratorProvider,
    FileSource,
    FileSplitAssignerProvider,
    StreamFormat,
    WholeFile,
    json_lines,
)
from penstock.connectors.file.source.stream_format import TextLines
from penstock.errors import ConfigError, JobError, UnsupportedOperation, UserFunctionError
from penstock.formats import ParquetColumnarRowInputFormat
from penstock.formats.bulk import BulkFormat
from penstock.formats.schema import DeserializationSchema
from penstock.functions.dead_letter import DEAD_LETTERS
from penstock.testing import Harness


def chunks(source: FileSource, folder: Path, parallelism: int = 2) -> Iterator[Any]:
    """Reads batch by batch, as a job does."""
    folder.mkdir(exist_ok=True)
    source.attach(str(folder))
    offset = json.loads(json.dumps(source.initial()))
    while (end := source.latest(offset)) != offset:
        for task in source.plan(offset, end, parallelism):
            yield from source.read(task)
        offset = end
    assert source.ended(offset) == (["*"] if source.bounded else [])


def read(source: FileSource, folder: Path, parallelism: int = 2) -> list[tuple[int, Any]]:
    """Returns all elements with their positions."""
    elements: list[tuple[int, Any]] = []
    for chunk in chunks(source, folder, parallelism):
        assert not chunk.bad
        at = range(chunk.start, chunk.start + len(chunk.values)) if chunk.positions is None else chunk.positions
        elements += zip([int(p) for p in at], chunk.values, strict=True)
    return elements


def values(source: FileSource, folder: Path) -> list[Any]:
    return [value for _, value in read(source, folder)]


def lines(*paths: Path) -> FileSource:
    return FileSource.for_record_stream_format(StreamFormat.text_line_format(), *map(str, paths)).build()


# -- lines


def test_empty_lines_are_elements_without_line_endings(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    file.write_bytes(b"one\r\n\r\n\ntwo")
    assert read(lines(file), tmp_path / "m") == [(0, "one"), (5, ""), (7, ""), (8, "two")]


LINES = st.lists(st.text(st.characters(exclude_characters="\r\n", categories=("L", "N", "Z", "S")), max_size=12))


@given(
    st.lists(LINES, min_size=1, max_size=3), st.booleans(), st.integers(1, 60), st.integers(1, 5), st.integers(1, 40)
)
def test_each_line_is_read_once_for_any_split(
    texts: list[list[str]], ends: bool, batch: int, parallelism: int, block: int
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder, "in")
        root.mkdir()
        expected = []
        for number, words in enumerate(texts):
            content = "\n".join(words) + ("\n" if ends and words else "")
            file = root / f"{number}.txt"
            file.write_bytes(content.encode())
            os.utime(file, (number, number))
            complete = (
                words if ends or not words or words[-1] else words[:-1]
            )  # an empty string after the last line end is not a line
            expected += complete
        source = FileSource(root, TextLines(), bytes_per_batch=batch)
        with (
            mock.patch("penstock.connectors.file.source.source._MIN_RANGE", 1),
            mock.patch("penstock.connectors.file.source.lines._BLOCK_SIZE", block),
        ):
            elements = read(source, Path(folder, "m"), parallelism)
        assert [value for _, value in elements] == expected


def test_line_belongs_to_the_range_in_which_it_starts(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    file.write_text("0123456789\n" * 20)
    source = FileSource(file, TextLines(), bytes_per_batch=7)
    assert read(source, tmp_path / "m") == [(11 * n, "0123456789") for n in range(20)]


def test_other_charsets(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    file.write_bytes("süß\nsalé\n".encode("latin-1"))
    source = FileSource.for_record_stream_format(StreamFormat.text_line_format("ISO-8859-1"), str(file)).build()
    assert values(source, tmp_path / "m") == ["süß", "salé"]
    with pytest.raises(UnsupportedOperation, match="more than one byte"):
        StreamFormat.text_line_format("UTF-16")
    with pytest.raises(ConfigError, match="Unknown charset"):
        StreamFormat.text_line_format("nonsense")


# -- enumeration


def test_several_paths_are_read(tmp_path: Path) -> None:
    for name in ("a", "b", "c"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "f.txt").write_text(f"{name}\n")
    source = lines(tmp_path / "a", tmp_path / "c" / "f.txt", tmp_path / "a" / "f.txt")
    assert sorted(values(source, tmp_path / "m")) == ["a", "c"]


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    root = tmp_path / "in"
    for name in (
        "a.txt",
        "b.csv",
        "deep/er/c.txt",
        ".hidden.txt",
        "_SUCCESS",
        ".part-1/d.txt",
        "deep/_tmp/e.txt",
        "2024/f.txt",
    ):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(f"{name}\n")
    return root


def test_subfolders_are_read_and_hidden_names_are_not(tree: Path, tmp_path: Path) -> None:
    assert sorted(values(lines(tree), tmp_path / "m")) == ["2024/f.txt", "a.txt", "b.csv", "deep/er/c.txt"]


@pytest.mark.filterwarnings("ignore::penstock.errors.OptionIgnored")
@pytest.mark.parametrize(
    ("files", "expected"),
    [
        (FileEnumeratorProvider(pattern="*.txt"), ["2024/f.txt", "a.txt", "deep/er/c.txt"]),
        (FileEnumeratorProvider(pattern="20*/*"), ["2024/f.txt"]),
        (FileEnumeratorProvider(accepts=lambda path: "deep" in path), ["deep/er/c.txt"]),
        (
            FileEnumeratorProvider.default_non_splittable_file_enumerator(),
            ["2024/f.txt", "a.txt", "b.csv", "deep/er/c.txt"],
        ),
    ],
)
def test_enumerator_selects_files(
    tree: Path, tmp_path: Path, files: FileEnumeratorProvider, expected: list[str]
) -> None:
    builder = FileSource.for_record_stream_format(StreamFormat.text_line_format(), str(tree)).set_file_enumerator(files)
    builder.set_split_assigner(FileSplitAssignerProvider.locality_aware_split_assigner())
    assert sorted(values(builder.build(), tmp_path / "m")) == expected


def test_unsplittable_files_are_read_in_one_batch(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.txt").write_text("word\n" * 100)
    unsplittable = FileEnumeratorProvider.default_non_splittable_file_enumerator()
    source = FileSource(tmp_path / "in", bytes_per_batch=10, enumerator=unsplittable)
    (tmp_path / "m").mkdir()
    source.attach(str(tmp_path / "m"))
    assert source.latest(source.initial()) == {"file": 1, "byte": 0}
    assert len(source.plan(source.initial(), {"file": 1, "byte": 0}, 4)) == 1


def test_files_per_batch(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    for n in range(25):
        (tmp_path / "in" / f"{n:02d}").write_text(f"{n}\n")
    source = FileSource(tmp_path / "in", files_per_batch=10)
    assert sorted(map(int, values(source, tmp_path / "m"))) == list(range(25))
    assert source.latest({"file": 0, "byte": 0}) == {"file": 10, "byte": 0}


def test_new_files_are_found_once_per_interval(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [100.0]
    monkeypatch.setattr("penstock.connectors.file.source.source.time.monotonic", lambda: clock[0])
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "a.txt").write_text("a\n")
    builder = FileSource.for_record_stream_format(StreamFormat.text_line_format(), str(folder))
    source = builder.monitor_continuously(Duration.of_seconds(10)).build()
    assert not source.bounded
    assert values(source, tmp_path / "m") == ["a"]
    (folder / "b.txt").write_text("b\n")
    offset = {"file": 1, "byte": 0}
    assert source.latest(offset) == offset
    clock[0] += 10
    assert source.latest(offset) == {"file": 2, "byte": 0}
    assert builder.process_static_file_set().build().bounded


def test_missing_path(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"FILE_NOT_FOUND.*nowhere"):
        lines(tmp_path / "nowhere").attach(str(tmp_path))


# -- files that change


def read_after_change(tmp_path: Path, change: Callable[[Path], object], **options: Any) -> list[Any]:
    """Reads a file that was changed after it was found."""
    file = tmp_path / "orders.txt"
    file.write_text("one\ntwo\n")
    source = FileSource(file, **options)
    (tmp_path / "m").mkdir()
    source.attach(str(tmp_path / "m"))
    start = source.initial()
    tasks = source.plan(start, source.latest(start), 1)
    change(file)
    return [value for task in tasks for chunk in source.read(task) for value in chunk.values]


def test_removed_file(tmp_path: Path) -> None:
    with pytest.raises(JobError, match=r"FILE_VANISHED.*orders.txt was found with 8 bytes but no longer exists"):
        read_after_change(tmp_path, Path.unlink)


@pytest.mark.parametrize("content", ["one\ntwo\nthree\n", "one\n", "eno\nowt\n"])
def test_changed_file(tmp_path: Path, content: str) -> None:
    def change(file: Path) -> None:
        file.write_text(content)
        os.utime(file, (1, 1))

    with pytest.raises(JobError, match=r"FILE_CHANGED.*orders.txt.*changed_files='as_listed'"):
        read_after_change(tmp_path, change)


def test_grown_file_can_be_read_up_to_its_original_size(tmp_path: Path) -> None:
    assert read_after_change(tmp_path, lambda f: f.write_text("one\ntwo\nthree"), changed_files="as_listed") == [
        "one",
        "two",
    ]
    (tmp_path / "shorter").mkdir()
    with pytest.raises(JobError, match=r"FILE_CHANGED.*had 8 bytes when it was found and has 4 bytes now"):
        read_after_change(tmp_path / "shorter", lambda f: f.write_text("one\n"), changed_files="as_listed")
    with pytest.raises(ConfigError, match="changed_files is 'ignore'"):
        FileSource(tmp_path, changed_files="ignore")


def test_appended_bytes_are_not_read_with_the_last_line(tmp_path: Path) -> None:
    def grow(file: Path) -> None:
        with file.open("a") as more:
            more.write("2\nthree\n")

    file = tmp_path / "in"
    file.mkdir()
    (file / "a").write_text("1\n")
    source = FileSource(file, changed_files="as_listed")
    (tmp_path / "m").mkdir()
    source.attach(str(tmp_path / "m"))
    grow(file / "a")
    (task,) = source.plan(source.initial(), source.latest(source.initial()), 1)
    assert [chunk.values for chunk in source.read(task)] == [["1"]]


# -- compressed files

COMPRESSED: list[tuple[str, Callable[[bytes], bytes]]] = [
    (".gz", gzip.compress),
    (".GZIP", gzip.compress),
    (".bz2", bz2.compress),
    (".xz", lzma.compress),
    (".deflate", zlib.compress),
    (".zst", lambda data: bytes(pa.compress(data, codec="zstd", asbytes=True))),
]


@pytest.mark.parametrize(("suffix", "compress"), COMPRESSED)
def test_compressed_files_are_not_split(tmp_path: Path, suffix: str, compress: Callable[[bytes], bytes]) -> None:
    words = [f"word {n} {n * n}" for n in range(5000)]
    file = tmp_path / f"a{suffix}"
    file.write_bytes(compress("\n".join(words).encode()))
    elements = read(FileSource(file, TextLines(), bytes_per_batch=100), tmp_path / "m")
    assert [v for _, v in elements] == words
    assert elements[1][0] == len(words[0]) + 1
    text = "\n".join(words).encode()
    assert values(FileSource(file, WholeFile()), tmp_path / "n") == [text]


@pytest.mark.parametrize("suffix", [".gz", ".bz2", ".xz"])
def test_concatenated_compressed_files(tmp_path: Path, suffix: str) -> None:
    compress = dict(COMPRESSED)[suffix]
    (tmp_path / f"a{suffix}").write_bytes(compress(b"one\ntw") + compress(b"o\n") + compress(b"three"))
    assert values(lines(tmp_path / f"a{suffix}"), tmp_path / "m") == ["one", "two", "three"]


@pytest.mark.parametrize(("suffix", "compress"), COMPRESSED)
@pytest.mark.parametrize("share", [0.3, 0.999])
def test_truncated_compressed_file(
    tmp_path: Path, suffix: str, compress: Callable[[bytes], bytes], share: float
) -> None:
    words = [f"{os.urandom(9).hex()} {n}" for n in range(60_000)]
    data = compress("\n".join(words).encode())
    (tmp_path / f"a{suffix}").write_bytes(data[: int(len(data) * share)])
    got: list[str] = []
    *good, last = chunks(lines(tmp_path / f"a{suffix}"), tmp_path / "m")
    for chunk in good:
        got += chunk.values
    assert got == words[: len(got)]
    (bad,) = last.bad
    assert "truncated or damaged" in str(bad.error)
    assert bad.position == len("\n".join(words[: len(got)])) + (1 if got else 0)
    assert "\n".join(words).encode()[bad.position :].startswith(bad.raw)


def test_damaged_file_fails_the_job_or_becomes_a_dead_letter(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    text = b"".join(b"%d\n" % n for n in range(300_000))
    (tmp_path / "in" / "a.gz").write_bytes(gzip.compress(text)[:-1000])
    (tmp_path / "in" / "b.txt").write_text("whole\n")
    env = StreamExecutionEnvironment()
    harness = Harness(env)
    harness.collect(env.from_source(lines(tmp_path / "in"), source_name="numbers"))
    with pytest.raises(UserFunctionError, match=r"(?s)BAD_RECORD.*a\.gz.*truncated or damaged"):
        harness.run()
    env = StreamExecutionEnvironment()
    numbers = env.from_source(lines(tmp_path / "in"), source_name="numbers", on_error="dead_letter")
    harness = Harness(env)
    out, dead = harness.collect(numbers), harness.collect(numbers.get_side_output(DEAD_LETTERS))
    harness.run()
    assert set(out) == {"whole", *(str(n) for n in range(len(out) - 1))}
    assert len(dead) == 1
    assert "a.gz" in str(dead[0])


def test_file_with_wrong_extension(tmp_path: Path) -> None:
    (tmp_path / "a.gz").write_text("plain text\n")
    (chunk,) = chunks(lines(tmp_path / "a.gz"), tmp_path / "m")
    assert "not a .gz file" in str(chunk.bad[0].error)


# -- formats


class Numbers(DeserializationSchema[int]):
    """One number in a message; nothing in '-'."""

    output_type = int
    output_is_exact = True

    def deserialize(self, message: bytes) -> int | None:
        return None if message == b"-" else int(message)


def test_lines_with_a_deserialization_schema(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("1\n\n-\n3\nfour\n5")
    source = FileSource.for_record_stream_format(StreamFormat.line_format(Numbers()), str(tmp_path / "a.txt")).build()
    assert source.output_type is int
    (chunk,) = chunks(source, tmp_path / "m")
    assert (chunk.values, list(chunk.positions), chunk.skipped) == ([1, 3, 5], [0, 5, 12], 1)
    (bad,) = chunk.bad
    assert (bad.position, bad.raw, bad.facts["file"]) == (7, b"four", str(tmp_path / "a.txt"))


class Pairs(BulkFormat):
    """Two bytes are an element; an odd byte at the end is an error."""

    def read(self, file_object: IO[bytes]) -> Iterator[list[Any]]:
        while some := file_object.read(6):
            if len(some) % 2:
                raise ValueError("half an element at the end")
            yield [some[i : i + 2] for i in range(0, len(some), 2)]


def test_bulk_files_are_not_split(tmp_path: Path) -> None:
    (tmp_path / "a.bin").write_bytes(b"aabbccdd")
    source = FileSource.for_bulk_file_format(Pairs(), str(tmp_path / "a.bin")).build()
    assert read(source, tmp_path / "m") == [(0, b"aa"), (1, b"bb"), (2, b"cc"), (3, b"dd")]
    (tmp_path / "b.bin").write_bytes(b"aabbccd")
    source = FileSource(tmp_path / "b.bin", Pairs(), bytes_per_batch=2)
    first, rest = chunks(source, tmp_path / "n")
    assert first.values == [b"aa", b"bb", b"cc"]
    assert (rest.bad[0].position, str(rest.bad[0].error)) == (3, "half an element at the end")


class Texts(BulkFormat):
    """Yields a text in place of a list of elements."""

    def read(self, file_object: IO[bytes]) -> Iterator[list[Any]]:
        yield file_object.read().decode()  # type: ignore[misc]


def test_a_bulk_format_that_yields_no_lists(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("abc")
    source = FileSource(tmp_path / "a.txt", Texts())
    with pytest.raises(UserFunctionError, match=r"BULK_FORMAT.*read\(\) of Texts yielded a str.*`yield \[element\]`"):
        read(source, tmp_path / "m")


@pytest.mark.parametrize("batch", [1, 700, 5_000, 1 << 20])
def test_parquet_files_are_split_between_row_groups(tmp_path: Path, batch: int) -> None:
    table = pa.table({"n": list(range(1000)), "text": [f"word {n}" for n in range(1000)]})
    pq.write_table(table, tmp_path / "a.parquet", row_group_size=90)
    columns = ParquetColumnarRowInputFormat(Types.ROW_NAMED(["n"], [Types.LONG()]), batch_size=40)
    source = FileSource(tmp_path / "a.parquet", columns, bytes_per_batch=batch)
    with mock.patch("penstock.connectors.file.source.source._MIN_RANGE", 500):
        elements = read(source, tmp_path / "m", parallelism=3)
    assert [(at, row.n) for at, row in elements] == [(n, n) for n in range(1000)]
    source.attach(str(tmp_path / "m"))
    assert (source.latest(source.initial())["file"] == 1) == (batch == 1 << 20)


def test_truncated_parquet_file(tmp_path: Path) -> None:
    pq.write_table(pa.table({"n": list(range(1000))}), tmp_path / "whole.parquet")
    data = (tmp_path / "whole.parquet").read_bytes()
    (tmp_path / "cut.parquet").write_bytes(data[:-20])
    source = FileSource(tmp_path / "cut.parquet", ParquetColumnarRowInputFormat(Types.ROW_NAMED(["n"], [Types.LONG()])))
    (chunk,) = chunks(source, tmp_path / "m")
    assert chunk.values == []
    assert "cut.parquet" in chunk.bad[0].describe()
    assert "Parquet" in chunk.bad[0].describe()


def test_json_lines_with_a_builder(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"n":1}\n\n{"n":2}\n')
    json_source = FileSource.for_record_stream_format(
        StreamFormat.json_line_format(dict[str, int]), str(tmp_path)
    ).build()
    assert values(json_source, tmp_path / "m") == [{"n": 1}, {"n": 2}]


# -- saved positions


def test_job_starts_at_a_saved_position_with_a_new_list(tmp_path: Path) -> None:
    root = tmp_path / "in"
    root.mkdir()
    for n in range(4):
        (root / f"{n}.txt").write_text(f"{n}-a\n{n}-b\n")
        os.utime(root / f"{n}.txt", (n, n))
    first = FileSource(root, bytes_per_batch=12)
    (tmp_path / "m").mkdir()
    first.attach(str(tmp_path / "m"))
    offset = first.latest(first.initial())
    saved = json.loads(json.dumps(first.position(offset)))
    (root / "0.txt").unlink()  # it was read: the numbers of a new list would be others
    (root / "older.txt").write_text("new\n")
    os.utime(root / "older.txt", (0, 0))

    continued = FileSource(root, start_at=saved)
    assert values(continued, tmp_path / "n") == ["1-b", "2-a", "2-b", "3-a", "3-b"]
    endless = FileSource(root, start_at=saved, bounded=False)
    assert values(endless, tmp_path / "o")[-1] == "new"
    resumed = FileSource(root, start_at=saved)  # from its own checkpoint, which has the list already
    assert values(resumed, tmp_path / "n") == ["1-b", "2-a", "2-b", "3-a", "3-b"]


def test_harness_snapshot_continues_with_the_same_list(tmp_path: Path) -> None:
    for n in range(3):
        (tmp_path / f"{n}.jsonl").write_text(f'{{"n":{n}}}\n')
        os.utime(tmp_path / f"{n}.jsonl", (10 + n, 10 + n))
    env = StreamExecutionEnvironment()
    numbers = env.from_source(json_lines(tmp_path, bytes_per_batch=8)).map(lambda row: row["n"])
    first = Harness(env)
    out = first.collect(numbers)
    first.run(max_batches=1)
    assert out == [0]
    saved = first.snapshot()
    (tmp_path / "0.jsonl").unlink()
    second = Harness(env)
    out = second.collect(numbers)
    second.restore(saved).run()
    assert out == [1, 2]
