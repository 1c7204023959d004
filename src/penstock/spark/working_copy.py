"""The working copy of a slot's state: an LMDB file on the executor's disk, for any worker of the machine.

It only ever takes deltas that the durable header proves committed. Losing it costs time and nothing else.
"""

from __future__ import annotations

import os
import secrets
import shutil
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import lmdb
import xxhash

from penstock.errors import StateError
from penstock.jobs import process
from penstock.runtime.store import Changes

_HASHED = 480  # length of the stored form of a long key
_PREFIX = _HASHED - 16  # plain keys are shorter than the prefix of long ones, or they would stand between them
_SEQ, _TOKEN, _BOOT = b"seq", b"token", b"boot"
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

    def _open(self) -> lmdb.Environment:
        """The current file. A rebuild makes a new one and then points to it, so a half-built one is never used."""
        name = self._current()
        if self._env is None or name != self._name:
            self.close()
            self.folder.mkdir(parents=True, exist_ok=True)
            self._env = self._open_file(name)
            self._name = name
        return self._env

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
        self._entries = env.open_db(b"entries")
        self._marks = env.open_db(b"marks")
        return env

    def close(self) -> None:
        self.settled()
        if self._env is not None:
            self._env.close()
            self._env = None

    def position(self) -> tuple[int, bytes]:
        """The number and token of the last delta applied; (-1, b"") when there is nothing to build on."""
        try:
            env = self._open()
            with env.begin(db=self._marks) as txn:
                seq, token, boot = txn.get(_SEQ), txn.get(_TOKEN), txn.get(_BOOT)
        except (lmdb.Error, OSError):
            return -1, b""
        if seq is None or token is None or boot != boot_id():
            return -1, b""
        return int.from_bytes(seq, "big"), bytes(token)

    def apply(self, deltas: Iterable[Changes], seq: int, token: bytes, expected: tuple[int, bytes]) -> None:
        """Applies deltas, unless another worker has done so already."""
        try:
            env = self._open()
            with env.begin(write=True) as txn:
                now = txn.get(_TOKEN, db=self._marks)
                if now == token:
                    return
                if expected[0] >= 0 and now != expected[1]:
                    raise Raced
                changes = _merged(deltas)
                if len(changes) <= _AT_ONCE:
                    self._write(txn, changes)
                    self._sign(txn, seq, token)
                    return
                # From here to the last part the copy is no state that ever was: whoever finds it so builds it anew.
                txn.delete(_TOKEN, db=self._marks)
            for part in _parts(changes):
                with env.begin(write=True) as txn:
                    self._write(txn, part)
            with env.begin(write=True) as txn:
                self._sign(txn, seq, token)
        except (lmdb.Error, OSError) as error:
            raise self._unwritable(error) from error

    def apply_later(self, changes: Changes, seq: int, token: bytes, expected: tuple[int, bytes]) -> None:
        """Applies a delta while nobody waits for it. What cannot be applied is found missing by the next batch, and told."""

        def apply() -> None:
            with suppress(Raced, StateError):
                self.apply([changes], seq, token, expected)

        self._later = threading.Thread(target=apply, name="penstock-working-copy", daemon=True)
        self._later.start()

    def settled(self) -> None:
        """Waits for what was to be applied later."""
        later, self._later = self._later, None
        if later is not None:
            later.join()

    def token_of(self, view: CopyView) -> bytes:
        """The token of the last delta that a view shows."""
        return view.mark(self._marks, _TOKEN)

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

    def rebuild(self, chunks: Iterable[Changes], seq: int, token: bytes) -> None:
        """Starts over from the durable state: base and deltas, in order."""
        self.close()
        name = f"data-{secrets.token_hex(6)}"
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            env = self._open_file(name)
        except (lmdb.Error, OSError) as error:
            raise self._unwritable(error) from error
        try:
            for changes in chunks:
                for part in _parts(changes):
                    with env.begin(write=True) as txn:
                        self._write(txn, part)
            with env.begin(write=True) as txn:
                self._sign(txn, seq, token)
            temporary = self.folder / f".current.{os.getpid()}"
            temporary.write_text(name)
            os.replace(temporary, self.folder / "current")
        except (lmdb.Error, OSError) as error:
            env.close()
            shutil.rmtree(self.folder / name, ignore_errors=True)
            raise self._unwritable(error) from error
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


class Raced(Exception):  # noqa: N818 - StateLog looks again
    """Another worker changed the copy between our look and our write."""


class CopyView:
    """The entries of a working copy at one moment."""

    def __init__(self, txn: Any) -> None:  # lmdb's types allow for memory views, which we do not ask for
        self._txn = txn

    def get(self, key: bytes) -> bytes | None:
        if len(key) < _PREFIX:
            value: bytes | None = self._txn.get(key)
            return value
        data: bytes | None = self._txn.get(_stored_key(key))
        if data is None:
            return None
        full, value = _unhash(data)
        return value if full == key else None

    def scan(self, start: bytes, stop: bytes) -> Iterator[tuple[bytes, bytes]]:
        with self._txn.cursor() as cursor:
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

    def mark(self, db: Any, name: bytes) -> bytes:
        found: bytes = self._txn.get(name, default=b"", db=db)
        return found

    def size(self) -> int:
        stat = self._txn.stat()
        return int(stat["psize"] * (stat["leaf_pages"] + stat["overflow_pages"] + stat["branch_pages"]))

    def close(self) -> None:
        self._txn.abort()


def _merged(deltas: Iterable[Changes]) -> Changes:
    """Deltas as one: later changes win."""
    merged: Changes = {}
    for changes in deltas:
        merged.update(changes)
    return merged


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


def boot_id() -> bytes:
    """Changes when the machine starts anew."""
    return (process.boot_id() or str(int(time.time() - time.monotonic()) // 60)).encode()


def remove_unused(folder: str, keep_hours: int) -> list[str]:
    """Removes working copies of jobs that nobody has run for so long."""
    removed = []
    for job in Path(folder).glob("*") if os.path.isdir(folder) else ():
        used = [float(f.read_text()) for f in job.glob("*/used") if f.is_file()]
        if used and max(used) < time.time() - keep_hours * 3600:
            shutil.rmtree(job, ignore_errors=True)
            removed.append(str(job))
    return removed
