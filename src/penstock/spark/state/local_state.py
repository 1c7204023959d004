"""Reads the committed state of a running job from the working copies on this machine, without Spark.

A working copy contains only committed deltas and may lack the last ones, which are in files beside it. Spark's commit log
shows which batch was the last.
"""

from __future__ import annotations

from pathlib import Path

import lmdb
import msgspec

from penstock.runtime.state.store import Changes, ReadView
from penstock.runtime.state.tables import StateTable
from penstock.spark.checkpoint.spark_log import last_committed_batch
from penstock.spark.state.copy_file import current_file, is_truncated
from penstock.spark.state.copy_view import CopyReader
from penstock.spark.state.local_folders import boot_id
from penstock.spark.state.overlay_view import OverlayView
from penstock.spark.state.pending_deltas import PendingDeltas
from penstock.spark.state.state_format import Delta, decode_delta, to_changes

_tables = msgspec.msgpack.Decoder(list[StateTable])
_ATTEMPTS = 20  # a batch may end while a copy is read


class LocalStateUnavailable(Exception):  # noqa: N818 - the state is then read with Spark
    """The working copies of this machine do not contain the last committed batch."""


class LocalSlot:
    """The committed state of one slot: a view that later batches do not change."""

    def __init__(self, reader: CopyReader, view: ReadView, tables: list[StateTable], batch: int) -> None:
        self._reader = reader
        self.view = view
        self.tables = tables
        self.batch = batch

    def close(self) -> None:
        self._reader.close()


def open_local_slot(copies: str, checkpoint: str, level: int, slot: int, size_limit: int) -> LocalSlot:
    """Opens the state of a slot as of the last committed batch, or of a batch that was committed while it was read."""
    reason = "there is none"
    for _ in range(_ATTEMPTS):
        batch = last_committed_batch(checkpoint)
        if batch < 0:
            raise LocalStateUnavailable("no batch is committed yet, or the checkpoint is on another machine")
        try:
            found = _open_slot(Path(copies, f"{level}-{slot}"), batch + 1, size_limit)
            if found.batch <= max(batch, last_committed_batch(checkpoint)):
                return found
            found.close()
            reason = "it contains batches that a damaged checkpoint has lost"
        except FileNotFoundError:
            reason = "there is none on this machine"
        except (OSError, lmdb.Error, LocalStateUnavailable) as error:  # it may be rebuilt or updated meanwhile
            reason = str(error)
    raise LocalStateUnavailable(f"the working copy of slot {slot}, level {level}: {reason}")


def _open_slot(folder: Path, last_delta: int, size_limit: int) -> LocalSlot:
    try:
        tables = _tables.decode((folder / "tables").read_bytes())
    except msgspec.DecodeError as error:
        raise LocalStateUnavailable(f"{folder / 'tables'} is damaged") from error
    if is_truncated(current_file(folder)):
        raise LocalStateUnavailable(f"{current_file(folder)} is truncated")
    reader = CopyReader(str(current_file(folder)), size_limit, readahead=False)
    try:
        if reader.boot_id != boot_id():
            raise LocalStateUnavailable("it was written before the machine was restarted")
        missing = _read_missing_deltas(folder, reader, last_delta)
        changes: Changes = {}
        for delta in missing:
            changes.update(to_changes(delta.entries))
        view: ReadView = OverlayView(reader.view, changes) if missing else reader.view
        return LocalSlot(reader, view, tables, max(last_delta, reader.position.seq) - 1)
    except BaseException:
        reader.close()
        raise


def _read_missing_deltas(folder: Path, reader: CopyReader, last_delta: int) -> list[Delta]:
    """Returns the deltas between the position of a copy and the last commit, in order."""
    pending, position = PendingDeltas(folder / "pending"), reader.position
    missing: list[Delta] = []
    token = position.token
    for seq in range(position.seq + 1, last_delta + 1):
        deltas = [[decode_delta(blob) for blob in blobs] for blobs in pending.read_all(seq)]
        following = [chunks for chunks in deltas if chunks[0].previous == token]
        if not following:
            raise LocalStateUnavailable(f"it lacks batch {seq - 1}")
        if len(following) > 1:
            raise LocalStateUnavailable(f"batch {seq - 1} was attempted several times")
        missing += following[0]
        token = following[0][0].token
    if position.partial and position.partial not in {delta.token for delta in missing}:
        raise LocalStateUnavailable("a part of a later batch was applied to it")
    return missing
