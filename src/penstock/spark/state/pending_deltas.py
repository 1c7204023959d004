"""Deltas of the last batches in files beside the working copy, so that the next batch need not read them from Spark."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from penstock.atomic_file import remove_file, write_atomic

_CHECKSUM = 4  # bytes at the beginning of a file


class PendingDeltas:
    """The files of a folder, one per delta. Several workers of a machine may use the same folder.

    A file that is damaged counts as missing, because the delta is in the checkpoint too.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def write(self, seq: int, token: bytes, blobs: list[bytes]) -> None:
        """Stores the chunks of a delta. Errors are ignored because the delta is in the checkpoint too."""
        data = b"".join(part for blob in blobs for part in (len(blob).to_bytes(8, "big"), blob))
        with suppress(OSError):
            self._folder.mkdir(parents=True, exist_ok=True)
            checksum = zlib.crc32(data).to_bytes(_CHECKSUM, "big")
            write_atomic(self._folder / f"{seq}-{token.hex()}", checksum + data, durable=False)

    def read(self, seq: int, token: bytes) -> list[bytes] | None:
        """Returns the chunks of a delta, or None if no worker of this machine has stored it."""
        return _read(self._folder / f"{seq}-{token.hex()}")

    def read_all(self, seq: int) -> Iterator[list[bytes]]:
        """Yields the chunks of all deltas with a number. There are several if the batch was attempted several times."""
        for file in self._folder.glob(f"{seq}-*"):
            blobs = _read(file)
            if blobs:
                yield blobs

    def remove(self, up_to: int) -> None:
        """Removes the deltas up to a number."""
        with suppress(OSError):
            for file in self._folder.iterdir():
                number = file.name.lstrip(".").split("-")[0]
                if number.isdigit() and int(number) <= up_to:
                    remove_file(file)


def _read(file: Path) -> list[bytes] | None:
    try:
        stored = file.read_bytes()
    except OSError:
        return None
    checksum, data = stored[:_CHECKSUM], stored[_CHECKSUM:]
    if zlib.crc32(data).to_bytes(_CHECKSUM, "big") != checksum:
        return None
    return _split(data)


def _split(data: bytes) -> list[bytes]:
    blobs, at = [], 0
    while at < len(data):
        size = int.from_bytes(data[at : at + 8], "big")
        blobs.append(data[at + 8 : at + 8 + size])
        at += 8 + size
    return blobs
