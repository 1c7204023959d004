"""Reads compressed files, which are recognised by their extension. They cannot be split."""

from __future__ import annotations

import bz2
import io
import lzma
import os
import zlib
from collections.abc import Callable, Iterator
from typing import Any

_BLOCK_SIZE = 1 << 20


class DamagedFileError(Exception):
    """The file is truncated or damaged, or does not have the format of its extension."""


def is_compressed(name: str) -> bool:
    """Returns whether a file is compressed, by its extension.

    >>> is_compressed("a.gz"), is_compressed("a.txt")
    (True, False)
    """
    return _extension(name) in _DECOMPRESSORS


def decompress(file: Any, name: str) -> Iterator[bytes]:
    """Yields the content of an open file in blocks. Raises DamagedFileError after the last block that can be read."""
    try:
        yield from _DECOMPRESSORS[_extension(name)](file)
    except (zlib.error, lzma.LZMAError, OSError, EOFError, ValueError) as error:
        raise DamagedFileError(
            f"it is truncated or damaged, or it is not a {_extension(name)} file ({error})"
        ) from error


def open_decompressed(file: Any, name: str) -> Any:
    """Returns the decompressed content as a file object that can be read from the start."""
    return io.BufferedReader(_DecompressedFile(decompress(file, name)), _BLOCK_SIZE)


def _extension(name: str) -> str:
    return os.path.splitext(name)[1].lower()


def _decompress_members(create: Callable[[], Any]) -> Callable[[Any], Iterator[bytes]]:
    """Returns a function that decompresses files of one or more concatenated members."""

    def blocks(file: Any) -> Iterator[bytes]:
        decompressor, has_data = create(), False
        while data := file.read(_BLOCK_SIZE):
            while data:
                if decompressor.eof:
                    data = data.lstrip(b"\0")  # padding between and after members
                    if not data:
                        break
                    decompressor = create()
                has_data = True
                yield decompressor.decompress(data)
                data = decompressor.unused_data
        if has_data and not decompressor.eof:
            raise EOFError("the end of the compressed data is missing")

    return blocks


def _zstd(file: Any) -> Iterator[bytes]:
    import pyarrow as pa

    stream = pa.CompressedInputStream(file, "zstd")
    while data := stream.read(_BLOCK_SIZE):
        yield data


_gzip = _decompress_members(lambda: zlib.decompressobj(16 + zlib.MAX_WBITS))
_DECOMPRESSORS: dict[str, Callable[[Any], Iterator[bytes]]] = {
    ".gz": _gzip,
    ".gzip": _gzip,
    ".bz2": _decompress_members(bz2.BZ2Decompressor),
    ".xz": _decompress_members(lzma.LZMADecompressor),
    ".deflate": _decompress_members(zlib.decompressobj),
    ".zst": _zstd,
    ".zstd": _zstd,
}


class _DecompressedFile(io.RawIOBase):
    """Blocks of bytes as a file object."""

    def __init__(self, blocks: Iterator[bytes]) -> None:
        self._blocks = blocks
        self._rest = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._rest:
            block = next(self._blocks, None)
            if block is None:
                return 0
            self._rest = block
        data, self._rest = self._rest[: len(buffer)], self._rest[len(buffer) :]
        buffer[: len(data)] = data
        return len(data)
