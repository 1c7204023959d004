"""Whole lines of a file, some megabytes at a time, from any part of it: each line belongs to the part it begins in."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from penstock.connectors.file.compressed import DamagedError, inflated

_READ = 4 << 20


def blocks(file: Any, low: int, high: int, size: int) -> Iterator[tuple[int, bytes]]:
    """The lines that begin in [low, high) of a file with so many bytes, with the position of each block."""
    if low:
        file.seek(low - 1)
        low = low - 1 + len(file.readline(size - low + 1))
    while low < high:
        file.seek(low)
        block = file.read(min(_READ, high - low))
        if not block.endswith(b"\n"):
            block += file.readline(size - low - len(block))
        if not block:
            raise DamagedError(f"it ends at byte {low}, and had {size} bytes when it was found")
        yield low, block
        low += len(block)


def inflated_blocks(file: Any, name: str) -> Iterator[tuple[int, bytes]]:
    """All lines of a compressed file, with positions in its text. DamagedError carries what is left of the last line."""
    position = 0
    kept: list[bytes] = []
    try:
        for piece in inflated(file, name):
            cut = piece.rfind(b"\n") + 1
            if cut:
                block = b"".join((*kept, piece[:cut]))
                yield position, block
                position += len(block)
                kept = []
            if cut < len(piece):
                kept.append(piece[cut:])
    except DamagedError as error:
        raise LinesDamagedError(position, b"".join(kept), str(error)) from error
    if kept:
        yield position, b"".join(kept)


class LinesDamagedError(DamagedError):
    """Nothing can be read of a file from a position on."""

    def __init__(self, position: int, left: bytes, text: str) -> None:
        super().__init__(text)
        self.position = position
        self.left = left


def starts(block: bytes, start: int, with_empty: bool) -> Any:
    """The position of each line, or of each that is not empty."""
    ends = np.flatnonzero(np.frombuffer(block, np.uint8) == 10)
    if not block.endswith(b"\n"):
        ends = np.append(ends, len(block))
    begins = np.empty(len(ends), np.int64)
    begins[:1] = 0
    begins[1:] = ends[:-1] + 1
    return (begins if with_empty else begins[ends > begins]) + start
