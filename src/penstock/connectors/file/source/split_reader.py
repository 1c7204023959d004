"""Reads one part of one file as chunks of elements: by lines, or as a whole."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

from penstock.connectors.file.compressed import inflated_file, is_compressed
from penstock.connectors.file.lines import LinesDamagedError, blocks, inflated_blocks, starts
from penstock.connectors.file.stream_format import Decoder
from penstock.connectors.source import Chunk
from penstock.errors import ConfigError
from penstock.formats.bad_record import BadRecord
from penstock.formats.bulk import BulkFormat
from penstock.formats.decoding import Decoding
from penstock.formats.schema import DeserializationSchema


@dataclass(frozen=True, slots=True)
class FilePart:
    """Some bytes of a file, as it was when it was found."""

    path: str
    number: int  # in the source's list
    low: int
    high: int
    size: int
    modified: int

    @property
    def split(self) -> str:
        """The number comes first, so that splits sort as the files do."""
        return f"{self.number:09d}:{self.path}"


class FileReader(Protocol):
    """Reads a part of an open file."""

    cuts: bool  # it can read from any byte on

    def read(self, file: Any, part: FilePart) -> Iterator[Chunk]: ...


def reader_of(decode: Any) -> FileReader:
    """What reads files by a bulk format, a schema of lines, or a decoder of blocks of lines."""
    if isinstance(decode, BulkFormat):
        return WholeReader(decode)
    if isinstance(decode, DeserializationSchema):
        return SchemaLineReader(decode)
    return LineReader(decode)


class LineReader:
    """Lines by a decoder that takes many of them at once."""

    cuts = True

    def __init__(self, decode: Decoder) -> None:
        self._decode = decode
        self._with_empty = bool(getattr(decode, "keeps_empty", False))

    def read(self, file: Any, part: FilePart) -> Iterator[Chunk]:
        try:
            for start, block in _lines_of(file, part):
                chunk = self._chunk(part, start, block)
                if chunk.values or chunk.bad or chunk.skipped:
                    yield chunk
        except LinesDamagedError as damage:
            yield _rest(part, damage.position, damage.left, damage)

    def _chunk(self, part: FilePart, start: int, block: bytes) -> Chunk:
        positions = starts(block, start, self._with_empty)
        bad: list[BadRecord] = []
        try:
            values = self._decode(block)
        except Exception:
            values, positions, bad = self._line_by_line(part.path, block, positions.tolist(), start)
        if len(values) != len(positions):
            raise ConfigError(
                "DECODER_COUNT",
                f"The decoder made {len(values)} values of {len(positions)} lines of {part.path}; it must make one per line. "
                "Filter and multiply in flat_map.",
            )
        return Chunk(part.split, start, values, positions=positions, transient=True, bad=bad)

    def _line_by_line(
        self, path: str, block: bytes, positions: list[int], start: int
    ) -> tuple[list[Any], list[int], list[BadRecord]]:
        """The values of lines that decode, their positions, and the lines that do not."""
        values: list[Any] = []
        kept: list[int] = []
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
                kept.append(position)
        return values, kept, bad


class SchemaLineReader(LineReader):
    """Lines by a schema of messages; empty ones are left out."""

    def __init__(self, schema: DeserializationSchema[Any]) -> None:
        super().__init__(schema.decode)  # type: ignore[arg-type]
        self._decoding = Decoding(schema)

    def _chunk(self, part: FilePart, start: int, block: bytes) -> Chunk:
        positions = starts(block, start, False)
        lines = [line for line in block.split(b"\n") if line]
        decoded = self._decoding.decode(
            lines, lambda at: (int(positions[at]), {"file": part.path, "byte": int(positions[at])})
        )
        kept = decoded.of(positions)
        return Chunk(
            part.split, start, decoded.values, positions=kept, transient=True, bad=decoded.bad, skipped=decoded.skipped
        )


class WholeReader:
    """Files that are read from their beginning to their end, or by parts that the format knows; an element's position is its
    number."""

    def __init__(self, bulk_format: BulkFormat) -> None:
        self._format = bulk_format
        self.cuts = bulk_format.splittable

    def read(self, file: Any, part: FilePart) -> Iterator[Chunk]:
        first = 0
        rows = self._elements(file, part)
        while True:
            try:
                found = next(rows, None)
            except Exception as error:
                yield _rest(part, first, b"", error)
                return
            if found is None:
                return
            start, values = found
            if values:
                yield Chunk(part.split, start, values, transient=True)
                first = start + len(values)

    def _elements(self, file: Any, part: FilePart) -> Iterator[tuple[int, list[Any]]]:
        compressed = is_compressed(part.path)
        if self.cuts and not compressed:
            yield from self._format.read_between(file, part.low, part.high)
            return
        start = 0
        for values in self._format.read(inflated_file(file, part.path) if compressed else file):
            yield start, values
            start += len(values)


def _lines_of(file: Any, part: FilePart) -> Iterator[tuple[int, bytes]]:
    if is_compressed(part.path):
        return inflated_blocks(file, part.path)
    return blocks(file, part.low, part.high, part.size)


def _rest(part: FilePart, position: int, left: bytes, error: Exception) -> Chunk:
    """What is told of a file that cannot be read on: one bad record, in the place of all that would follow."""
    bad = BadRecord(position, left, error, {"file": part.path, "position": position})
    return Chunk(part.split, position, [], transient=True, bad=[bad])
