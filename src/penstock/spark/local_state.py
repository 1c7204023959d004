"""The committed state of a running job as its working copies on this machine have it: read beside the job, without Spark.

A working copy only takes deltas that are known to be committed, and may lack the last ones; those lie beside it. Spark's
commit log says which batch was the last.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import lmdb
import msgspec

from penstock.runtime.state.backend import Table
from penstock.runtime.store import Base, Changes
from penstock.spark.overlaid import OverlaidView
from penstock.spark.spark_log import last_commit
from penstock.spark.statelog import Delta
from penstock.spark.working_copy import CopyView, boot_id

_delta = msgspec.msgpack.Decoder(Delta)
_tables = msgspec.msgpack.Decoder(list[Table])
_TRIES = 20  # a batch may end while a copy is looked at


class NotLocal(Exception):  # noqa: N818 - Spark reads it then
    """The working copies of this machine do not show the last committed batch."""


class _Copy:
    """A working copy that another process writes: one view of it, and where it stood then."""

    def __init__(self, file: str, size_limit: int) -> None:
        self._env = lmdb.open(file, map_size=size_limit, max_dbs=2, readonly=True, readahead=False)
        entries, marks = self._env.open_db(b"entries", create=False), self._env.open_db(b"marks", create=False)
        transaction = self._env.begin(db=entries)
        self.view = CopyView(transaction)
        marked = {
            name: transaction.get(name, default=b"", db=marks) for name in (b"seq", b"token", b"partial", b"boot")
        }
        self.seq = int.from_bytes(marked[b"seq"], "big")
        self.token, self.partial = marked[b"token"], marked[b"partial"]
        if marked[b"boot"] != boot_id():
            self.close()
            raise NotLocal("it was written before the machine started")

    def close(self) -> None:
        self.view.close()
        self._env.close()


class LocalSlot:
    """One slot's committed state: a view that later batches do not change."""

    def __init__(self, reader: _Copy, view: Base, tables: list[Table], batch: int) -> None:
        self._reader = reader
        self.view = view
        self.tables = tables
        self.batch = batch

    def close(self) -> None:
        self._reader.close()


def local_slot(copies: str, checkpoint: str, level: int, slot: int, size_limit: int) -> LocalSlot:
    """A slot's state as of the last committed batch, or a later one that is committed by the time it is read."""
    why = "there is none"
    for _ in range(_TRIES):
        batch = last_commit(checkpoint)
        if batch < 0:
            raise NotLocal("no batch is committed yet, or the checkpoint is on another machine")
        try:
            found = _slot(Path(copies, f"{level}-{slot}"), batch + 1, size_limit)
            if found.batch <= max(batch, last_commit(checkpoint)):
                return found
            found.close()
            why = "it stands on batches that a damaged checkpoint has lost"
        except FileNotFoundError:
            why = "there is none on this machine"
        except (OSError, lmdb.Error, NotLocal) as error:  # it may be rebuilt, or have gone on, between two looks
            why = str(error)
    raise NotLocal(f"the working copy of slot {slot}, level {level}: {why}")


def _slot(folder: Path, wanted: int, size_limit: int) -> LocalSlot:
    tables = _tables.decode((folder / "tables").read_bytes())
    current = folder / "current"
    reader = _Copy(str(folder / (current.read_text() if current.exists() else "data-0")), size_limit)
    try:
        missing = _missing(folder, reader, wanted)
        changes: Changes = {}
        for delta in missing:
            changes.update(zip(delta.entries[::2], delta.entries[1::2], strict=True))  # type: ignore[arg-type]
        view: Base = OverlaidView(reader.view, changes) if missing else reader.view
        return LocalSlot(reader, view, tables, max(wanted, reader.seq) - 1)
    except BaseException:
        reader.close()
        raise


def _missing(folder: Path, reader: _Copy, wanted: int) -> list[Delta]:
    """The deltas between a copy and the last commit, in order."""
    found: list[Delta] = []
    token = reader.token
    for seq in range(reader.seq + 1, wanted + 1):
        after = [chunks for chunks in _pending(folder, seq) if chunks[0].previous == token]
        if len(after) != 1:  # a batch that was tried twice has left two
            raise NotLocal(f"it lacks batch {seq - 1}" if not after else f"batch {seq - 1} was tried several times")
        found += after[0]
        token = after[0][0].token
    if reader.partial and reader.partial not in {delta.token for delta in found}:
        raise NotLocal("it has taken a part of a batch")
    return found


def _pending(folder: Path, seq: int) -> Iterator[list[Delta]]:
    for file in (folder / "pending").glob(f"{seq}-*"):
        data, at, chunks = file.read_bytes(), 0, []
        while at < len(data):
            size = int.from_bytes(data[at : at + 8], "big")
            chunks.append(_delta.decode(data[at + 8 : at + 8 + size]))
            at += 8 + size
        yield chunks
