"""The working copy of the state of a slot: an LMDB file on the disk of an executor, used by all workers of the machine.

It contains only deltas that the durable header shows to be committed. If it is lost, it is built again from the checkpoint.
"""

from __future__ import annotations

import os
import secrets
import shutil
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import lmdb
import msgspec

from penstock.atomic_file import write_atomic
from penstock.errors import StateError
from penstock.runtime.state.store import Changes
from penstock.runtime.state.tables import StateTable
from penstock.spark.state.copy_file import current_file, is_truncated
from penstock.spark.state.copy_size import LIVE, CopySize, Entries, to_int
from penstock.spark.state.copy_view import (
    BOOT,
    ENTRIES,
    MARKS,
    PARTIAL,
    PREFIX,
    SEQ,
    TOKEN,
    CopyView,
    to_stored_entry,
    to_stored_key,
)
from penstock.spark.state.local_folders import boot_id
from penstock.spark.state.pending_deltas import PendingDeltas
from penstock.spark.state.uncompacted_deltas import CommittedDelta, CopyPosition, UncompactedDeltas

# LMDB holds the pages that a transaction changes in memory. A random key is a page, so this limits them to about 100 MB.
_TRANSACTION_SIZE = 25_000


class ConcurrentChange(Exception):  # noqa: N818 - StateLog tries again
    """Another worker has changed the working copy since it was read."""


