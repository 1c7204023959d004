"""The working copy of a slot's state: an LMDB file on the executor's disk, for any worker of the machine.

It only ever takes deltas that the durable header proves committed. Losing it costs time and nothing else.
"""

from __future__ import annotations

import os
import secrets
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import lmdb
import msgspec
import xxhash

from penstock.config import LOCAL_DIR, Configuration
from penstock.errors import StateError
from penstock.jobs import process
from penstock.jobs.whole_file import write_whole
from penstock.runtime.state.backend import Table
from penstock.runtime.store import Changes
from penstock.spark.recent import Committed, Position, Recent

_HASHED = 480  # length of the stored form of a long key
LONG_KEY = _HASHED
_PREFIX = _HASHED - 16  # plain keys are shorter than the prefix of long ones, or they would stand between them
_SEQ, _TOKEN, _BOOT, _PARTIAL = b"seq", b"token", b"boot", b"partial"
# LMDB keeps the pages that a transaction changes in memory: a random key is a page, so this bounds it to some 100 MB.
_AT_ONCE = 25_000


class WorkingCopy:
    """One slot's LMDB file, opened once per process."""

    def __init__(self, folder: str, size_limit: int) -> None:
        self.folder = Path(folder)
        self._size_limit = size_limit
        self._env: lmdb.Environment | None = None
        self._name = ""
        self._later: threading.Thread | None = None
        self.recent = Recent()  # what it may lack
        self._tables_told = -1
        self.refused = False  # what was to be applied later could not be

    def _open(self) -> lmdb.Environment:
        """The current file. A rebuild makes a new one and then points to it, so a half-built one is never used."""
        name = self._current()
        if self._env is None or name != self._name:
            self.close()
            self.folder.mkdir(parents=True, exist_ok=True)
            self._env = self._open_file(name)
            self._name = name
        return self._env

    @property
    def file(self) -> str:
        """Where the LMDB file in use is: another process may open it to read."""
        self._open()
        return str(self.folder / self._name)

    def _current(self) -> str:
        try:
            return (self.folder / "current").read_text()
        except OSError:
            return "data-0"

    def _open_file(self, name: str) -> lmdb.Environment:
        # Without sync a power cut may damage the file: then the boot id differs and it is built anew.
        env = lmdb.open(
            str(self.folder / name),
            map_size=self._size_limit,
            max_dbs=2,
            sync=False,
            metasync=False,
            writemap=False,
            readahead=False,
        )
        self._entries, self._marks = _tables(env)
        return env

    def close(self) -> None:
        self.settled()
        if self._env is not None:
            self._env.close()
            self._env = None

    def position(self) -> Position:
        """Where the copy stands; number -1 when there is nothing to build on."""
        try:
            with self._open().begin() as txn:
                return self._position(txn)
        except (lmdb.Error, OSError):
            return Position(-1)

    def position_of(self, view: CopyView) -> Position:
        """Where it stood when a view was opened."""
        return self._position(view.transaction)

    def _position(self, txn: Any) -> Position:
        seq, boot = txn.get(_SEQ, db=self._marks), txn.get(_BOOT, db=self._marks)
        if seq is None or boot != boot_id():
            return Position(-1)
        return Position(int.from_bytes(seq, "big"), *self._tokens(txn))

    def _tokens(self, txn: Any) -> tuple[bytes, bytes]:
        """The tokens of the last delta applied, and of one that was begun."""
        return txn.get(_TOKEN, default=b"", db=self._marks), txn.get(_PARTIAL, default=b"", db=self._marks)

    def apply(self, delta: Committed) -> None:
        """Applies a delta, unless another worker has done it already."""
        self.refused = False
        try:
            self._apply(self._open(), delta)
        except (lmdb.Error, OSError) as error:
            raise self._unwritable(error) from error

    def _apply(self, env: lmdb.Environment, delta: Committed) -> None:
        with env.begin() as txn:
            if self._tokens(txn)[0] == delta.token:
                return
        *parts, last = _parts(delta.changes)
        for part in parts:
            with env.begin(write=True) as txn:
                self._go_on(txn, delta)
                txn.put(_PARTIAL, delta.token, db=self._marks)
                self._write(txn, part)
        with env.begin(write=True) as txn:
            self._go_on(txn, delta)
            self._write(txn, last)
            self._sign(txn, delta.seq, delta.token)

    def _go_on(self, txn: lmdb.Transaction, delta: Committed) -> None:
        """Between two transactions another worker may have done the same, and more."""
        if self._tokens(txn)[0] != delta.before:
            raise Raced

    def apply_later(self, delta: Committed) -> None:
        """Applies a delta while nobody waits for it. One that cannot be applied a later batch tries again, and tells."""
        before = self._later
        env = self._open()  # here: only one thread may close a file and open another

        def apply() -> None:
            _yield_to_others()
            if before is not None:
                before.join()
            try:
                self._apply(env, delta)
            except Raced:
                pass
            except (lmdb.Error, OSError):
                self.refused = True

        self._later = threading.Thread(target=apply, name="penstock-working-copy", daemon=True)
        self._later.start()

    def is_settling(self) -> bool:
        """Whether something is still being applied."""
        return self._later is not None and self._later.is_alive()

    def settled(self) -> None:
        """Waits for what was to be applied later."""
        later, self._later = self._later, None
        if later is not None:
            later.join()

    def _write(self, txn: lmdb.Transaction, changes: Changes) -> None:
        db = self._entries
        puts = []
        for key, value in changes.items():
            if value is None:
                txn.delete(_stored_key(key), db=db)
            else:
                puts.append(_stored(key, value))
        puts.sort()
        with txn.cursor(db=db) as cursor:
            cursor.putmulti(puts)

    def _sign(self, txn: lmdb.Transaction, seq: int, token: bytes) -> None:
        txn.put(_SEQ, seq.to_bytes(8, "big"), db=self._marks)
        txn.put(_TOKEN, token, db=self._marks)
        txn.put(_BOOT, boot_id(), db=self._marks)
        if txn.get(_PARTIAL, db=self._marks) == token:
            txn.delete(_PARTIAL, db=self._marks)

    def rebuild(self, chunks: Iterable[Changes], seq: int, token: bytes) -> None:
        """Starts over from the durable state: base and deltas, in order."""

        def write(env: lmdb.Environment) -> None:
            for changes in chunks:
                for part in _parts(changes):
                    with env.begin(write=True) as txn:
                        self._write(txn, part)

        self._start_over(write, seq, token)

    def fill(self, parts: Iterable[list[bytes]], seq: int, token: bytes) -> None:
        """Starts over with entries that nothing is known of: key, value, key, value, ... in parts, mostly in order."""

        def write(env: lmdb.Environment) -> None:
            last = b""
            for flat in parts:
                last = self._append(env, flat, last)

        self._start_over(write, seq, token)

    def _append(self, env: lmdb.Environment, flat: list[bytes], last: bytes) -> bytes:
        """Writes entries, at the end of the file if they belong there: that is several times faster. Gives the last key."""
        keys = flat[::2]
        if max(map(len, keys)) < _PREFIX:
            puts = list(zip(keys, flat[1::2], strict=True))
        else:
            puts = [_stored(key, value) for key, value in zip(keys, flat[1::2], strict=True)]
        puts.sort()
        at_end = puts[0][0] > last
        with env.begin(write=True) as txn, txn.cursor(db=self._entries) as cursor:
            cursor.putmulti(puts, append=at_end)
        return max(last, puts[-1][0])

    def _start_over(self, write: Callable[[lmdb.Environment], None], seq: int, token: bytes) -> None:
        self.close()
        name = f"data-{secrets.token_hex(6)}"
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            env = self._open_file(name)
        except (lmdb.Error, OSError) as error:
            raise self._unwritable(error) from error
        try:
            write(env)
            with env.begin(write=True) as txn:
                self._sign(txn, seq, token)
            temporary = self.folder / f".current.{os.getpid()}"
            temporary.write_text(name)
            os.replace(temporary, self.folder / "current")
        except BaseException as error:
            env.close()
            shutil.rmtree(self.folder / name, ignore_errors=True)
            if isinstance(error, (lmdb.Error, OSError)):
                raise self._unwritable(error) from error
            raise
        self._env, self._name = env, name
        for old in self.folder.glob("data-*"):
            if old.name != name:
                shutil.rmtree(old, ignore_errors=True)

    def _unwritable(self, error: Exception) -> StateError:
        if isinstance(error, lmdb.MapFullError):
            return StateError(
                "LOCAL_STATE_FULL",
                f"The working copy in {self.folder} reached its limit of {self._size_limit:,} bytes. "
                "Raise state.local.size-limit, or spread the state over more slots (parallelism).",
            )
        return StateError(
            "LOCAL_STATE_DISK",
            f"The working copy in {self.folder} cannot be written: {error}. Free the disk, or point state.local.dir at another "
            "one; nothing is lost, the state is in the checkpoint.",
        )

    def view(self) -> CopyView:
        """A consistent view that later writers do not change."""
        try:
            return CopyView(self._open().begin(db=self._entries))
        except (lmdb.Error, OSError) as error:
            raise self._unwritable(error) from error

    def touch(self) -> None:
        """Says that the copy is in use: unused ones are removed after a while."""
        with suppress(OSError):  # a batch is not to fail for it
            (self.folder / "used").write_text(str(int(time.time())))

    def keep_tables(self, tables: list[Table]) -> None:
        """Says what the tables' numbers mean, for who looks at the copy from outside; written when there is a new one."""
        if len(tables) == self._tables_told:
            return
        with suppress(OSError):  # a batch is not to fail for it
            write_whole(self.folder / "tables", msgspec.msgpack.encode(tables))
            self._tables_told = len(tables)

    # -- deltas on their way: written here too, so that the next batch need not read them from Spark

    def keep_pending(self, seq: int, token: bytes, blobs: list[bytes]) -> None:
        folder = self.folder / "pending"
        temporary = folder / f".{seq}-{token.hex()}.{os.getpid()}"
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with open(temporary, "wb") as file:
                for blob in blobs:
                    file.write(len(blob).to_bytes(8, "big"))
                    file.write(blob)
            os.replace(temporary, folder / f"{seq}-{token.hex()}")
        except OSError:
            with suppress(OSError):  # a convenience only: the delta is in the checkpoint
                temporary.unlink(missing_ok=True)

    def take_pending(self, seq: int, token: bytes) -> list[bytes] | None:
        """The blobs of a delta, if a worker of this machine wrote it; older ones are removed."""
        folder = self.folder / "pending"
        wanted = f"{seq}-{token.hex()}"
        try:
            data = (folder / wanted).read_bytes()
        except OSError:
            return None
        blobs, at = [], 0
        while at < len(data):
            size = int.from_bytes(data[at : at + 8], "big")
            blobs.append(data[at + 8 : at + 8 + size])
            at += 8 + size
        return blobs

    def forget_pending(self, up_to: int) -> None:
        folder = self.folder / "pending"
        if not folder.exists():
            return
        for file in folder.iterdir():
            number = file.name.lstrip(".").split("-")[0]
            if number.isdigit() and int(number) <= up_to:
                file.unlink(missing_ok=True)


