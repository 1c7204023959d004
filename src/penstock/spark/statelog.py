"""The durable truth of a slot: a header, one delta per batch, and a base, in one map of Spark's state store.

Each batch writes what it changed, and while the log is long folds a part of the working copy into a new base: bytes
written follow the changes, not the size of the state.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Iterator
from typing import Protocol

import msgspec

from penstock.errors import CheckpointError
from penstock.runtime.store import Base as Entries
from penstock.runtime.store import Changes
from penstock.spark.recent import Committed, Position
from penstock.spark.working_copy import CopyView, Raced, WorkingCopy

FORMAT = 1
_CHUNK = 1 << 20
_HEADER = "h"
_EMPTY = b"empty"


class KeyValue(Protocol):
    """A map of Spark's state store, or a dict in tests."""

    def get(self, key: str) -> bytes | None: ...
    def put(self, key: str, value: bytes) -> None: ...
    def remove(self, key: str) -> None: ...


class Base(msgspec.Struct, array_like=True):
    """A copy of all entries, in chunks by key; deltas from `next_delta` on come on top."""

    generation: int
    chunks: int
    next_delta: int
    size: int


class Folding(msgspec.Struct, array_like=True):
    """A base being made."""

    generation: int
    chunks: int
    next_delta: int
    size: int
    cursor: bytes


class Header(msgspec.Struct):
    """What a slot's state is, as of the last committed batch."""

    format: int
    seq: int
    token: bytes
    meta: bytes
    first_delta: int = 0
    deltas: list[tuple[int, int]] = []  # (bytes, chunks) of the deltas from first_delta on
    base: Base | None = None
    folding: Folding | None = None
    garbage: list[tuple[int, int]] = []  # (generation, chunks left) of old bases

    @property
    def log_bytes(self) -> int:
        return sum(size for size, _ in self.deltas)

    @property
    def base_bytes(self) -> int:
        return self.base.size if self.base is not None else 0


class Delta(msgspec.Struct, array_like=True):
    """One chunk of a batch's changes; tokens chain the batches."""

    previous: bytes
    token: bytes
    chunks: int
    entries: list[bytes | None]  # key, value, key, value, ...; None: deleted


class Loaded(msgspec.Struct):
    """What a restored slot starts with: the name of that state, and its base, which the first header makes count."""

    token: bytes
    base: Base


class FoldPolicy(msgspec.Struct, frozen=True):
    """When and how much to fold."""

    fraction: float = 0.5
    least: int = 8 << 20
    ratio: float = 1.0
    most_deltas: int = 500


_encode = msgspec.msgpack.encode
_header_decoder = msgspec.msgpack.Decoder(Header)
_delta_decoder = msgspec.msgpack.Decoder(Delta)
_chunk_decoder = msgspec.msgpack.Decoder(list[bytes])


