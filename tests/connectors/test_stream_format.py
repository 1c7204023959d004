"""The file source in Flink's way: several paths, empty lines, charsets, compressed files, new files."""

from __future__ import annotations

import bz2
import gzip
import lzma
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock import Duration
from penstock.connectors import FileSource, StreamFormat
from penstock.connectors.stream_format import TextLines
from penstock.errors import ConfigError, UnsupportedOperation


def read(source: FileSource, folder: Path, parallelism: int = 2) -> list[tuple[int, Any]]:
    """All elements with their positions, batch by batch, as a job reads them."""
    folder.mkdir(exist_ok=True)
    source.attach(str(folder))
    found: list[tuple[int, Any]] = []
    offset = source.initial()
    while (end := source.latest(offset)) != offset:
        for task in source.plan(offset, end, parallelism):
            for chunk in source.read(task):
                found += zip([int(p) for p in chunk.positions], chunk.values, strict=True)
        offset = end
    assert source.ended(offset) == (["*"] if source.bounded else [])
    return found


def lines(*paths: Path) -> FileSource:
    return FileSource.for_record_stream_format(StreamFormat.text_line_format(), *map(str, paths)).build()


def test_empty_lines_are_elements_and_ends_of_lines_are_not(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    file.write_bytes(b"one\r\n\r\n\ntwo")
    assert read(lines(file), tmp_path / "m") == [(0, "one"), (5, ""), (7, ""), (8, "two")]


def test_several_paths_are_read(tmp_path: Path) -> None:
    for name in ("a", "b", "c"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "f.txt").write_text(f"{name}\n")
    source = lines(tmp_path / "a", tmp_path / "c" / "f.txt", tmp_path / "a" / "f.txt")
    assert sorted(v for _, v in read(source, tmp_path / "m")) == ["a", "c"]


@pytest.mark.parametrize(
    ("suffix", "compress"),
    [
        (".gz", gzip.compress),
        (".GZIP", gzip.compress),
        (".bz2", bz2.compress),
        (".xz", lzma.compress),
        (".deflate", zlib.compress),
    ],
)
def test_compressed_files_are_read_whole(tmp_path: Path, suffix: str, compress: Callable[[bytes], bytes]) -> None:
    words = [f"word {n} {n * n}" for n in range(5000)]
    (tmp_path / f"a{suffix}").write_bytes(compress("\n".join(words).encode()))
    source = FileSource(tmp_path / f"a{suffix}", TextLines(), bytes_per_batch=100)
    found = read(source, tmp_path / "m")
    assert [v for _, v in found] == words
    assert found[1][0] == len(words[0]) + 1


@given(st.lists(st.text(st.characters(exclude_characters="\r\n", categories=("L", "N", "Z", "S")))), st.integers(1, 9))
def test_however_a_file_is_cut_its_lines_are_the_same(texts: list[str], size: int) -> None:
    block = "".join(f"{t}\n" for t in texts).encode()
    whole = TextLines()(block)
    assert whole == texts
    ends = [*[i + 1 for i, b in enumerate(block) if b == 10][::size], len(block)]
    cut = [
        line for low, high in zip([0, *ends], ends, strict=False) if high > low for line in TextLines()(block[low:high])
    ]
    assert cut == whole


def test_other_charsets(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    file.write_bytes("süß\nsalé\n".encode("latin-1"))
    source = FileSource.for_record_stream_format(StreamFormat.text_line_format("ISO-8859-1"), str(file)).build()
    assert [v for _, v in read(source, tmp_path / "m")] == ["süß", "salé"]
    with pytest.raises(UnsupportedOperation, match="more than one byte"):
        StreamFormat.text_line_format("UTF-16")
    with pytest.raises(ConfigError, match="no charset"):
        StreamFormat.text_line_format("nonsense")


def test_new_files_are_found_once_in_the_interval(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [100.0]
    monkeypatch.setattr("penstock.connectors.files.time.monotonic", lambda: clock[0])
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "a.txt").write_text("a\n")
    builder = FileSource.for_record_stream_format(StreamFormat.text_line_format(), str(folder))
    source = builder.monitor_continuously(Duration.of_seconds(10)).build()
    assert not source.bounded
    assert [v for _, v in read(source, tmp_path / "m")] == ["a"]
    (folder / "b.txt").write_text("b\n")
    offset = {"file": 1, "byte": 0}
    assert source.latest(offset) == offset
    clock[0] += 10
    assert source.latest(offset) == {"file": 2, "byte": 0}
    assert builder.process_static_file_set().build().bounded


def test_javas_classes_are_refused(tmp_path: Path) -> None:
    builder = FileSource.for_record_stream_format(StreamFormat.text_line_format(), str(tmp_path))
    for call in (builder.set_file_enumerator, builder.set_split_assigner):
        with pytest.raises(UnsupportedOperation, match="JAVA_FUNCTION"):
            call(None)
    with pytest.raises(UnsupportedOperation, match="BULK_FORMAT"):
        FileSource.for_bulk_file_format(None, str(tmp_path))
