"""What a file sink remembers between batches: files that are being written, and those that are to become visible.

It is written as a whole before anything becomes visible, so it decides: a batch that is in it is done, and what is still to be
done for it can be done again.
"""

from __future__ import annotations

import os
from pathlib import Path

import msgspec

from penstock.connectors.lasting_file import write_lasting

_FILE = "files.json"


class Piece(msgspec.Struct, frozen=True):
    """What one task wrote for one folder: a hidden file, and the name that it, or the file it begins, gets."""

    bucket: str
    file: str  # in the sink's hidden folder
    name: str
    size: int


class Part(msgspec.Struct):
    """A file to be: the pieces it is made of, in order. Times in milliseconds since 1970."""

    bucket: str
    created: int
    modified: int
    pieces: list[Piece] = []
    size: int = 0
    batches: int = 0  # since it was begun

    def add(self, piece: Piece, now: int) -> None:
        self.pieces.append(piece)
        self.size += piece.size
        self.modified = now


class Journal(msgspec.Struct):
    """The memory as of a batch."""

    batch: int = -1  # the last one that is in it
    open: list[Part] = []
    full: list[Part] = []  # to become visible with the batch

    def pieces(self) -> set[str]:
        """The hidden files that are still needed."""
        return {piece.file for part in (*self.open, *self.full) for piece in part.pieces}


def load(folder: str) -> Journal:
    """The journal in a sink's lasting folder; an empty one if the sink is new."""
    try:
        data = Path(folder, _FILE).read_bytes()
    except FileNotFoundError:
        return Journal()
    return msgspec.json.decode(data, type=Journal)


def save(folder: str, journal: Journal) -> None:
    """Replaces the journal as a whole."""
    write_lasting(os.path.join(folder, _FILE), msgspec.json.encode(journal))
