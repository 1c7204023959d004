"""The file source."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

from penstock.connectors.file.source import source_builder
from penstock.connectors.file.source.compressed import DamagedFileError, is_compressed
from penstock.connectors.file.source.enumerator import FileEnumeratorProvider
from penstock.connectors.file.source.file_list import FILE_ORDERS, FileList, FileOrder, to_file_status
from penstock.connectors.file.source.split_reader import FileRange, create_reader, split_name
from penstock.connectors.file.source.stream_format import Decoder, JsonLines, StreamFormat, decode_text
from penstock.connectors.file.system.file_system import FileStatus, FileSystem, Options, absolute_path, file_system
from penstock.connectors.secret import wrap_secrets
from penstock.connectors.source import DEFAULT_BYTES_PER_BATCH, Chunk, Offset, Source
from penstock.errors import ConfigError, JobError, warn_ignored
from penstock.formats.bulk import BulkFormat
from penstock.formats.schema import DeserializationSchema
from penstock.runtime.loop.channels import ALL_SPLITS

_MIN_RANGE = 1 << 20  # bytes of a task
_FILES_PER_BATCH = 1000

Paths = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]
Format = Decoder | StreamFormat | BulkFormat | DeserializationSchema[Any]


class FileSource(Source):
    """Reads the lines of files, or the elements that a format decodes from them.

    A bounded source reads the files that exist when the job starts. Otherwise new files are found while the job runs. The list of
    files is stored with the checkpoint, so a restarted job reads the same files in the same order. Files with the extension .gz,
    .bz2, .xz, .deflate or .zst are decompressed.

    A file must be complete when it appears. The job fails if a file has changed or has been removed between the time when it was
    found and the time when it is read. With `changed_files="as_listed"`, a file that has grown is read up to its original size.

    In event time, each file is a split. Files that have been found and not read yet hold the watermark back, so no record is late
    because its file was read after another one. Windows stay in state until the last of these files is read. If each file
    contains only events that happened after those of the previous file, set `files_in_time_order` to "modification_time" or
    "path", which is the order in which the files are read. Event time then advances file by file.
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
        files_in_time_order: FileOrder | None = None,
        start_at: Offset | None = None,
        storage_options: Options | None = None,
    ) -> None:
        if changed_files not in ("fail", "as_listed"):
            raise ConfigError("CHANGED_FILES", f"changed_files is {changed_files!r}; expected 'fail' or 'as_listed'.")
        if files_in_time_order not in (None, *FILE_ORDERS):
            raise ConfigError(
                "FILE_ORDER",
                f"files_in_time_order is {files_in_time_order!r}; expected 'modification_time', 'path' or None. It declares that "
                "event time advances from file to file in this order. Omit it if files overlap in time.",
            )
        if enumerator is not None and pattern != "*":
            raise ConfigError(
                "FILE_PATTERN",
                f"The file source got the pattern {pattern!r} and an enumerator, which has its own pattern "
                f"({enumerator.pattern!r}). Pass FileEnumeratorProvider(pattern={pattern!r}), or only the pattern.",
            )
        if bounded and look_every:
            warn_ignored(
                "FileSource: look_every has no effect, because the source is bounded. It looks for files once."
            )
        self.bounded = bounded
        self.transient_splits = "unordered" if files_in_time_order is None else "sequence"
        paths = [path] if isinstance(path, (str, os.PathLike)) else path
        self._paths = [absolute_path(p) for p in paths]
        self._enumerator = enumerator or FileEnumeratorProvider(pattern=pattern)
        self._discovery_interval = look_every  # seconds
        self._next_discovery = 0.0
        decoder = decode.decode if isinstance(decode, StreamFormat) else decode or decode_text
        self._reader = create_reader(decoder)
        self.output_type = str if decoder is decode_text else getattr(decoder, "output_type", None)
        self.output_is_exact = decoder is decode_text or getattr(decoder, "output_is_exact", False)
        self._bytes_per_batch = bytes_per_batch or DEFAULT_BYTES_PER_BATCH
        self._files_per_batch = files_per_batch
        self._as_listed = changed_files == "as_listed"
        self._start_at = start_at
        self._options = wrap_secrets(storage_options or {})
        self._list = FileList(files_in_time_order or "modification_time")
        self._attached = False

    @staticmethod
    def for_record_stream_format(
        stream_format: StreamFormat | BulkFormat, *paths: str
    ) -> source_builder.FileSourceBuilder:
        """Returns a builder for files of records, such as lines.

        >>> FileSource.for_record_stream_format(StreamFormat.text_line_format(), "in").build().bounded
        True
        """
        return source_builder.FileSourceBuilder(stream_format, paths)

    @staticmethod
    def for_bulk_file_format(bulk_format: BulkFormat, *paths: str) -> source_builder.FileSourceBuilder:
        """Returns a builder for bulk formats such as Parquet."""
        return source_builder.FileSourceBuilder(bulk_format, paths)

    # -- the list of files

    def attach(self, folder: str) -> None:
        self._attached = True
        if not (self._list.attach(folder) and self.bounded):
            self._discover()

    def _discover(self) -> None:
        """Adds new files to the list. The size of a file is fixed when it is found."""
        if time.monotonic() < self._next_discovery:
            return
        self._next_discovery = time.monotonic() + self._discovery_interval
        self._list.add(file for path in self._paths for file in self._enumerator.find(self._system(path), path))

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
            self._list.replace([to_file_status(entry) for entry in position["files"]])
            if not self.bounded:
                self._discover()
        return {"file": position["file"], "byte": position["byte"]}

    def foreign_parts(self, position: Offset) -> list[str]:
        paths = [path.rstrip("/") for path in self._paths]
        folders = {
            os.path.dirname(path)
            for path in (to_file_status(entry).path for entry in position.get("files", ()))
            if not any(path == own or path.startswith(f"{own}/") for own in paths)
        }
        return [f"folder {folder}" for folder in sorted(folders)]

    def latest(self, start: Offset) -> Offset:
        self._list.check_offset(start["file"], start["byte"])
        if ALL_SPLITS in self.paused:
            return start
        files = self._list.files
        if not self.bounded and start["file"] >= len(files):
            self._discover()
        file, byte, remaining = start["file"], start["byte"], self._bytes_per_batch
        last = min(len(files), file + self._files_per_batch)
        while file < last and remaining > 0:
            status = files[file]
            if status.size - byte > remaining and self._can_split(status.path):
                return {"file": file, "byte": byte + remaining}
            remaining -= status.size - byte
            file, byte = file + 1, 0
        return {"file": file, "byte": byte}

    def plan(self, start: Offset, end: Offset, parallelism: int) -> list[Any]:
        self._list.check_offset(end["file"], end["byte"])
        ranges = []
        for number in range(start["file"], min(end["file"] + 1, len(self._list.files))):
            status = self._list.files[number]
            low = start["byte"] if number == start["file"] else 0
            high = end["byte"] if number == end["file"] else status.size
            if high > low:
                ranges.append(FileRange(status.path, number, low, high, status.size, status.modified))
        return self._assign_to_tasks(ranges, parallelism)

    def _can_split(self, path: str) -> bool:
        return self._reader.splittable and self._enumerator.splittable and not is_compressed(path)

    def _assign_to_tasks(self, ranges: list[FileRange], parallelism: int) -> list[list[FileRange]]:
        """Distributes ranges over tasks of about the same size. Each task reads its ranges in order."""
        total = sum(r.high - r.low for r in ranges)
        task_size = max(_MIN_RANGE, -(-total // max(1, parallelism)))
        tasks: list[list[FileRange]] = [[]]
        remaining = task_size
        for r in ranges:
            low = r.low
            while low < r.high:
                size = min(r.high - low, remaining) if self._can_split(r.path) else r.high - low
                tasks[-1].append(replace(r, low=low, high=low + size))
                low += size
                remaining -= size
                if remaining <= 0:
                    tasks.append([])
                    remaining = task_size
        return [task for task in tasks if task]

    def splits(self, offset: Offset) -> list[str]:
        return [ALL_SPLITS]

    def ended(self, offset: Offset) -> list[str]:
        return [ALL_SPLITS] if self.bounded and offset["file"] >= len(self._list.files) else []

    def waiting(self, end: Offset) -> list[str]:
        """Files that are known and have not been started hold event time back, unless the files are ordered in time."""
        files, number = self._list.files, end["file"]
        started = [split_name(number, files[number].path)] if end["byte"] else []
        unread = (file.size > 0 for file in islice(files, number + len(started), None))
        return started + [ALL_SPLITS] * any(unread)

    # -- reading

    def read(self, task: Any) -> Iterator[Chunk]:
        for file_range in task:
            system = self._system(file_range.path)
            self._check(file_range, system.get_status(file_range.path))
            try:
                with system.open(file_range.path) as file:
                    yield from self._reader.read(file, file_range)
            except FileNotFoundError:
                self._check(file_range, None)
            except DamagedFileError as error:
                raise _changed_file_error(file_range, str(error)) from error

    def _check(self, file_range: FileRange, now: FileStatus | None) -> None:
        """Raises JobError if the file is no longer as it was when it was found."""
        if now is None:
            raise JobError(
                "FILE_VANISHED",
                f"The file {file_range.path} was found with {file_range.size} bytes but no longer exists. Put it back and "
                "resume the job. Remove or move files only after the job has read them and committed the batch.",
            )
        if self._as_listed and now.size >= file_range.size:
            return
        if now.size != file_range.size:
            raise _changed_file_error(
                file_range, f"it had {file_range.size} bytes when it was found and has {now.size} bytes now"
            )
        if file_range.modified and now.modified and now.modified != file_range.modified:
            raise _changed_file_error(file_range, "it was written again after it was found")


def _changed_file_error(file_range: FileRange, reason: str) -> JobError:
    return JobError(
        "FILE_CHANGED",
        f"The file {file_range.path} has changed: {reason}. A file must be complete when it appears. Write it under a name "
        "that starts with a dot, then rename it. If files only grow, changed_files='as_listed' reads them up to the size that "
        "they had when they were found.",
    )


def json_lines(path: str | Path, type: Any = Any, **options: Any) -> FileSource:
    """Returns a source of JSON lines, decoded to plain values or to a type that msgspec supports."""
    return FileSource(path, JsonLines(type), **options)
