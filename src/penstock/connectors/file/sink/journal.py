"""The journal of a file sink: files that are being written, and files that must become visible.

It is replaced atomically before any file becomes visible. A batch in the journal is committed; the remaining steps can be repeated.
"""

from __future__ import annotations

import os

import msgspec

from penstock.atomic_file import write_atomic
from penstock.connectors.checkpoint_file import damaged_file_error, newer_file_error, read_checkpoint_file

_FILE = "files.json"
_FORMAT = 1


class Piece(msgspec.Struct, frozen=True):
    """A hidden file that one task wrote for one bucket."""

    bucket: str
    file: str  # name in the hidden folder of the sink
    name: str  # final name, if it is the first piece of a file
    size: int


class PendingFile(msgspec.Struct):
    """A file that is not visible yet, and its pieces in order. Times are in milliseconds since the epoch."""

    bucket: str
    created: int
    modified: int
    pieces: list[Piece] = []
    size: int = 0
    batches: int = 0  # batches since the first piece

    def add(self, piece: Piece, now: int) -> None:
        self.pieces.append(piece)
        self.size += piece.size
        self.modified = now


class Journal(msgspec.Struct):
    """The pending files after a batch."""

    batch: int = -1  # the last batch that it contains
    open: list[PendingFile] = []
    full: list[PendingFile] = []  # become visible with the batch
    format: int = _FORMAT

    def pieces(self) -> set[str]:
        """Returns the names of the hidden files that are still needed."""
        return {piece.file for file in (*self.open, *self.full) for piece in file.pieces}


def load_journal(folder: str) -> Journal:
    """Loads the journal from the checkpoint folder of the sink. Returns an empty one if the sink is new."""
    file = os.path.join(folder, _FILE)
    data = read_checkpoint_file(file)
    if data is None:
        return Journal()
    try:
        journal = msgspec.json.decode(data, type=Journal)
        if journal.format > _FORMAT:
            raise newer_file_error(file, journal.format, _FORMAT)
        return journal
    except msgspec.DecodeError as error:
        raise damaged_file_error(file, error) from error


def save_journal(folder: str, journal: Journal) -> None:
    """Replaces the journal atomically."""
    write_atomic(os.path.join(folder, _FILE), msgspec.json.encode(journal), durable=True)
