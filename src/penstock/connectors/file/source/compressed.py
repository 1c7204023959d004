"""Compressed files, told by the end of their names. They cannot be read from the middle."""

from __future__ import annotations

import bz2
import io
import lzma
import os
import zlib
from collections.abc import Callable, Iterator
from typing import Any

_READ = 1 << 20


class DamagedError(Exception):
    """The file is cut off, or is not of the format that its name says."""


def is_compressed(name: str) -> bool:
    """
    >>> is_compressed("a.gz"), is_compressed("a.txt")
    (True, False)
    """
    return _ending(name) in _INFLATERS


def inflated(file: Any, name: str) -> Iterator[bytes]:
    """The content of an open file, piece by piece; raises DamagedError behind the last piece that could be read."""
    try:
        yield from _INFLATERS[_ending(name)](file)
    except (zlib.error, lzma.LZMAError, OSError, EOFError, ValueError) as error:
        raise DamagedError(f"it is cut off or damaged, or it is no {_ending(name)} file ({error})") from error


def inflated_file(file: Any, name: str) -> Any:
    """The same as a file to read from the beginning."""
    return io.BufferedReader(_Inflated(inflated(file, name)), _READ)


def _ending(name: str) -> str:
    return os.path.splitext(name)[1].lower()


def _members(begin: Callable[[], Any]) -> Callable[[Any], Iterator[bytes]]:
    """Files may be made of several compressed ones, one behind the other."""

    def pieces(file: Any) -> Iterator[bytes]:
        inflate, begun = begin(), False
        while data := file.read(_READ):
            while data:
                if inflate.eof:
                    data = data.lstrip(b"\0")  # padding between and behind members
                    if not data:
                        break
                    inflate = begin()
                begun = True
                yield inflate.decompress(data)
                data = inflate.unused_data
        if begun and not inflate.eof:
            raise EOFError("the end of the compressed data is missing")

    return pieces


def _zstd(file: Any) -> Iterator[bytes]:
    import pyarrow as pa

    stream = pa.CompressedInputStream(file, "zstd")
    while data := stream.read(_READ):
        yield data


_gzip = _members(lambda: zlib.decompressobj(16 + zlib.MAX_WBITS))
_INFLATERS: dict[str, Callable[[Any], Iterator[bytes]]] = {
    ".gz": _gzip,
    ".gzip": _gzip,
    ".bz2": _members(bz2.BZ2Decompressor),
    ".xz": _members(lzma.LZMADecompressor),
    ".deflate": _members(zlib.decompressobj),
    ".zst": _zstd,
    ".zstd": _zstd,
}


class _Inflated(io.RawIOBase):
    """Pieces as a file."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces
        self._left = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._left:
            piece = next(self._pieces, None)
            if piece is None:
                return 0
            self._left = piece
        taken, self._left = self._left[: len(buffer)], self._left[len(buffer) :]
        buffer[: len(taken)] = taken
        return len(taken)
