"""Whether a file of a checkpoint is whole: as long as it was written, and, looked at closely, with the same bytes.

Hadoop's local file system writes the checksums of `name` into `.name.crc` beside it. Spark verifies them when it reads, so a file
that fails here would fail there.
"""

from __future__ import annotations

import os
import struct
import zlib
from pathlib import Path

_MAGIC = b"crc\0"


def fault_of(file: Path, deep: bool) -> str:
    """What is wrong with a file; empty: nothing that can be seen. `deep` reads all of it."""
    try:
        size = file.stat().st_size
    except FileNotFoundError:
        return "is missing"
    if not size:
        return "is empty"
    sums = _sums(file)
    if sums is None:  # without checksums there is nothing to compare with
        return ""
    every, expected = sums
    if len(expected) != -(-size // every):
        return f"has {size:,} bytes, which is not what was written"
    return _first_difference(file, every, expected) if deep else ""


def _sums(file: Path) -> tuple[int, tuple[int, ...]] | None:
    """For how many bytes a checksum stands, and all of them; None when there are none, or they are no checksums."""
    try:
        data = (file.parent / f".{file.name}.crc").read_bytes()
    except FileNotFoundError:
        return None
    if len(data) < 8 or data[:4] != _MAGIC or len(data) % 4:
        return None
    every, *sums = struct.unpack(f">{len(data) // 4 - 1}I", data[4:])
    return (every, tuple(sums)) if every else None


def _first_difference(file: Path, every: int, expected: tuple[int, ...]) -> str:
    with open(file, "rb") as opened:
        for number, sum_ in enumerate(expected):
            if zlib.crc32(opened.read(every)) != sum_:
                return f"has other bytes than were written, from byte {number * every:,} on"
    return ""


def put_aside(file: Path, root: Path, aside: Path) -> None:
    """Moves a file, and its checksums, out of a checkpoint's folder; nothing is deleted."""
    target = aside / file.relative_to(root)
    target.parent.mkdir(parents=True, exist_ok=True)
    for source, name in ((file.parent / f".{file.name}.crc", f".{file.name}.crc"), (file, file.name)):
        if source.exists():
            os.replace(source, target.parent / name)