class WorkingCopy:
    """The LMDB file of one slot. A process opens it once."""

    def __init__(self, folder: str, size_limit: int) -> None:
        self.folder = Path(folder)
        self.pending = PendingDeltas(self.folder / "pending")
        self.uncompacted = UncompactedDeltas()  # batches that the file may lack
        self.apply_failed = False  # the last write in the background failed
        self._size_limit = size_limit
        self._env: lmdb.Environment | None = None
        self._name = ""
        self._background: threading.Thread | None = None
        self._tables_written = -1

    def _open(self) -> lmdb.Environment:
        """Returns the current file. A rebuild switches to a new file when it is complete, so a partial one is never used."""
        name = self._current_name()
        if self._env is None or name != self._name:
            self.close()
            self.folder.mkdir(parents=True, exist_ok=True)
            self._env = self._open_file(name)
            self._name = name
        return self._env

    @property
    def file(self) -> str:
        """The path of the current LMDB file. Another process may open it to read."""
        self._open()
        return str(self.folder / self._name)

    def _current_name(self) -> str:
        return current_file(self.folder).name

    def _open_file(self, name: str) -> lmdb.Environment:
        if is_truncated(self.folder / name):
            raise lmdb.CorruptedError(f"{self.folder / name} is truncated")
        # Without sync a power cut may damage the file. The boot id differs then, and the file is built again.
        env = lmdb.open(
            str(self.folder / name),
            map_size=self._size_limit,
            max_dbs=2,
            sync=False,
            metasync=False,
            writemap=False,
            readahead=False,
        )
        self._entries, self._marks = _open_tables(env)
        return env

    def close(self) -> None:
        self.wait_until_applied()
        if self._env is not None:
            self._env.close()
            self._env = None

    def position(self) -> CopyPosition:
        """Returns the position of the copy. Its number is -1 if the copy cannot be used."""
        try:
            with self._open().begin() as txn:
                return self._position(txn)
        except (lmdb.Error, OSError):
            return CopyPosition(-1)

    def position_of_view(self, view: CopyView) -> CopyPosition:
        """Returns the position of the copy when a view was opened."""
        return self._position(view.transaction)

    def live_bytes_of_view(self, view: CopyView) -> int:
        """Returns the bytes of all keys and values of the copy, at the position that it had when a view was opened."""
        return to_int(view.transaction.get(LIVE, default=b"", db=self._marks))

    def _position(self, txn: Any) -> CopyPosition:
        seq, boot = txn.get(SEQ, db=self._marks), txn.get(BOOT, db=self._marks)
        has_size = txn.get(LIVE, db=self._marks) is not None  # older versions did not count the bytes
        if seq is None or boot != boot_id() or not has_size:
            return CopyPosition(-1)
        return CopyPosition(int.from_bytes(seq, "big"), *self._tokens(txn))

    def _tokens(self, txn: Any) -> tuple[bytes, bytes]:
        """The tokens of the last delta that was applied, and of one that was applied in part."""
        return txn.get(TOKEN, default=b"", db=self._marks), txn.get(PARTIAL, default=b"", db=self._marks)

    # -- applying deltas

    def apply(self, delta: CommittedDelta) -> None:
        """Applies a delta, unless another worker has done it."""
        self.apply_failed = False
        try:
            self._apply(self._open(), delta)
        except (lmdb.Error, OSError) as error:
            raise self._write_error(error) from error

    def _apply(self, env: lmdb.Environment, delta: CommittedDelta) -> None:
        with env.begin() as txn:
            if self._tokens(txn)[0] == delta.token:
                return
        *parts, last = _split_changes(delta.changes)
        for part in parts:
            with env.begin(write=True) as txn:
                self._check_previous(txn, delta)
                txn.put(PARTIAL, delta.token, db=self._marks)
                self._size(txn).add_part(self._write(txn, part))
        with env.begin(write=True) as txn:
            self._check_previous(txn, delta)
            self._size(txn).add(self._write(txn, last))
            self._write_position(txn, delta.seq, delta.token)

    def _check_previous(self, txn: lmdb.Transaction, delta: CommittedDelta) -> None:
        """Between two transactions another worker may have applied this delta and later ones."""
        if self._tokens(txn)[0] != delta.previous:
            raise ConcurrentChange

    def apply_in_background(self, delta: CommittedDelta) -> None:
        """Applies a delta in a thread. If that fails, a later batch applies it again and raises the error."""
        before = self._background
        env = self._open()  # in this thread, because only one thread may close a file and open another

        def apply() -> None:
            _lower_priority()
            if before is not None:
                before.join()
            try:
                self._apply(env, delta)
            except ConcurrentChange:
                pass
            except (lmdb.Error, OSError):
                self.apply_failed = True

        self._background = threading.Thread(target=apply, name="penstock-working-copy", daemon=True)
        self._background.start()

    def is_applying(self) -> bool:
        """Whether a delta is being applied in the background."""
        return self._background is not None and self._background.is_alive()

    def wait_until_applied(self) -> None:
        """Waits for the delta that is being applied in the background."""
        background, self._background = self._background, None
        if background is not None:
            background.join()

    def _write(self, txn: lmdb.Transaction, changes: StoredChanges) -> int:
        """Writes changes and returns by how many bytes the entries have grown."""
        return self._size(txn).write(changes.puts, changes.deleted)

    def _size(self, txn: lmdb.Transaction) -> CopySize:
        return CopySize(txn, self._entries, self._marks)

    def _write_position(self, txn: lmdb.Transaction, seq: int, token: bytes) -> None:
        txn.put(SEQ, seq.to_bytes(8, "big"), db=self._marks)
        txn.put(TOKEN, token, db=self._marks)
        txn.put(BOOT, boot_id(), db=self._marks)
        if txn.get(PARTIAL, db=self._marks) == token:
            txn.delete(PARTIAL, db=self._marks)

    # -- replacing the file

    def rebuild(self, chunks: Iterable[Changes], seq: int, token: bytes) -> None:
        """Builds the copy again from the durable state: the base snapshot and the deltas, in order."""

        def write(env: lmdb.Environment) -> None:
            for changes in chunks:
                for part in _split_changes(changes):
                    with env.begin(write=True) as txn:
                        self._size(txn).add(self._write(txn, part))

        self._replace_file(write, seq, token)

    def load(self, chunks: Iterable[list[bytes]], seq: int, token: bytes) -> None:
        """Replaces the copy by new entries: lists of key, value, key, value, ..., mostly in order."""

        def write(env: lmdb.Environment) -> None:
            last = b""
            for flat in chunks:
                last = self._append(env, flat, last)

        self._replace_file(write, seq, token)

    def _append(self, env: lmdb.Environment, flat: list[bytes], last: bytes) -> bytes:
        """Writes entries and returns the last key. It is several times faster if they belong at the end of the file."""
        keys = flat[::2]
        if max(map(len, keys)) < PREFIX:
            puts = list(zip(keys, flat[1::2], strict=True))
        else:
            puts = [to_stored_entry(key, value) for key, value in zip(keys, flat[1::2], strict=True)]
        puts.sort()
        at_end = puts[0][0] > last
        with env.begin(write=True) as txn:
            size = self._size(txn)
            size.add(size.write(puts, [], append=at_end))
        return max(last, puts[-1][0])

    def _replace_file(self, write: Callable[[lmdb.Environment], None], seq: int, token: bytes) -> None:
        self.close()
        name = f"data-{secrets.token_hex(6)}"
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            env = self._open_file(name)
        except (lmdb.Error, OSError) as error:
            raise self._write_error(error) from error
        try:
            write(env)
            with env.begin(write=True) as txn:
                self._size(txn).add(0)  # also if there are no entries
                self._write_position(txn, seq, token)
            write_atomic(self.folder / "current", name.encode(), durable=False)
        except BaseException as error:
            env.close()
            shutil.rmtree(self.folder / name, ignore_errors=True)
            if isinstance(error, (lmdb.Error, OSError)):
                raise self._write_error(error) from error
            raise
        self._env, self._name = env, name
        for old in self.folder.glob("data-*"):
            if old.name != name:
                shutil.rmtree(old, ignore_errors=True)

    def _write_error(self, error: Exception) -> StateError:
        if isinstance(error, lmdb.MapFullError):
            return StateError(
                "LOCAL_STATE_FULL",
                f"The working copy in {self.folder} reached its limit of {self._size_limit:,} bytes. "
                "Raise state.local.size-limit, or spread the state over more slots (parallelism).",
            )
        return StateError(
            "LOCAL_STATE_DISK",
            f"The working copy in {self.folder} cannot be written: {error}. Free the disk, or set state.local.dir to a folder on "
            "another one. Nothing is lost, because the state is in the checkpoint.",
        )

    def view(self) -> CopyView:
        """Opens a consistent view, which later writes do not change."""
        try:
            return CopyView(self._open().begin(db=self._entries))
        except (lmdb.Error, OSError) as error:
            raise self._write_error(error) from error

    # -- files beside the LMDB file; a batch does not fail if they cannot be written

    def mark_used(self) -> None:
        """Records that the copy is in use. Unused copies are removed after a while."""
        with suppress(OSError):
            (
                self.folder / "used"
            ).touch()  # only the time of the file counts, so there is no content that could be damaged

    def write_tables(self, tables: list[StateTable]) -> None:
        """Stores what the numbers of state tables mean, for readers outside the job, if a table was added."""
        if len(tables) == self._tables_written:
            return
        with suppress(OSError):
            write_atomic(self.folder / "tables", msgspec.msgpack.encode(tables), durable=False)
            self._tables_written = len(tables)


