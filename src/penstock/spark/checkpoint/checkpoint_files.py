"""Checks files of a checkpoint for damage, and moves damaged files out of it.

Hadoop's local file system writes the checksums of the file `name` to `.name.crc` in the same folder. Spark verifies them when it
reads the file, so a file that fails the check here would fail there too.
"""

from __future__ import annotations

import os
import struct
import zlib
from pathlib import Path

_MAGIC = b"crc\0"


def find_fault(file: Path, deep: bool) -> str:
    """A message about the damage of a file; empty if none is found. With `deep` the complete file is read."""
    try:
        size = file.stat().st_size
    except FileNotFoundError:
        return "is missing"
    if not size:
        return "is empty"
    checksums = _read_checksums(file)
    if checksums is None:  # nothing to compare with
        return ""
    chunk_size, expected = checksums
    if len(expected) != -(-size // chunk_size):
        return f"has {size:,} bytes, which is not the size that was written"
    return _find_difference(file, chunk_size, expected) if deep else ""


def _read_checksums(file: Path) -> tuple[int, tuple[int, ...]] | None:
    """The bytes per checksum and all checksums; None if there is no valid checksum file."""
    try:
        data = (file.parent / f".{file.name}.crc").read_bytes()
    except FileNotFoundError:
        return None
    if len(data) < 8 or data[:4] != _MAGIC or len(data) % 4:
        return None
    chunk_size, *checksums = struct.unpack(f">{len(data) // 4 - 1}I", data[4:])
    return (chunk_size, tuple(checksums)) if chunk_size else None


def _find_difference(file: Path, chunk_size: int, expected: tuple[int, ...]) -> str:
    with open(file, "rb") as opened:
        for number, checksum in enumerate(expected):
            if zlib.crc32(opened.read(chunk_size)) != checksum:
                return f"has other bytes than were written, from byte {number * chunk_size:,} on"
    return ""


def quarantine(file: Path, root: Path, target: Path) -> None:
    """Moves a file and its checksums from the folder `root` to `target`, with the same relative path."""
    moved = target / file.relative_to(root)
    moved.parent.mkdir(parents=True, exist_ok=True)
    for source, name in ((file.parent / f".{file.name}.crc", f".{file.name}.crc"), (file, file.name)):
        if source.exists():
            os.replace(source, moved.parent / name)
