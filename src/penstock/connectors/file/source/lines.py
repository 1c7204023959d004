"""Reads complete lines of a byte range of a file, in blocks. A line belongs to the range in which it starts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from penstock.connectors.file.source.compressed import DamagedFileError, decompress

_BLOCK_SIZE = 4 << 20


def read_line_blocks(file: Any, low: int, high: int, size: int) -> Iterator[tuple[int, bytes]]:
    """Yields blocks of the lines that start in [low, high), with the position of each block. `size` is that of the file."""
    if low:
        file.seek(low - 1)
        low = low - 1 + len(file.readline(size - low + 1))
    while low < high:
        file.seek(low)
        block = file.read(min(_BLOCK_SIZE, high - low))
        if not block.endswith(b"\n"):
            block += file.readline(size - low - len(block))
        if not block:
            raise DamagedFileError(f"it ends at byte {low} but had {size} bytes when it was found")
        yield low, block
        low += len(block)


def read_compressed_line_blocks(file: Any, name: str) -> Iterator[tuple[int, bytes]]:
    """Yields blocks of all lines of a compressed file, with positions in the decompressed text."""
    position = 0
    incomplete: list[bytes] = []  # the start of a line whose end was not read yet
    try:
        for piece in decompress(file, name):
            cut = piece.rfind(b"\n") + 1
            if cut:
                block = b"".join((*incomplete, piece[:cut]))
                yield position, block
                position += len(block)
                incomplete = []
            if cut < len(piece):
                incomplete.append(piece[cut:])
    except DamagedFileError as error:
        raise DamagedLinesError(position, b"".join(incomplete), str(error)) from error
    if incomplete:
        yield position, b"".join(incomplete)


class DamagedLinesError(DamagedFileError):
    """A file cannot be read from a position on. `remainder` is the start of the line at that position."""

    def __init__(self, position: int, remainder: bytes, message: str) -> None:
        super().__init__(message)
        self.position = position
        self.remainder = remainder


def line_starts(block: bytes, start: int, with_empty: bool) -> Any:
    """Returns the position of each line of a block, or of each non-empty line."""
    ends = np.flatnonzero(np.frombuffer(block, np.uint8) == 10)
    if not block.endswith(b"\n"):
        ends = np.append(ends, len(block))
    starts = np.empty(len(ends), np.int64)
    starts[:1] = 0
    starts[1:] = ends[:-1] + 1
    return (starts if with_empty else starts[ends > starts]) + start