class StateLog:
    """Reads and writes one slot's durable state, and keeps its working copy in step."""

    def __init__(self, store: KeyValue, copy: WorkingCopy, policy: FoldPolicy) -> None:
        self._store = store
        self._copy = copy
        self._policy = policy
        self.header: Header | None = None
        self.view: Entries | None = None
        self._opened: CopyView | None = None
        self._position = Position(-1)  # of the working copy, when the batch began
        self.rebuilt = False
        self.written = 0
        self._loaded: Loaded | None = None  # what a restored slot starts with
        self._read = False

    def has_header(self) -> bool:
        """Whether a batch of this slot was ever committed."""
        data = self._store.get(_HEADER)
        self.header = None if data is None else read_header(data)
        self._read = True
        return self.header is not None

    def begin(self, initial: Iterable[list[bytes]] | None = None) -> Entries:
        """Opens a view of the committed state; the working copy may lack the last batches, which are then laid over it.

        A slot without a header starts empty, or with the `initial` entries of a restored job (key, value, key, value, ... in
        parts, each read once): they become its first base.
        """
        if not self._read:
            self.has_header()
        self.written = 0
        if initial is not None and self.header is None:
            self._load(initial)
        for _ in range(3):
            try:
                self._catch_up()
                view = self._open_view()
                break
            except Raced:
                continue
        else:
            self._rebuild()
            view = self._open_view()
        self.view = view
        return view

    def _open_view(self) -> Entries:
        opened = self._opened = self._copy.view()
        recent, position = self._copy.recent, self._copy.position_of(opened)
        whole = position.token == self._token() and not position.partial
        if not (whole if recent.is_empty else recent.shows(position)):  # somebody came between
            self.end()
            raise Raced
        return recent.over(opened)

    def _token(self) -> bytes:
        """Of the state that a batch begins with."""
        if self.header is not None:
            return self.header.token
        return _EMPTY if self._loaded is None else self._loaded.token

    def _catch_up(self) -> None:
        header, copy = self.header, self._copy
        position = self._position = copy.position()
        copy.recent.forget(position)
        if header is None:
            copy.recent.clear()
            if self._loaded is None and position != Position(0, _EMPTY):
                copy.rebuild((), 0, _EMPTY)
            return
        if position.token == header.token and not position.partial:
            copy.recent.clear()
            return
        if 0 <= position.seq < header.seq and copy.recent.follow(position, header.seq, header.token, self._delta):
            if copy.recent.is_too_large() or copy.refused:
                self._write_now()
            return
        self._rebuild()

    def _load(self, initial: Iterable[list[bytes]]) -> None:
        """Passes the entries on to the working copy and to Spark's store, a part at a time: there may be any number."""
        loaded = self._loaded = Loaded(secrets.token_bytes(8), Base(1, 0, 1, 0))

        def passing() -> Iterator[list[bytes]]:
            base = loaded.base
            for part in initial:
                blob = _encode(part)
                self._put(f"b/{base.generation}/{base.chunks}", blob)
                base.chunks += 1
                base.size += len(blob)
                yield part

        self._copy.fill(passing(), 0, loaded.token)

    def _write_now(self) -> None:
        """The working copy is far behind, or could not be written: before memory is full, the batch waits for it."""
        copy = self._copy
        copy.settled()
        copy.recent.forget(copy.position())
        if copy.recent.is_too_large() or (copy.refused and not copy.recent.is_empty):
            copy.apply(copy.recent.whole())
            copy.recent.clear()

    def settle(self) -> None:
        """Lets the working copy take the last batches, once it is worth it. The header said that they are committed."""
        copy = self._copy
        if copy.recent.is_worth_writing() and not copy.is_settling():
            copy.apply_later(copy.recent.whole())

    def _rebuild(self) -> None:
        assert self.header is not None
        self.rebuilt = True
        self._copy.recent.clear()
        self._copy.rebuild(all_chunks(self._store, self.header), self.header.seq, self.header.token)

    def _delta(self, seq: int, token: bytes) -> Committed | None:
        """A committed delta; None when it is of another history, or in the base by now."""
        assert self.header is not None
        blobs = self._copy.take_pending(seq, token)
        if not blobs and seq < self.header.first_delta:
            return None
        chunks = [_delta_decoder.decode(b) for b in blobs] if blobs else _read_delta(self._store, seq)
        if chunks[0].token != token:
            return None
        changes = _changes(chunks[0].entries)
        for chunk in chunks[1:]:
            changes.update(_changes(chunk.entries))
        return Committed(changes, seq, token, chunks[0].previous)

    def commit(self, changes: Changes, meta: bytes) -> Header:
        """Writes a batch: its delta, some folding, and the header that makes both count."""
        old = self.header
        seq = 1 if old is None else old.seq + 1
        if old is None:
            header = Header(FORMAT, seq, secrets.token_bytes(8), meta, first_delta=1)
            previous = _EMPTY
            if self._loaded is not None:  # the copy of a restored slot is not to be mistaken for an empty one
                previous, header.base = self._loaded.token, self._loaded.base
        else:
            header, previous = self._following(old, seq, meta), old.token
        blobs = _delta_blobs(changes, previous, header.token)
        for number, blob in enumerate(blobs):
            self._put(f"d/{seq}/{number}", blob)
        size = sum(map(len, blobs))
        header.deltas = [*header.deltas, (size, len(blobs))]
        self._fold(header, size)
        self._put(_HEADER, _encode(header))
        self._copy.forget_pending(self._position.seq)  # the copy lacks the younger ones
        self._copy.keep_pending(seq, header.token, blobs)
        self._copy.recent.remember(Committed(changes, seq, header.token, previous))
        return header

    def above_copy(self, changes: Changes, committed: Header) -> tuple[Changes, list[bytes]]:
        """What is to be laid over the working copy to see the state after a batch, and the tokens that allow it.

        With any of these tokens, as its own or as that of a part, the copy holds some of what is laid over it, and nothing later.
        """
        assert self._opened is not None
        recent = self._copy.recent
        tokens = [self._copy.position_of(self._opened).token, *recent.tokens(), committed.token]
        return {**recent.changes(), **changes}, tokens

    @staticmethod
    def _following(old: Header, seq: int, meta: bytes) -> Header:
        return Header(
            FORMAT,
            seq,
            secrets.token_bytes(8),
            meta,
            old.first_delta,
            old.deltas,
            old.base,
            old.folding,
            old.garbage,
        )

    def _put(self, key: str, value: bytes) -> None:
        self._store.put(key, value)
        self.written += len(value)

    def _fold(self, header: Header, delta_size: int) -> None:
        policy = self._policy
        self._collect_garbage(header)
        if header.folding is None:
            long = header.log_bytes > max(policy.least, policy.fraction * header.base_bytes)
            if not long and len(header.deltas) <= policy.most_deltas:
                return
            generation = 1 if header.base is None else header.base.generation + 1
            # Deltas that the working copy may lack come on top of what is read from it; that they repeat some of it is no harm.
            header.folding = Folding(generation, 0, max(self._reached() + 1, header.first_delta), 0, b"")
        budget = max(int(policy.ratio * delta_size), _CHUNK)
        self._fold_some(header, header.folding, budget)

    def _reached(self) -> int:
        """The last batch that the working copy has all of."""
        return self._copy.position_of(self._opened).seq if self._opened is not None else 0

    def _fold_some(self, header: Header, folding: Folding, budget: int) -> None:
        # Alone it is read faster; unless it is another machine's, and lacks what is not to come on top.
        entries = self._opened if self._reached() + 1 >= folding.next_delta else self.view
        assert entries is not None
        flat: list[bytes] = []
        size = total = 0
        folding = Folding(folding.generation, folding.chunks, folding.next_delta, folding.size, folding.cursor)
        header.folding = folding
        for key, value in entries.scan(folding.cursor, b"\xff" * 1024):
            if total >= budget:
                folding.cursor = key
                break
            flat += (key, value)
            size += len(key) + len(value) + 6
            if size >= _CHUNK:
                total += self._close_chunk(folding, flat)
                flat, size = [], 0
        else:
            if flat:
                self._close_chunk(folding, flat)
            self._finish(header, folding)
            return
        if flat:
            self._close_chunk(folding, flat)

    def _close_chunk(self, folding: Folding, flat: list[bytes]) -> int:
        blob = _encode(flat)
        self._put(f"b/{folding.generation}/{folding.chunks}", blob)
        folding.chunks += 1
        folding.size += len(blob)
        return len(blob)

    def _finish(self, header: Header, folding: Folding) -> None:
        """The new base is whole: the old one and the deltas before it may go."""
        if header.base is not None:
            header.garbage = [*header.garbage, (header.base.generation, header.base.chunks)]
        header.base = Base(folding.generation, folding.chunks, folding.next_delta, folding.size)
        header.folding = None
        gone = folding.next_delta - header.first_delta
        for seq in range(header.first_delta, folding.next_delta):
            for number in range(header.deltas[seq - header.first_delta][1]):
                self._store.remove(f"d/{seq}/{number}")
        header.first_delta = folding.next_delta
        header.deltas = header.deltas[gone:]

    def _collect_garbage(self, header: Header) -> None:
        """Removes some chunks of old bases with every batch."""
        left = 64
        kept = []
        for generation, chunks in header.garbage:
            removed = min(left, chunks)
            for number in range(chunks - removed, chunks):
                self._store.remove(f"b/{generation}/{number}")
            left -= removed
            if chunks > removed:
                kept.append((generation, chunks - removed))
        header.garbage = kept

    def end(self) -> None:
        if self._opened is not None:
            self._opened.close()
            self._opened = self.view = None


