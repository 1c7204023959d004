"""Truncated files and files with a wrong extension."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import zlib
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from penstock.connectors import FileSource
from penstock.errors import JobError
from penstock.formats import (
    OrcBulkWriters,
    OrcColumnarRowInputFormat,
    ParquetBulkWriters,
    ParquetColumnarRowInputFormat,
)
from penstock.formats.bulk import BulkFormat, BulkWriterFactory
from tests.system.bad_input.reading import read

LINES = [f"line {i * i * 7919}" for i in range(2000)]
CONTENT = "".join(f"{line}\n" for line in LINES).encode()
PACKED: dict[str, Callable[[bytes], bytes]] = {
    "gz": gzip.compress,
    "bz2": bz2.compress,
    "xz": lzma.compress,
    "deflate": zlib.compress,
}


@pytest.fixture(params=PACKED)
def end(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_truncated_compressed_file_fails_the_job_with_its_name(tmp_path: Path, end: str) -> None:
    file = tmp_path / f"clicks.txt.{end}"
    file.write_bytes(PACKED[end](CONTENT)[:-40])
    outcome = read(FileSource(file))
    assert outcome.error is not None
    assert outcome.error.code == "BAD_RECORD"
    for message in (str(file), "truncated", 'on_error="dead_letter"', "resume"):
        assert message in outcome.text
    assert outcome.elements == []


def test_truncated_compressed_file_is_read_and_its_rest_is_one_dead_letter(tmp_path: Path, end: str) -> None:
    """The dead letter has the position of the damage. All elements before it are read, and none after it."""
    file = tmp_path / f"clicks.txt.{end}"
    file.write_bytes(PACKED[end](CONTENT)[:-40])
    outcome = read(FileSource(file), "dead_letter")
    assert outcome.error is None
    assert outcome.elements == LINES[: len(outcome.elements)]
    (dead_letter,) = outcome.dead_letters
    assert dead_letter.facts["file"] == str(file)
    assert dead_letter.position == sum(len(line) + 1 for line in outcome.elements)
    skipped = read(FileSource(file), "skip")
    assert (skipped.elements, skipped.skipped) == (outcome.elements, 1)


def test_file_with_wrong_compression_extension(tmp_path: Path, end: str) -> None:
    file = tmp_path / f"clicks.txt.{end}"
    file.write_bytes(b"plain text\n" * 100)
    outcome = read(FileSource(file))
    assert outcome.error is not None
    assert outcome.error.code == "BAD_RECORD"
    assert str(file) in outcome.text
    assert f"not a .{end} file" in outcome.text


def test_file_truncated_after_it_was_found_always_fails(tmp_path: Path) -> None:
    file = tmp_path / "clicks.txt"
    file.write_bytes(CONTENT)
    source = FileSource(file)
    (tmp_path / "memory").mkdir()
    source.attach(str(tmp_path / "memory"))
    end = source.latest(source.initial())
    file.write_bytes(CONTENT[:1000])
    (task,) = source.plan(source.initial(), end, 1)
    with pytest.raises(JobError, match="FILE_CHANGED") as failed:
        list(source.read(task))
    assert str(file) in str(failed.value)


class Order(msgspec.Struct, frozen=True):
    """A row of the columnar files."""

    id: int
    item: str


ORDERS = [Order(i, f"item {i}") for i in range(500)]
COLUMNAR: dict[str, tuple[BulkWriterFactory, BulkFormat]] = {
    "parquet": (ParquetBulkWriters.for_row_type(Order), ParquetColumnarRowInputFormat(Order)),
    "orc": (OrcBulkWriters.for_row_type(Order), OrcColumnarRowInputFormat(Order)),
}


@pytest.mark.parametrize("kind", COLUMNAR)
@pytest.mark.parametrize("fraction", [0.5, 0.99, 0.0])
def test_truncated_columnar_file(tmp_path: Path, kind: str, fraction: float) -> None:
    """The footer is missing, so nothing can be read."""
    writers, columns = COLUMNAR[kind]
    content = io.BytesIO()
    writer = writers.create(content)
    writer.write(ORDERS)
    writer.finish()
    content_bytes = content.getvalue()
    file = tmp_path / f"orders.{kind}"
    file.write_bytes(content_bytes)
    assert read(FileSource.for_bulk_file_format(columns, str(file)).build()).elements == ORDERS
    file.write_bytes(content_bytes[: int(len(content_bytes) * fraction)] or b"x")
    failed = read(FileSource.for_bulk_file_format(columns, str(file)).build())
    assert failed.error is not None
    assert failed.error.code == "BAD_RECORD"
    assert str(file) in failed.text
    assert 'on_error="dead_letter"' in failed.text
    with_dead_letters = read(FileSource.for_bulk_file_format(columns, str(file)).build(), "dead_letter")
    assert (
        with_dead_letters.elements,
        [dead_letter.facts["file"] for dead_letter in with_dead_letters.dead_letters],
    ) == ([], [str(file)])
