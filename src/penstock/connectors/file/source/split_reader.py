"""Reads a byte range of a file as chunks of elements, by lines or with a bulk format."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

from penstock.connectors.file.source.compressed import is_compressed, open_decompressed
from penstock.connectors.file.source.lines import (
    DamagedLinesError,
    line_starts,
    read_compressed_line_blocks,
    read_line_blocks,
)
from penstock.connectors.file.source.stream_format import Decoder
from penstock.connectors.source import Chunk
from penstock.errors import ConfigError, UserFunctionError
from penstock.formats.bad_record import BadRecord
from penstock.formats.bulk import BulkFormat
from penstock.formats.decoding import Decoding
from penstock.formats.schema import DeserializationSchema


@dataclass(frozen=True, slots=True)
class FileRange:
    """A byte range of a file, with size and modification time of the file when it was found."""

    path: str
    number: int  # index in the file list of the source
    low: int
    high: int
    size: int
    modified: int

    @property
    def split(self) -> str:
        """Name of the split of the file."""
        return split_name(self.number, self.path)


def split_name(number: int, path: str) -> str:
    """The name of the split of a file. It starts with the number, so that splits sort like the files."""
    return f"{number:09d}:{path}"


class FileReader(Protocol):
    """Reads a byte range of an open file."""

    splittable: bool  # whether it can start at any byte

    def read(self, file: Any, file_range: FileRange) -> Iterator[Chunk]: ...


def create_reader(decode: Any) -> FileReader:
    """Returns the reader for a bulk format, a deserialization schema of lines, or a decoder of line blocks."""
    if isinstance(decode, BulkFormat):
        return BulkReader(decode)
    if isinstance(decode, DeserializationSchema):
        return SchemaLineReader(decode)
    return LineReader(decode)


class LineReader:
    """Reads lines with a decoder that processes many lines in one call."""

    splittable = True

    def __init__(self, decode: Decoder) -> None:
        self._decode = decode
        self._with_empty = bool(getattr(decode, "keeps_empty", False))

    def read(self, file: Any, file_range: FileRange) -> Iterator[Chunk]:
        try:
            for start, block in _read_lines(file, file_range):
                chunk = self._chunk(file_range, start, block)
                if chunk.values or chunk.bad or chunk.skipped:
                    yield chunk
        except DamagedLinesError as damage:
            yield _damaged_chunk(file_range, damage.position, damage.remainder, damage)

    def _chunk(self, file_range: FileRange, start: int, block: bytes) -> Chunk:
        positions = line_starts(block, start, self._with_empty)
        bad: list[BadRecord] = []
        try:
            values = self._decode(block)
        except Exception:
            values, positions, bad = self._line_by_line(file_range.path, block, positions.tolist(), start)
        if len(values) != len(positions):
            raise ConfigError(
                "DECODER_COUNT",
                f"The decoder returned {len(values)} values for {len(positions)} lines of {file_range.path}; expected one per "
                "line. To drop or multiply elements, use flat_map.",
            )
        return Chunk(file_range.split, start, values, positions=positions, transient=True, bad=bad)

    def _line_by_line(
        self, path: str, block: bytes, positions: list[int], start: int
    ) -> tuple[list[Any], list[int], list[BadRecord]]:
        """Returns the values of the lines that can be decoded, their positions, and the other lines as bad records."""
        values: list[Any] = []
        good_positions: list[int] = []
        bad: list[BadRecord] = []
        for position in positions:
            end = block.find(b"\n", position - start)
            line = block[position - start : end if end >= 0 else len(block)]
            try:
                (value,) = self._decode(line + b"\n")
            except Exception as error:
                bad.append(BadRecord(position, line, error, {"file": path, "byte": position}))
            else:
                values.append(value)
                good_positions.append(position)
        return values, good_positions, bad


class SchemaLineReader(LineReader):
    """Reads lines with a deserialization schema. Empty lines are skipped."""

    def __init__(self, schema: DeserializationSchema[Any]) -> None:
        super().__init__(schema.decode)  # type: ignore[arg-type]
        self._decoding = Decoding(schema)

    def _chunk(self, file_range: FileRange, start: int, block: bytes) -> Chunk:
        positions = line_starts(block, start, False)
        lines = [line for line in block.split(b"\n") if line]
        decoded = self._decoding.decode(
            lines, lambda at: (int(positions[at]), {"file": file_range.path, "byte": int(positions[at])})
        )
        kept = decoded.of(positions)
        return Chunk(
            file_range.split,
            start,
            decoded.values,
            positions=kept,
            transient=True,
            bad=decoded.bad,
            skipped=decoded.skipped,
        )


class BulkReader:
    """Reads files with a bulk format. The position of an element is its number in the file."""

    def __init__(self, bulk_format: BulkFormat) -> None:
        self._format = bulk_format
        self.splittable = bulk_format.splittable

    def read(self, file: Any, file_range: FileRange) -> Iterator[Chunk]:
        first = 0
        blocks = self._read_blocks(file, file_range)
        while True:
            try:
                block = next(blocks, None)
            except UserFunctionError:  # not an error of the file
                raise
            except Exception as error:
                yield _damaged_chunk(file_range, first, b"", error)
                return
            if block is None:
                return
            start, values = block
            if values:
                yield Chunk(file_range.split, start, values, transient=True)
                first = start + len(values)

    def _read_blocks(self, file: Any, file_range: FileRange) -> Iterator[tuple[int, list[Any]]]:
        compressed = is_compressed(file_range.path)
        if self.splittable and not compressed:
            yield from self._format.read_between(file, file_range.low, file_range.high)
            return
        start = 0
        for values in self._format.read(open_decompressed(file, file_range.path) if compressed else file):
            if not isinstance(values, list):  # the items of a string or a dict would become elements
                raise UserFunctionError(
                    "BULK_FORMAT",
                    f"read() of {type(self._format).__name__} yielded a {type(values).__name__}. It must yield lists of elements, "
                    "such as `yield [element]`.",
                )
            yield start, values
            start += len(values)


def _read_lines(file: Any, file_range: FileRange) -> Iterator[tuple[int, bytes]]:
    if is_compressed(file_range.path):
        return read_compressed_line_blocks(file, file_range.path)
    return read_line_blocks(file, file_range.low, file_range.high, file_range.size)


def _damaged_chunk(file_range: FileRange, position: int, remainder: bytes, error: Exception) -> Chunk:
    """Returns a chunk with one bad record that stands for the rest of a damaged file."""
    bad = BadRecord(position, remainder, error, {"file": file_range.path, "position": position})
    return Chunk(file_range.split, position, [], transient=True, bad=[bad])