def all_chunks(store: KeyValue, header: Header) -> Iterator[Changes]:
    """The whole state: the base, then the deltas on top of it, in order."""
    start = header.first_delta
    if header.base is not None:
        start = header.base.next_delta
        for number in range(header.base.chunks):
            flat = _chunk_decoder.decode(_must(store, f"b/{header.base.generation}/{number}"))
            yield dict(zip(flat[::2], flat[1::2], strict=True))
    for seq in range(start, header.seq + 1):
        for chunk in _read_delta(store, seq):
            yield _changes(chunk.entries)


def _read_delta(store: KeyValue, seq: int) -> list[Delta]:
    chunks = [_delta_decoder.decode(_must(store, f"d/{seq}/0"))]
    for number in range(1, chunks[0].chunks):
        chunks.append(_delta_decoder.decode(_must(store, f"d/{seq}/{number}")))
    return chunks


def _must(store: KeyValue, key: str) -> bytes:
    data = store.get(key)
    if data is None:
        raise CheckpointError(
            "STATE_MISSING",
            f"The checkpoint lacks entry '{key}' of a slot's state: it is damaged. Resume from another one.",
        )
    return data


def read_header(data: bytes) -> Header:
    header = _header_decoder.decode(data)
    if header.format > FORMAT:
        raise CheckpointError(
            "STATE_FORMAT",
            f"The checkpoint's state has format {header.format}, and this Penstock reads formats up to {FORMAT}. "
            "Resume with the version that wrote it, or a newer one.",
        )
    return header


def _delta_blobs(changes: Changes, previous: bytes, token: bytes) -> list[bytes]:
    groups: list[list[bytes | None]] = [[]]
    size = 0
    for key, value in changes.items():
        groups[-1] += (key, value)
        size += len(key) + (len(value) if value is not None else 0) + 6
        if size >= _CHUNK:
            groups.append([])
            size = 0
    if len(groups) > 1 and not groups[-1]:
        groups.pop()
    return [_encode(Delta(previous, token, len(groups), group)) for group in groups]


def _changes(flat: list[bytes | None]) -> Changes:
    return dict(zip(flat[::2], flat[1::2], strict=True))  # type: ignore[arg-type]
