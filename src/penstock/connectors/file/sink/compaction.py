"""Joins the small files of many batches and tasks to large ones before readers see them."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from penstock.connectors.file.journal import Part, Piece
from penstock.errors import ConfigError

_COPIED = 4 << 20
Write = Callable[[list[Any]], None]


@dataclass(frozen=True)
class FileCompactStrategy:
    """When the files of a folder are joined: after so many batches, or when they have a size together.

    >>> FileCompactStrategy.builder().enable_compaction_on_checkpoint(5).build()
    FileCompactStrategy(size_threshold=-1, num_checkpoints_before_compaction=5, num_compact_threads=1)
    """

    size_threshold: int = -1
    num_checkpoints_before_compaction: int = -1
    num_compact_threads: int = 1

    @staticmethod
    def builder() -> FileCompactStrategy.Builder:
        """Begins with a strategy that never joins files."""
        return FileCompactStrategy.Builder()

    class Builder:
        """Collects the settings."""

        def __init__(self) -> None:
            self._size = -1
            self._checkpoints = -1
            self._threads = 1

        def enable_compaction_on_checkpoint(
            self, num_checkpoints_before_compaction: int
        ) -> FileCompactStrategy.Builder:
            """Joins files when so many batches were committed since the first of them."""
            self._checkpoints = _positive("num_checkpoints_before_compaction", num_checkpoints_before_compaction)
            return self

        def set_size_threshold(self, size_threshold: int) -> FileCompactStrategy.Builder:
            """Joins files as soon as they have this size together, in bytes."""
            self._size = size_threshold
            return self

        def set_num_compact_threads(self, num_compact_threads: int) -> FileCompactStrategy.Builder:
            """How many folders are worked on at the same time."""
            self._threads = _positive("num_compact_threads", num_compact_threads)
            return self

        def build(self) -> FileCompactStrategy:
            if self._size < 0 and self._checkpoints <= 0:
                raise ConfigError(
                    "COMPACT_STRATEGY",
                    "The strategy never joins files. Set enable_compaction_on_checkpoint, set_size_threshold, or both.",
                )
            return FileCompactStrategy(self._size, self._checkpoints, self._threads)


def _positive(name: str, value: int) -> int:
    if value <= 0:
        raise ConfigError("COMPACT_STRATEGY", f"{name} is {value}; it must be more than 0.")
    return value


class FileCompactor:
    """Joins files. A subclass writes `compact`, or, where it needs the sink's own writer, `compact_records`."""

    record_wise = False

    def compact(self, inputs: Iterable[Any], output: Any) -> None:
        """Writes the content of open files, one after the other, to another one."""
        raise NotImplementedError

    def compact_records(self, inputs: Iterable[Any], write: Write) -> None:
        """Gives all elements of open files to the writer of a new one."""
        raise NotImplementedError

    @staticmethod
    def concat_file_compactor(file_delimiter: bytes | None = None) -> FileCompactor:
        """One file after the other, with a delimiter between them if one is given.

        >>> import io
        >>> out = io.BytesIO()
        >>> FileCompactor.concat_file_compactor(b"--").compact([io.BytesIO(b"a"), io.BytesIO(b"b")], out); out.getvalue()
        b'a--b'
        """
        return _Concat(file_delimiter or b"")

    @staticmethod
    def identical_file_compactor() -> FileCompactor:
        """Copies the only file; fails if there are more."""
        return _Identical()

    @staticmethod
    def record_wise_file_compactor(reader: Any) -> FileCompactor:
        """Reads elements with a bulk format's reader and writes them with the sink's writer: for Parquet, ORC, Avro."""
        return _RecordWise(reader)


class _Concat(FileCompactor):
    def __init__(self, delimiter: bytes) -> None:
        self._delimiter = delimiter

    def compact(self, inputs: Iterable[Any], output: Any) -> None:
        for number, file in enumerate(inputs):
            if number:
                output.write(self._delimiter)
            shutil.copyfileobj(file, output, _COPIED)


class _Identical(FileCompactor):
    def compact(self, inputs: Iterable[Any], output: Any) -> None:
        for number, file in enumerate(inputs):
            if number:
                raise ConfigError(
                    "COMPACT_SEVERAL",
                    "identical_file_compactor got more than one file to join. Use concat_file_compactor, or "
                    "record_wise_file_compactor where files cannot be put one behind the other.",
                )
            shutil.copyfileobj(file, output, _COPIED)


class _RecordWise(FileCompactor):
    record_wise = True

    def __init__(self, reader: Any) -> None:
        self._reader = reader

    def compact_records(self, inputs: Iterable[Any], write: Write) -> None:
        for file in inputs:
            for values in self._reader.read(file):
                write(values)


class CompactedParts:
    """Files by a strategy of compaction: pieces of several batches and tasks wait, hidden, until it says so."""

    def __init__(self, strategy: FileCompactStrategy) -> None:
        self._strategy = strategy

    def fits(self, part: Part, piece: Piece) -> bool:
        threshold = self._strategy.size_threshold
        return threshold < 0 or part.size < threshold

    def is_full(self, part: Part, now: int) -> bool:
        strategy = self._strategy
        if 0 <= strategy.size_threshold <= part.size:
            return True
        return 0 < strategy.num_checkpoints_before_compaction <= part.batches

    def due(self, part: Part) -> int | None:
        return None