def _open_tables(env: lmdb.Environment) -> tuple[Any, Any]:
    """Opens the two tables in a transaction of this thread.

    Otherwise open_db waits for the lock of the writer while it blocks all other threads. Two workers that opened each other's
    copies while they wrote to their own would then wait forever.
    """
    with env.begin(write=True) as txn:
        return env.open_db(ENTRIES, txn), env.open_db(MARKS, txn)


class StoredChanges(NamedTuple):
    """Changes for one transaction, in the form and order in which they are stored."""

    puts: Entries
    deleted: list[bytes]


def _split_changes(changes: Changes) -> Iterator[StoredChanges]:
    """Splits changes for several transactions, ordered by key so that few pages are changed by two of them."""
    ordered = sorted(changes)
    for at in range(0, max(len(ordered), 1), _TRANSACTION_SIZE):
        yield _to_stored_changes(ordered[at : at + _TRANSACTION_SIZE], changes)


def _to_stored_changes(ordered: list[bytes], changes: Changes) -> StoredChanges:
    puts = [(key, value) for key in ordered if (value := changes[key]) is not None]
    deleted = [] if len(puts) == len(ordered) else [key for key in ordered if changes[key] is None]
    if max(map(len, ordered), default=0) >= PREFIX:  # their stored form has another order
        puts = sorted(to_stored_entry(key, value) for key, value in puts)
        deleted = sorted(map(to_stored_key, deleted))
    return StoredChanges(puts, deleted)


def _lower_priority() -> None:
    """Lowers the priority of this thread, because no batch waits for it. Only Linux has priorities of threads."""
    if sys.platform == "linux":
        with suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), 10)
