"""Compressed files, told by the end of their names. They cannot be read from the middle."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import zlib
from collections.abc import Callable, Iterator
from typing import Any

_READ = 4 << 20


class _Deflated(io.RawIOBase):
    """A file of zlib's format, as Java's deflater writes it."""

    def __init__(self, name: str) -> None:
        self._file = open(name, "rb")  # noqa: SIM115 - closed with this one
        self._inflate = zlib.decompressobj()
        self._left = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._left and not self._inflate.eof:
            read = self._file.read(_READ)
            self._left = self._inflate.decompress(read) if read else self._inflate.flush()
            if not read:
                break
        taken, self._left = self._left[: len(buffer)], self._left[len(buffer) :]
        buffer[: len(taken)] = taken
        return len(taken)

    def close(self) -> None:
        self._file.close()
        super().close()


_OPENERS: dict[str, Callable[[str], Any]] = {
    ".gz": gzip.open,
    ".gzip": gzip.open,
    ".bz2": bz2.open,
    ".xz": lzma.open,
    ".deflate": lambda name: io.BufferedReader(_Deflated(name)),
}


def is_compressed(name: str) -> bool:
    """
    >>> is_compressed("a.gz"), is_compressed("a.txt")
    (True, False)
    """
    return os.path.splitext(name)[1].lower() in _OPENERS


def inflated_blocks(name: str) -> Iterator[tuple[int, bytes]]:
    """Whole lines, some megabytes at a time, with the position of each block in the text."""
    position = 0
    with _OPENERS[os.path.splitext(name)[1].lower()](name) as file:
        while block := file.read(_READ):
            if not block.endswith(b"\n"):
                block += file.readline()
            yield position, block
            position += len(block)