def _tables(env: lmdb.Environment) -> tuple[Any, Any]:
    """Its two tables. Without a transaction of its own, open_db waits for the writer's lock and lets no other thread run.

    So two workers that opened each other's copies while they wrote to their own waited for each other for ever.
    """
    with env.begin(write=True) as txn:
        return env.open_db(b"entries", txn), env.open_db(b"marks", txn)


class CopyReader:
    """A working copy that another process writes: one view of it, and the tokens that the view was taken at."""

    def __init__(self, file: str, size_limit: int) -> None:
        env = lmdb.open(file, map_size=size_limit, max_dbs=2, readonly=True, readahead=True)
        entries, marks = env.open_db(b"entries", create=False), env.open_db(b"marks", create=False)
        self._env = env
        self.view = CopyView(env.begin(db=entries))
        txn = self.view.transaction
        self.token = txn.get(_TOKEN, default=b"", db=marks)
        self.partial = txn.get(_PARTIAL, default=b"", db=marks)

    def close(self) -> None:
        self.view.close()
        self._env.close()


class Raced(Exception):  # noqa: N818 - StateLog looks again
    """Another worker changed the copy between our look and our write."""


class CopyView:
    """The entries of a working copy at one moment."""

    def __init__(self, txn: Any) -> None:  # lmdb's types allow for memory views, which we do not ask for
        self.transaction = txn

    def get(self, key: bytes) -> bytes | None:
        if len(key) < _PREFIX:
            value: bytes | None = self.transaction.get(key)
            return value
        data: bytes | None = self.transaction.get(_stored_key(key))
        if data is None:
            return None
        full, value = _unhash(data)
        return value if full == key else None

    def scan(self, start: bytes, stop: bytes) -> Iterator[tuple[bytes, bytes]]:
        with self.transaction.cursor() as cursor:
            if not cursor.set_range(start[:_PREFIX]):
                return
            hashed: list[tuple[bytes, bytes]] = []
            for stored, data in cursor.iternext():
                if len(stored) < _HASHED:
                    if hashed:
                        yield from _released(hashed, start, stop)
                    if stored >= stop:
                        return
                    if stored >= start:
                        yield stored, data
                    continue
                full, value = _unhash(data)
                if hashed and hashed[0][0][:_PREFIX] != full[:_PREFIX]:
                    yield from _released(hashed, start, stop)
                if stored[:_PREFIX] > stop:
                    return
                hashed.append((full, value))
            yield from _released(hashed, start, stop)

    def close(self) -> None:
        self.transaction.abort()


