"""Lines of text files, and their JSON: a directory or a list of files, with positions of our own."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NoReturn

import msgspec
import numpy as np

from penstock.connectors.compressed import inflated_blocks, is_compressed
from penstock.connectors.source import DEFAULT_BYTES_PER_BATCH, Chunk, Offset, Source
from penstock.connectors.stream_format import FileSourceBuilder, StreamFormat
from penstock.errors import ConfigError, UnsupportedOperation
from penstock.formats.bad_record import BadRecord
from penstock.types import Types

_LEAST_RANGE = 1 << 20
_READ = 4 << 20

Decoder = Callable[[bytes], list[Any]]  # whole lines in, one value per line that is not empty out


class FileSource(Source):
    """The lines of files. Bounded: the files there are at the start. Else new files are found while the job runs.

    A file's place in the list and a byte position are the offset; the list is kept with the checkpoint, so a restart reads
    the same files in the same order. Files that end in .gz, .bz2, .xz or .deflate are read as the text that is in them.
    """

    def __init__(
        self,
        path: str | Path | Sequence[str | Path],
        decode: Decoder | None = None,
        *,
        bounded: bool = True,
        bytes_per_batch: int | None = None,
        pattern: str = "*",
        look_every: float = 0.0,
    ) -> None:
        self.bounded = bounded
        paths = [path] if isinstance(path, (str, Path)) else path
        self._paths = [os.path.abspath(p) for p in paths]  # other processes have other working folders
        self._look_every = look_every  # seconds between two looks for new files
        self._next_look = 0.0
        self._pattern = pattern
        self._decode = decode or decode_text
        self.output_type = str if decode is None else getattr(decode, "output_type", None)
        self.output_is_exact = decode is None or getattr(decode, "output_is_exact", False)
        self._limit = bytes_per_batch or DEFAULT_BYTES_PER_BATCH
        self._list_file = ""
        self._files: list[tuple[str, int]] = []

    @staticmethod
    def for_record_stream_format(stream_format: StreamFormat, *paths: str) -> FileSourceBuilder:
        """A source built in Flink's way.

        >>> FileSource.for_record_stream_format(StreamFormat.text_line_format(), "in").build().bounded
        True
        """
        return FileSourceBuilder(stream_format, paths)

    @staticmethod
    def for_bulk_file_format(bulk_format: Any, *paths: str) -> NoReturn:
        """Not supported: a bulk format is a Java class of Flink's."""
        raise UnsupportedOperation(
            "BULK_FORMAT",
            "FileSource.for_bulk_file_format takes a bulk format, a Java class of Flink's, and no Flink runs here. Use "
            "for_record_stream_format, or write a Source of your own.",
        )

    def attach(self, folder: str) -> None:
        self._list_file = os.path.join(folder, "files.jsonl")
        if os.path.exists(self._list_file):
            with open(self._list_file, encoding="utf-8") as lines:
                self._files = [tuple(json.loads(line)) for line in lines if line.endswith("\n")]
            if self.bounded:
                return
        self._discover()

    def _discover(self) -> None:
        """Adds files that are not in the list yet, oldest first; a file's size is fixed when it is found."""
        if time.monotonic() < self._next_look:
            return
        self._next_look = time.monotonic() + self._look_every
        known = {name for name, _ in self._files}
        found = dict.fromkeys(file for path in self._paths for file in self._below(Path(path)))
        fresh = [p for p in found if str(p) not in known and not p.name.startswith((".", "_"))]
        stats = sorted((p.stat().st_mtime_ns, str(p), p.stat().st_size) for p in fresh)
        if not stats:
            return
        with open(self._list_file, "a", encoding="utf-8") as lines:
            for _, name, size in stats:
                lines.write(json.dumps([name, size]) + "\n")
            lines.flush()
            os.fsync(lines.fileno())
        self._files += [(name, size) for _, name, size in stats]

    def _below(self, root: Path) -> list[Path]:
        if not root.exists():
            raise ConfigError(
                "FILE_NOT_FOUND", f"The file source's path {root} does not exist. Create it, or correct the path."
            )
        return [root] if root.is_file() else [p for p in root.rglob(self._pattern) if p.is_file()]

    def initial(self) -> Offset:
        return {"file": 0, "byte": 0}

    def latest(self, start: Offset) -> Offset:
        if "*" in self.paused:
            return start
        if not self.bounded and start["file"] >= len(self._files):
            self._discover()
        file, byte, left = start["file"], start["byte"], self._limit
        while file < len(self._files) and left > 0:
            name, size = self._files[file]
            if size - byte > left and not is_compressed(name):
                return {"file": file, "byte": byte + left}
            left -= size - byte
            file, byte = file + 1, 0
        return {"file": file, "byte": byte}

    def plan(self, start: Offset, end: Offset, parallelism: int) -> list[Any]:
        tasks = []
        for file in range(start["file"], min(end["file"] + 1, len(self._files))):
            name, size = self._files[file]
            low = start["byte"] if file == start["file"] else 0
            high = end["byte"] if file == end["file"] else size
            if high > low:
                tasks.append((name, file, low, high))
        return _cut(tasks, parallelism)

    def read(self, task: Any) -> Iterator[Chunk]:
        for name, number, low, high in task:
            # One split per file; its number in the list first, so that splits sort as the files do.
            split = f"{number:09d}:{name}"
            for start, block in _blocks(name, low, high):
                with_empty = getattr(self._decode, "keeps_empty", False)
                positions = _starts(block, start, with_empty)
                bad: list[BadRecord] = []
                try:
                    values = self._decode(block)
                except Exception:
                    values, positions, bad = _line_by_line(name, block, positions.tolist(), start, self._decode)
                if len(values) != len(positions):
                    raise ConfigError(
                        "DECODER_COUNT",
                        f"The decoder made {len(values)} values of {len(positions)} lines of {name}; it must make one per line. "
                        "Filter and multiply in flat_map.",
                    )
                if values or bad:
                    yield Chunk(split, start, values, positions=positions, transient=True, bad=bad)

    def splits(self, offset: Offset) -> list[str]:
        return ["*"]

    def ended(self, offset: Offset) -> list[str]:
        return ["*"] if self.bounded and offset["file"] >= len(self._files) else []

    def waiting(self, end: Offset) -> list[str]:
        return ["*"] if end["file"] < len(self._files) else []


