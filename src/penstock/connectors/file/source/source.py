"""Elements of files: of a folder, a file or several, with positions of our own."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from penstock.connectors.file import source_builder
from penstock.connectors.file.compressed import DamagedError, is_compressed
from penstock.connectors.file.enumerator import FileEnumeratorProvider
from penstock.connectors.file.file_list import FileList, as_found
from penstock.connectors.file.reading import FilePart, reader_of
from penstock.connectors.file.stream_format import Decoder, JsonLines, StreamFormat, decode_text
from penstock.connectors.file.system import FileSystem, FoundFile, Options, absolute, file_system
from penstock.connectors.secret import with_secrets
from penstock.connectors.source import DEFAULT_BYTES_PER_BATCH, Chunk, Offset, Source
from penstock.errors import ConfigError, JobError
from penstock.formats.bulk import BulkFormat
from penstock.formats.schema import DeserializationSchema

_LEAST_RANGE = 1 << 20
_FILES_PER_BATCH = 1000

Paths = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]
Format = Decoder | StreamFormat | BulkFormat | DeserializationSchema[Any]


class FileSource(Source):
    """The lines of files, or what a format makes of them.

    Bounded: the files there are at the start. Else new files are found while the job runs. A file's place in the list and a
    byte position are the offset; the list is kept with the checkpoint, so a restart reads the same files in the same
    order. Files that end in .gz, .bz2, .xz, .deflate or .zst are read as what is in them.

    A file must be whole when it appears: it is read as it was when it was found. If it has changed or is gone when its turn
    comes, the job fails; `changed_files="as_listed"` reads the bytes that it had, if it has only grown.
    """

    def __init__(
        self,
        path: Paths,
        decode: Format | None = None,
        *,
        bounded: bool = True,
        bytes_per_batch: int | None = None,
        files_per_batch: int = _FILES_PER_BATCH,
        pattern: str = "*",
        enumerator: FileEnumeratorProvider | None = None,
        look_every: float = 0.0,
        changed_files: str = "fail",
        start_at: Offset | None = None,
        storage_options: Options | None = None,
    ) -> None:
        if changed_files not in ("fail", "as_listed"):
            raise ConfigError("CHANGED_FILES", f"changed_files is {changed_files!r}. It is 'fail' or 'as_listed'.")
        self.bounded = bounded
        paths = [path] if isinstance(path, (str, os.PathLike)) else path
        self._paths = [absolute(p) for p in paths]
        self._files = enumerator or FileEnumeratorProvider(pattern=pattern)
        self._look_every = look_every  # seconds between two looks for new files
        self._next_look = 0.0
        chosen = decode.decode if isinstance(decode, StreamFormat) else decode or decode_text
        self._reader = reader_of(chosen)
        self.output_type = str if chosen is decode_text else getattr(chosen, "output_type", None)
        self.output_is_exact = chosen is decode_text or getattr(chosen, "output_is_exact", False)
        self._limit = bytes_per_batch or DEFAULT_BYTES_PER_BATCH
        self._most_files = files_per_batch
        self._as_listed = changed_files == "as_listed"
        self._start_at = start_at
        self._options = with_secrets(storage_options or {})
        self._list = FileList()
        self._attached = False

    @staticmethod
    def for_record_stream_format(
        stream_format: StreamFormat | BulkFormat, *paths: str
    ) -> source_builder.FileSourceBuilder:
        """A source built in Flink's way.

        >>> FileSource.for_record_stream_format(StreamFormat.text_line_format(), "in").build().bounded
        True
        """
        return source_builder.FileSourceBuilder(stream_format, paths)

    @staticmethod
    def for_bulk_file_format(bulk_format: BulkFormat, *paths: str) -> source_builder.FileSourceBuilder:
        """A source of files that are read as a whole, such as Parquet, built in Flink's way."""
        return source_builder.FileSourceBuilder(bulk_format, paths)

    # -- the list of files

    def attach(self, folder: str) -> None:
        self._attached = True
        if not (self._list.attach(folder) and self.bounded):
            self._discover()

    def _discover(self) -> None:
        """Adds files that are not in the list yet; a file's size is fixed when it is found."""
        if time.monotonic() < self._next_look:
            return
        self._next_look = time.monotonic() + self._look_every
        self._list.add(file for path in self._paths for file in self._files.find(self._system(path), path))

    def _system(self, path: str) -> FileSystem:
        return file_system(path, self._options)

    # -- offsets

    def initial(self) -> Offset:
        if self._start_at is not None and self._attached:
            return self.restored(self._start_at)
        return {"file": 0, "byte": 0}

    def position(self, offset: Offset) -> Offset:
        return {**offset, "files": [list(file) for file in self._list.files]}

    def restored(self, position: Offset) -> Offset:
        if "files" in position:
            self._list.replace([as_found(entry) for entry in position["files"]])
            if not self.bounded:
                self._discover()
        return {"file": position["file"], "byte": position["byte"]}

    def latest(self, start: Offset) -> Offset:
        if "*" in self.paused:
            return start
        files = self._list.files
        if not self.bounded and start["file"] >= len(files):
            self._discover()
        file, byte, left = start["file"], start["byte"], self._limit
        last = min(len(files), file + self._most_files)
        while file < last and left > 0:
            found = files[file]
            if found.size - byte > left and self._can_cut(found.path):
                return {"file": file, "byte": byte + left}
            left -= found.size - byte
            file, byte = file + 1, 0
        return {"file": file, "byte": byte}

    def plan(self, start: Offset, end: Offset, parallelism: int) -> list[Any]:
        parts = []
        for number in range(start["file"], min(end["file"] + 1, len(self._list.files))):
            found = self._list.files[number]
            low = start["byte"] if number == start["file"] else 0
            high = end["byte"] if number == end["file"] else found.size
            if high > low:
                parts.append(FilePart(found.path, number, low, high, found.size, found.modified))
        return self._shares(parts, parallelism)

    def _can_cut(self, path: str) -> bool:
        return self._reader.cuts and self._files.splittable and not is_compressed(path)

    def _shares(self, parts: list[FilePart], tasks: int) -> list[list[FilePart]]:
        """Spreads parts over tasks of about the same size; each task reads its parts in order."""
        total = sum(part.high - part.low for part in parts)
        share = max(_LEAST_RANGE, -(-total // max(1, tasks)))
        spread: list[list[FilePart]] = [[]]
        left = share
        for part in parts:
            low = part.low
            while low < part.high:
                take = min(part.high - low, left) if self._can_cut(part.path) else part.high - low
                spread[-1].append(replace(part, low=low, high=low + take))
                low += take
                left -= take
                if left <= 0:
                    spread.append([])
                    left = share
        return [parts for parts in spread if parts]

    def splits(self, offset: Offset) -> list[str]:
        return ["*"]

    def ended(self, offset: Offset) -> list[str]:
        return ["*"] if self.bounded and offset["file"] >= len(self._list.files) else []

    def waiting(self, end: Offset) -> list[str]:
        return ["*"] if end["file"] < len(self._list.files) else []

    # -- reading

    def read(self, task: Any) -> Iterator[Chunk]:
        for part in task:
            system = self._system(part.path)
            self._check(part, system.find(part.path))
            try:
                with system.open(part.path) as file:
                    yield from self._reader.read(file, part)
            except FileNotFoundError:
                self._check(part, None)
            except DamagedError as error:
                raise _changed(part, str(error)) from error

    def _check(self, part: FilePart, now: FoundFile | None) -> None:
        """Whether a file is still what was found."""
        if now is None:
            raise JobError(
                "FILE_VANISHED",
                f"The file {part.path} was found with {part.size} bytes, and is gone now that it is to be read. Put it back and "
                "resume the job. Remove or move files only when the job has read them and has committed that.",
            )
        if self._as_listed and now.size >= part.size:
            return
        if now.size != part.size:
            raise _changed(part, f"it had {part.size} bytes when it was found, and has {now.size} now")
        if part.modified and now.modified and now.modified != part.modified:
            raise _changed(part, "it was written again after it was found")


def _changed(part: FilePart, how: str) -> JobError:
    return JobError(
        "FILE_CHANGED",
        f"The file {part.path} is not what it was: {how}. A file must be whole when it appears: write it under a name "
        "that begins with a dot, and rename it. changed_files='as_listed' reads the bytes that it had when it was found, if it has "
        "only grown.",
    )


def json_lines(path: str | Path, type: Any = Any, **options: Any) -> FileSource:
    """A source of JSON lines, decoded to plain values or to a type that msgspec understands."""
    return FileSource(path, JsonLines(type), **options)
