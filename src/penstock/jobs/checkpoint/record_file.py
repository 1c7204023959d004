"""Files of checksummed records. A process may be killed while it appends, so the last record may be incomplete.

A record is its length (4 bytes), the CRC-32 of its data (4 bytes) and its data.
"""

from __future__ import annotations

import os
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path

from penstock.errors import CheckpointError, JobError

_HEADER = struct.Struct("<II")


def encode_record(data: bytes) -> bytes:
    """The bytes of a record."""
    return _HEADER.pack(len(data), zlib.crc32(data)) + data


def read_records(file: Path) -> Iterator[tuple[int, bytes]]:
    """Yields the end position and the data of each record. An incomplete last record is left out.

    Raises:
        CheckpointError: a record in the middle of the file is damaged.
    """
    contents = file.read_bytes()
    size, at = len(contents), 0
    while at + _HEADER.size <= size:
        length, checksum = _HEADER.unpack_from(contents, at)
        start, end = at + _HEADER.size, at + _HEADER.size + length
        data = contents[start:end]
        if end > size or zlib.crc32(data) != checksum:
            if end < size and contents[at:].strip(b"\0"):
                raise damaged_file(file, f"the record at byte {at:,} has other bytes than were written")
            return
        if not length:  # a disk that lost its power may leave zeros after the last record
            return
        yield end, data
        at = end


def damaged_file(file: Path, problem: str) -> CheckpointError:
    return CheckpointError(
        "CHECKPOINT_DAMAGED",
        f"{file} is damaged: {problem}. Start the job from its last savepoint (--from-savepoint), or without state.",
    )


class RecordWriter:
    """Appends records to a file. With `position`, what follows that position is removed first."""

    def __init__(self, file: Path, position: int = 0) -> None:
        self._name = str(file)
        try:
            self._descriptor = os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            os.ftruncate(self._descriptor, position)
            os.lseek(self._descriptor, position, os.SEEK_SET)
        except OSError as error:
            raise _write_error(self._name, error) from error
        self.size = position

    def append(self, data: bytes, sync: bool = True) -> None:
        """Appends a record. With `sync`, it is on the disk when the call returns."""
        try:
            _write_all(self._descriptor, encode_record(data))
            if sync:
                os.fdatasync(self._descriptor)
        except OSError as error:
            raise _write_error(self._name, error) from error
        self.size += _HEADER.size + len(data)

    def sync(self) -> None:
        os.fsync(self._descriptor)

    def close(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


def _write_all(descriptor: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(descriptor, rest) :]


def _write_error(file: str, error: OSError) -> JobError:
    """The failure of a job whose checkpoint cannot be written. Its restart strategy applies to it."""
    return JobError(
        "CHECKPOINT_STORAGE",
        f"The checkpoint file {file} cannot be written: {error.strerror or error}. The batch was not committed, and no data is "
        "lost. Free or repair the disk and resume the job.",
    )


def sync_folder(folder: Path) -> None:
    """Makes the names of new files in a folder durable."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