def json_lines(path: str | Path, type: Any = Any, **options: Any) -> FileSource:
    """A source of JSON lines, decoded to plain values or to a type that msgspec understands."""
    return FileSource(path, JsonLines(type), **options)


def decode_text(block: bytes) -> list[Any]:
    """Lines as text."""
    return [line for line in block.decode().split("\n") if line]


class JsonLines:
    """Decodes JSON lines in one call."""

    def __init__(self, type: Any = Any) -> None:
        self.output_type = type
        self.output_is_exact = _defaults_fit(type)  # all else msgspec makes as it is annotated

    def __call__(self, block: bytes) -> list[Any]:
        return msgspec.json.Decoder(self.output_type).decode_lines(block)


def _defaults_fit(annotation: Any) -> bool:
    """Whether the defaults of a Struct are what its annotations say: `x: float = 0` is not."""
    if not (isinstance(annotation, type) and issubclass(annotation, msgspec.Struct)):
        return False
    return all(
        f.default is msgspec.NODEFAULT or Types.of(f.type).fits([f.default])
        for f in msgspec.structs.fields(annotation)
        if f.default_factory is msgspec.NODEFAULT
    )


def _cut(tasks: list[tuple[str, int, int, int]], parts: int) -> list[Any]:
    """Spreads byte ranges over tasks of about the same size; each task reads its ranges in order."""
    total = sum(high - low for _, _, low, high in tasks)
    share = max(_LEAST_RANGE, -(-total // max(1, parts)))
    spread: list[list[tuple[str, int, int, int]]] = [[]]
    left = share
    for name, number, start, high in tasks:
        low = start
        while low < high:
            take = high - low if is_compressed(name) else min(high - low, left)
            spread[-1].append((name, number, low, low + take))
            low += take
            left -= take
            if left <= 0:
                spread.append([])
                left = share
    return [s for s in spread if s]


def _blocks(name: str, low: int, high: int) -> Iterator[tuple[int, bytes]]:
    """Whole lines that start in [low, high), some megabytes at a time, with the position of each block."""
    if is_compressed(name):  # always read whole
        yield from inflated_blocks(name)
        return
    with open(name, "rb") as file:
        if low:
            file.seek(low - 1)
            low = low - 1 + len(file.readline())
        while low < high:
            file.seek(low)
            block = file.read(min(_READ, high - low))
            if not block.endswith(b"\n"):
                block += file.readline()
            if not block:
                return
            yield low, block
            low += len(block)


def _starts(block: bytes, start: int, with_empty: bool) -> Any:
    """The position of each line, or of each that is not empty."""
    ends = np.flatnonzero(np.frombuffer(block, np.uint8) == 10)
    if not block.endswith(b"\n"):
        ends = np.append(ends, len(block))
    starts = np.empty(len(ends), np.int64)
    starts[:1] = 0
    starts[1:] = ends[:-1] + 1
    return (starts if with_empty else starts[ends > starts]) + start


def _line_by_line(
    name: str, block: bytes, positions: list[int], start: int, decode: Decoder
) -> tuple[list[Any], list[int], list[BadRecord]]:
    """The values of lines that decode, their positions, and the lines that do not."""
    values: list[Any] = []
    kept: list[int] = []
    bad: list[BadRecord] = []
    for position in positions:
        end = block.find(b"\n", position - start)
        line = block[position - start : end if end >= 0 else len(block)]
        try:
            (value,) = decode(line + b"\n")
        except Exception as error:
            bad.append(BadRecord(position, line, error, {"file": name, "byte": position}))
        else:
            values.append(value)
            kept.append(position)
    return values, kept, bad
