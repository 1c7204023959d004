"""Groups the pieces of batches into files and decides which files are complete."""

from __future__ import annotations

from typing import Protocol

from penstock.connectors.file.sink.journal import Journal, PendingFile, Piece
from penstock.connectors.file.sink.rolling_policy import RollingPolicy


class Packing(Protocol):
    """Decides which pieces belong to which file."""

    def fits(self, file: PendingFile, piece: Piece) -> bool:
        """Whether a piece can be added to a pending file."""

    def is_full(self, file: PendingFile, now: int) -> bool:
        """Whether a file must become visible. Called after each batch."""

    def due(self, file: PendingFile) -> int | None:
        """Returns when to check again if there is no batch until then, or None."""


class RollingPacking:
    """Applies a rolling policy. If the format cannot be concatenated, each piece becomes a file."""

    def __init__(self, policy: RollingPolicy, concatenate: bool) -> None:
        self._policy = policy
        self._concatenate = concatenate

    def fits(self, file: PendingFile, piece: Piece) -> bool:
        size = self._policy.part_size
        return self._concatenate and size is not None and file.size + piece.size <= size

    def is_full(self, file: PendingFile, now: int) -> bool:
        return not self._concatenate or self._policy.should_roll(file, now)

    def due(self, file: PendingFile) -> int | None:
        return self._policy.due(file)


def pack_pieces(journal: Journal, batch: int, pieces: list[Piece], packing: Packing, now: int) -> Journal:
    """Returns the journal after one more batch."""
    files = [_copy(file) for file in journal.open]
    last = {file.bucket: file for file in files}
    new: list[PendingFile] = []
    closed: set[int] = set()
    for piece in pieces:
        file = last.get(piece.bucket)
        if file is None or not packing.fits(file, piece):
            if file is not None:
                closed.add(id(file))
            file = last[piece.bucket] = PendingFile(piece.bucket, now, now)
            new.append(file)
        file.add(piece, now)
    files += new
    for file in files:
        file.batches += 1
    full = [file for file in files if id(file) in closed or packing.is_full(file, now)]
    done = {id(file) for file in full}
    return Journal(batch, [file for file in files if id(file) not in done], full)


def _copy(file: PendingFile) -> PendingFile:
    return PendingFile(file.bucket, file.created, file.modified, list(file.pieces), file.size, file.batches)


def next_due_time(journal: Journal, packing: Packing) -> int | None:
    """Returns when a batch is needed even without new elements, so that a file becomes visible, or None."""
    times = [time for file in journal.open if (time := packing.due(file)) is not None]
    return min(times, default=None)
