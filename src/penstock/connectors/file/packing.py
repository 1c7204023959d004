"""Puts the pieces of a batch together to files, and decides which of them are full."""

from __future__ import annotations

from typing import Protocol

from penstock.connectors.file.journal import Journal, Part, Piece
from penstock.connectors.file.rolling_policy import RollingPolicy


class Packing(Protocol):
    """How pieces become files."""

    def fits(self, part: Part, piece: Piece) -> bool:
        """Whether a file that is being written can take a piece more."""

    def is_full(self, part: Part, now: int) -> bool:
        """Whether a file is to become visible; asked after each batch."""

    def due(self, part: Part) -> int | None:
        """When to ask again if no batch comes."""


class RolledParts:
    """Files by a rolling policy. Pieces of a format that cannot be put together are files of their own."""

    def __init__(self, policy: RollingPolicy, joined: bool) -> None:
        self._policy = policy
        self._joined = joined

    def fits(self, part: Part, piece: Piece) -> bool:
        size = self._policy.part_size
        return self._joined and size is not None and part.size + piece.size <= size

    def is_full(self, part: Part, now: int) -> bool:
        return not self._joined or self._policy.should_roll(part, now)

    def due(self, part: Part) -> int | None:
        return self._policy.due(part)


def pack(journal: Journal, batch: int, pieces: list[Piece], packing: Packing, now: int) -> Journal:
    """The journal with a batch more."""
    parts = [_copy(part) for part in journal.open]
    last = {part.bucket: part for part in parts}
    begun: list[Part] = []
    closed: set[int] = set()
    for piece in pieces:
        part = last.get(piece.bucket)
        if part is None or not packing.fits(part, piece):
            if part is not None:
                closed.add(id(part))
            part = last[piece.bucket] = Part(piece.bucket, now, now)
            begun.append(part)
        part.add(piece, now)
    parts += begun
    for part in parts:
        part.batches += 1
    full = [part for part in parts if id(part) in closed or packing.is_full(part, now)]
    done = {id(part) for part in full}
    return Journal(batch, [part for part in parts if id(part) not in done], full)


def _copy(part: Part) -> Part:
    return Part(part.bucket, part.created, part.modified, list(part.pieces), part.size, part.batches)


def due(journal: Journal, packing: Packing) -> int | None:
    """When a batch is needed even if no element comes, so that a file becomes visible."""
    times = [time for part in journal.open if (time := packing.due(part)) is not None]
    return min(times, default=None)
