"""The pending files of a file sink in a savepoint, and their data for the sink of a job that starts from it."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable
from typing import Any, BinaryIO

import msgspec

from penstock.connectors.file.sink.journal import PendingFile, Piece
from penstock.connectors.file.system.file_system import FileSystem, file_system
from penstock.errors import JobError

_BUFFER_SIZE = 4 << 20


class SavedFolders(msgspec.Struct):
    """Where the files of a sink are, as its checkpoint stores it."""

    path: str
    hidden: str
    compacted: bool = False


class SavedFiles(msgspec.Struct):
    """The files that were hidden when the savepoint was taken."""

    name: str  # of the sink, in the names of its files
    files: list[PendingFile]
    path: str  # the folder of the sink
    hidden: str  # the folder of the pieces
    compacted: bool = False  # visible files are not the pieces one after the other
    copies: dict[str, str] = {}  # names of the pieces in the savepoint, if it contains them

    def final_path(self, file: PendingFile) -> str:
        """The path under which the job that took the savepoint makes a file visible."""
        return "/".join(
            filter(None, (self.path, file.bucket, f"{'compacted-' if self.compacted else ''}{file.pieces[0].name}"))
        )


def add_to_savepoint(
    savepoint: str, prefix: str, pieces: Iterable[Piece], open_piece: Callable[[str], Any]
) -> dict[str, str]:
    """Copies pieces to a savepoint. Returns their names there."""
    system, names = file_system(savepoint), {}
    for piece in pieces:
        name = names[piece.file] = f"{prefix}{piece.file}"
        with open_piece(piece.file) as source:
            target = system.create(f"{savepoint}/{name}")
            shutil.copyfileobj(source, target, _BUFFER_SIZE)
            system.close(target)
    return names


class PieceCopier:
    """Copies the pieces of saved files to the hidden folder of another sink.

    In the folder of the first sink, files that it has made visible since are not copied. In another folder, they are.
    """

    def __init__(
        self,
        saved: SavedFiles,
        systems: tuple[FileSystem, FileSystem],  # of the first and of the other sink
        new_name: str,
        hidden: Callable[[str], str],
        same_folder: bool,
        savepoint: str = "",  # its path, if it contains the pieces
    ) -> None:
        self._saved = saved
        self._source, self._target = systems
        self._new_name = new_name
        self._hidden = hidden
        self._same_folder = same_folder
        self._savepoint = savepoint

    def copy_all(self) -> list[PendingFile]:
        """Copies all files.

        Raises:
            JobError: the data of a file no longer exists.
        """
        return [copied for file in self._saved.files if (copied := self._copy(file)) is not None]

    def _copy(self, file: PendingFile) -> PendingFile | None:
        if self._is_visible_here(file):
            return None
        try:
            pieces = [self._copy_piece(piece) for piece in file.pieces]
        except FileNotFoundError:  # the first sink may have made it visible meanwhile
            if self._is_visible_here(file):
                return None
            pieces = [self._copy_visible(file)]
        return msgspec.structs.replace(file, pieces=pieces)

    def _is_visible_here(self, file: PendingFile) -> bool:
        return self._same_folder and self._source.get_status(self._saved.final_path(file)) is not None

    def _copy_piece(self, piece: Piece) -> Piece:
        copied = self._renamed(piece)
        with self._open(piece) as source:
            self._write(copied, lambda target: shutil.copyfileobj(source, target, _BUFFER_SIZE))
        return copied

    def _open(self, piece: Piece) -> Any:
        name = self._saved.copies.get(piece.file)
        if name is None or not self._savepoint:
            return self._source.open(f"{self._saved.hidden}/{piece.file}")
        return file_system(self._savepoint).open(f"{self._savepoint}/{name}")

    def _copy_visible(self, file: PendingFile) -> Piece:
        """Copies the start of the visible file. Pieces that were added after the savepoint follow those of the savepoint."""
        path, size = self._saved.final_path(file), sum(piece.size for piece in file.pieces)
        status = None if self._saved.compacted else self._source.get_status(path)
        if status is None or status.size < size:
            raise self._vanished_error(file, path)
        copied = msgspec.structs.replace(self._renamed(file.pieces[0]), size=size)
        with self._source.open(path) as source:
            self._write(copied, lambda target: _copy_bytes(source, target, size))
        return copied

    def _renamed(self, piece: Piece) -> Piece:
        old = self._saved.name
        batch, dash, rest = piece.file.partition("-")
        return msgspec.structs.replace(
            piece, file=f"{batch}-{old}{dash}{rest}", name=piece.name.replace(old, f"{self._new_name}-{old}", 1)
        )

    def _write(self, piece: Piece, write: Callable[[Any], None]) -> None:
        target = self._target.create(self._hidden(piece.file))
        write(target)
        self._target.close(target)

    def _vanished_error(self, file: PendingFile, path: str) -> JobError:
        reason = "its compacted file also has later elements" if self._saved.compacted else f"{path} does not exist"
        return JobError(
            "PART_VANISHED",
            f"The savepoint contains the unfinished file {file.pieces[0].name} of a file sink. Its data is no longer in "
            f"{self._saved.hidden}, and {reason}. Put it back. To start without these elements, set another uid for the sink "
            "and restore with --allow-dropped-state.",
        )


def _copy_bytes(source: BinaryIO, target: Any, size: int) -> None:
    while size:
        data = source.read(min(size, _BUFFER_SIZE))
        target.write(data)
        size -= len(data)
