"""Deltas of the last batches in files beside the working copy, so that the next batch need not read them from Spark."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path


class PendingDeltas:
    """The files of a folder, one per delta. Several workers of a machine may use the same folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def write(self, seq: int, token: bytes, blobs: list[bytes]) -> None:
        """Stores the chunks of a delta. Errors are ignored because the delta is in the checkpoint too."""
        temporary = self._folder / f".{seq}-{token.hex()}.{os.getpid()}"
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            with open(temporary, "wb") as file:
                for blob in blobs:
                    file.write(len(blob).to_bytes(8, "big"))
                    file.write(blob)
            os.replace(temporary, self._folder / f"{seq}-{token.hex()}")
        except OSError:
            with suppress(OSError):
                temporary.unlink(missing_ok=True)

    def read(self, seq: int, token: bytes) -> list[bytes] | None:
        """Returns the chunks of a delta, or None if no worker of this machine has stored it."""
        try:
            return _split((self._folder / f"{seq}-{token.hex()}").read_bytes())
        except OSError:
            return None

    def read_all(self, seq: int) -> Iterator[list[bytes]]:
        """Yields the chunks of all deltas with a number. There are several if the batch was attempted several times."""
        for file in self._folder.glob(f"{seq}-*"):
            yield _split(file.read_bytes())

    def remove(self, up_to: int) -> None:
        """Removes the deltas up to a number."""
        if not self._folder.exists():
            return
        for file in self._folder.iterdir():
            number = file.name.lstrip(".").split("-")[0]
            if number.isdigit() and int(number) <= up_to:
                file.unlink(missing_ok=True)


def _split(data: bytes) -> list[bytes]:
    blobs, at = [], 0
    while at < len(data):
        size = int.from_bytes(data[at : at + 8], "big")
        blobs.append(data[at + 8 : at + 8 + size])
        at += 8 + size
    return blobs