def _parts(changes: Changes) -> Iterator[Changes]:
    """Changes in parts for transactions of their own, by key: so that few pages are changed by two of them."""
    if len(changes) <= _AT_ONCE:
        yield changes
        return
    ordered = sorted(changes)
    for at in range(0, len(ordered), _AT_ONCE):
        yield {key: changes[key] for key in ordered[at : at + _AT_ONCE]}


def _released(hashed: list[tuple[bytes, bytes]], start: bytes, stop: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Long keys that share a prefix, in their own order."""
    for key, value in sorted(hashed):
        if start <= key < stop:
            yield key, value
    hashed.clear()


def _stored_key(key: bytes) -> bytes:
    """LMDB's keys have at most 511 bytes: a longer one is a prefix and a hash, the whole key stands beside the value."""
    return key if len(key) < _PREFIX else key[:_PREFIX] + xxhash.xxh3_128_digest(key)


def _stored(key: bytes, value: bytes) -> tuple[bytes, bytes]:
    if len(key) < _PREFIX:
        return key, value
    return _stored_key(key), len(key).to_bytes(4, "big") + key + value


def _unhash(data: bytes) -> tuple[bytes, bytes]:
    end = 4 + int.from_bytes(data[:4], "big")
    return data[4:end], data[end:]


def _yield_to_others() -> None:
    """Gives this thread less of a busy machine: what it does is not waited for. Linux has priorities of threads."""
    if sys.platform == "linux":
        with suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), 10)


def boot_id() -> bytes:
    """Changes when the machine starts anew."""
    return (process.boot_id() or str(int(time.time() - time.monotonic()) // 60)).encode()


def copies_of(configuration: Configuration, job_id: str) -> str:
    """Where executors keep the working copies of a job."""
    root = configuration.get(LOCAL_DIR) or os.path.join(tempfile.gettempdir(), "penstock-state")
    return f"{root}/{job_id}"


def remove_unused(folder: str, keep_hours: int) -> list[str]:
    """Removes working copies of jobs that nobody has run for so long."""
    removed = []
    for job in Path(folder).glob("*") if os.path.isdir(folder) else ():
        used = [float(f.read_text()) for f in job.glob("*/used") if f.is_file()]
        if used and max(used) < time.time() - keep_hours * 3600:
            shutil.rmtree(job, ignore_errors=True)
            removed.append(str(job))
    return removed
