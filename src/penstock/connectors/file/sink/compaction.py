"""Compacts small files of many batches and tasks into large files before they become visible."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from penstock.connectors.file.sink.journal import PendingFile, Piece
from penstock.errors import ConfigError

_BUFFER_SIZE = 4 << 20
Write = Callable[[list[Any]], None]


@dataclass(frozen=True)
class FileCompactStrategy:
    """Defines when the files of a bucket are compacted: after a number of batches, or when they reach a total size.

    >>> FileCompactStrategy.builder().enable_compaction_on_checkpoint(5).build()
    FileCompactStrategy(size_threshold=-1, num_checkpoints_before_compaction=5, num_compact_threads=1)
    """

    size_threshold: int = -1
    num_checkpoints_before_compaction: int = -1
    num_compact_threads: int = 1

    @staticmethod
    def builder() -> FileCompactStrategy.Builder:
        """Returns a builder."""
        return FileCompactStrategy.Builder()

    class Builder:
        """Builds a FileCompactStrategy."""

        def __init__(self) -> None:
            self._size = -1
            self._checkpoints = -1
            self._threads = 1

        def enable_compaction_on_checkpoint(
            self, num_checkpoints_before_compaction: int
        ) -> FileCompactStrategy.Builder:
            """Compacts files when this number of batches was committed since the first of them."""
            self._checkpoints = _positive("num_checkpoints_before_compaction", num_checkpoints_before_compaction)
            return self

        def set_size_threshold(self, size_threshold: int) -> FileCompactStrategy.Builder:
            """Compacts files as soon as they reach this total size, in bytes."""
            self._size = size_threshold
            return self

        def set_num_compact_threads(self, num_compact_threads: int) -> FileCompactStrategy.Builder:
            """Sets how many files are compacted in parallel."""
            self._threads = _positive("num_compact_threads", num_compact_threads)
            return self

        def build(self) -> FileCompactStrategy:
            if self._size < 0 and self._checkpoints <= 0:
                raise ConfigError(
                    "COMPACT_STRATEGY",
                    "The compaction strategy has no condition. Call enable_compaction_on_checkpoint, set_size_threshold, or both.",
                )
            return FileCompactStrategy(self._size, self._checkpoints, self._threads)


def _positive(name: str, value: int) -> int:
    if value <= 0:
        raise ConfigError("COMPACT_STRATEGY", f"{name} is {value}; it must be greater than 0.")
    return value


class FileCompactor:
    """Compacts files. A subclass implements `compact`, or `compact_records` with `record_wise = True`."""

    record_wise = False

    def compact(self, inputs: Iterable[Any], output: Any) -> None:
        """Writes the content of the open input files to the output file."""
        raise NotImplementedError

    def compact_records(self, inputs: Iterable[Any], write: Write) -> None:
        """Passes all elements of the open input files to the writer of the new file."""
        raise NotImplementedError

    @staticmethod
    def concat_file_compactor(file_delimiter: bytes | None = None) -> FileCompactor:
        """Returns a compactor that concatenates files, with an optional delimiter between them.

        >>> import io
        >>> out = io.BytesIO()
        >>> FileCompactor.concat_file_compactor(b"--").compact([io.BytesIO(b"a"), io.BytesIO(b"b")], out); out.getvalue()
        b'a--b'
        """
        return _Concat(file_delimiter or b"")

    @staticmethod
    def identical_file_compactor() -> FileCompactor:
        """Returns a compactor that copies a single file. It fails if there are several."""
        return _Identical()

    @staticmethod
    def record_wise_file_compactor(reader: Any) -> FileCompactor:
        """Returns a compactor that reads and rewrites elements, for Parquet, ORC and Avro. `reader` is a bulk format."""
        return _RecordWise(reader)


class _Concat(FileCompactor):
    def __init__(self, delimiter: bytes) -> None:
        self._delimiter = delimiter

    def compact(self, inputs: Iterable[Any], output: Any) -> None:
        for number, file in enumerate(inputs):
            if number:
                output.write(self._delimiter)
            shutil.copyfileobj(file, output, _BUFFER_SIZE)


class _Identical(FileCompactor):
    def compact(self, inputs: Iterable[Any], output: Any) -> None:
        for number, file in enumerate(inputs):
            if number:
                raise ConfigError(
                    "COMPACT_SEVERAL",
                    "identical_file_compactor got more than one file. Use concat_file_compactor, or record_wise_file_compactor if "
                    "the format cannot be concatenated.",
                )
            shutil.copyfileobj(file, output, _BUFFER_SIZE)


class _RecordWise(FileCompactor):
    record_wise = True

    def __init__(self, reader: Any) -> None:
        self._reader = reader

    def compact_records(self, inputs: Iterable[Any], write: Write) -> None:
        for file in inputs:
            for values in self._reader.read(file):
                write(values)


class CompactionPacking:
    """Applies a compaction strategy. Pieces of several batches and tasks stay hidden until the strategy's condition is met."""

    def __init__(self, strategy: FileCompactStrategy) -> None:
        self._strategy = strategy

    def fits(self, file: PendingFile, piece: Piece) -> bool:
        threshold = self._strategy.size_threshold
        return threshold < 0 or file.size < threshold

    def is_full(self, file: PendingFile, now: int) -> bool:
        strategy = self._strategy
        if 0 <= strategy.size_threshold <= file.size:
            return True
        return 0 < strategy.num_checkpoints_before_compaction <= file.batches

    def due(self, file: PendingFile) -> int | None:
        return None
