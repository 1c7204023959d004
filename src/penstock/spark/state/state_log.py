"""Reads and writes the durable state of a slot, and keeps its working copy up to date.

Each batch writes the entries that it changed. While the log is long, it also writes a part of a new base snapshot. So the bytes
written depend on the changes, not on the size of the state.
"""

from __future__ import annotations

import random
import secrets
from collections.abc import Iterable, Iterator

import msgspec

from penstock.runtime.state.store import Changes, ReadView
from penstock.spark.state.compaction import CompactionPolicy, Compactor
from penstock.spark.state.copy_view import CopyView
from penstock.spark.state.state_format import (
    FORMAT,
    HEADER_KEY,
    BaseSnapshot,
    Header,
    KeyValueStore,
    base_key,
    decode_delta,
    delta_key,
    encode,
    encode_delta,
    merge_chunks,
    read_all_changes,
    read_delta,
    read_header,
)
from penstock.spark.state.uncompacted_deltas import CommittedDelta, CopyPosition
from penstock.spark.state.working_copy import ConcurrentChange, WorkingCopy

_EMPTY = b"empty"  # the token of a slot without entries
_ATTEMPTS = 3
_SAMPLE = 500  # changed entries whose old size is read


class RestoredBase(msgspec.Struct):
    """The entries that a restored slot starts with. They become valid with the first header."""

    token: bytes
    base: BaseSnapshot


class StateLog:
    """The durable state of one slot during one batch."""

    def __init__(self, store: KeyValueStore, copy: WorkingCopy, policy: CompactionPolicy) -> None:
        self._store = store
        self._copy = copy
        self._compactor = Compactor(store, self._put, policy)
        self.header: Header | None = None
        self.view: ReadView | None = None
        self._copy_view: CopyView | None = None
        self._position = CopyPosition(-1)  # of the working copy, when the batch began
        self.written = 0  # bytes
        self.live_bytes = 0  # of all keys and values, after the last commit
        self._restored: RestoredBase | None = None
        self._header_read = False

    def has_header(self) -> bool:
        """Whether a batch of this slot was ever committed."""
        data = self._store.get(HEADER_KEY)
        self.header = None if data is None else read_header(data)
        self._header_read = True
        return self.header is not None

    def begin(self, initial: Iterable[list[bytes]] | None = None) -> ReadView:
        """Opens a view of the committed state: the working copy, with the batches that it lacks on top of it.

        A slot without a header starts empty, or with the `initial` entries of a restored job. Those are lists of key, value,
        key, value, ...; each list is read once. They become the first base snapshot.
        """
        if not self._header_read:
            self.has_header()
        self.written = 0
        if initial is not None and self.header is None:
            self._load(initial)
        for _ in range(_ATTEMPTS):
            try:
                self._catch_up()
                view = self._open_view()
                break
            except ConcurrentChange:
                continue
        else:
            self._rebuild()
            view = self._open_view()
        self.view = view
        return view

    def _open_view(self) -> ReadView:
        copy_view = self._copy_view = self._copy.view()
        deltas, position = self._copy.uncompacted, self._copy.position_of_view(copy_view)
        if deltas.is_empty:
            is_current = position.token == self._token() and not position.partial
        else:
            is_current = deltas.completes(position)
        if not is_current:  # another worker has changed the copy
            self.end()
            raise ConcurrentChange
        return deltas.overlay(copy_view)

    def _token(self) -> bytes:
        """The token of the state that the batch begins with."""
        if self.header is not None:
            return self.header.token
        return _EMPTY if self._restored is None else self._restored.token

    def _catch_up(self) -> None:
        header, copy = self.header, self._copy
        position = self._position = copy.position()
        deltas = copy.uncompacted
        deltas.drop_applied(position)
        if header is None:
            deltas.clear()
            if self._restored is None and position != CopyPosition(0, _EMPTY):
                copy.rebuild((), 0, _EMPTY)
            return
        if position.token == header.token and not position.partial:
            deltas.clear()
            return
        if 0 <= position.seq < header.seq and deltas.extend_to(position, header.seq, header.token, self._read_delta):
            if deltas.is_too_large() or copy.apply_failed:
                self._update_copy_now()
            return
        self._rebuild()

    def _load(self, initial: Iterable[list[bytes]]) -> None:
        """Writes the entries to the working copy and to Spark's store, one list at a time: they may not fit into memory."""
        restored = self._restored = RestoredBase(secrets.token_bytes(8), BaseSnapshot(1, 0, 1, 0))

        def store_chunks() -> Iterator[list[bytes]]:
            base = restored.base
            for chunk in initial:
                blob = encode(chunk)
                self._put(base_key(base.generation, base.chunks), blob)
                base.chunks += 1
                base.size += len(blob)
                yield chunk

        self._copy.load(store_chunks(), 0, restored.token)

    def _update_copy_now(self) -> None:
        """Makes the batch wait until the working copy is updated: it is far behind, or a write in the background failed."""
        copy = self._copy
        copy.wait_until_applied()
        copy.uncompacted.drop_applied(copy.position())
        if copy.uncompacted.is_too_large() or (copy.apply_failed and not copy.uncompacted.is_empty):
            copy.apply(copy.uncompacted.merge())
            copy.uncompacted.clear()

    def update_copy(self) -> None:
        """Starts to write the last batches into the working copy, if there are enough of them.

        The header has shown that they are committed.
        """
        copy = self._copy
        if copy.uncompacted.is_worth_writing() and not copy.is_applying():
            copy.apply_in_background(copy.uncompacted.merge())

    def _rebuild(self) -> None:
        assert self.header is not None
        self._copy.uncompacted.clear()
        self._copy.rebuild(read_all_changes(self._store, self.header), self.header.seq, self.header.token)

    def _read_delta(self, seq: int, token: bytes) -> CommittedDelta | None:
        """Returns a committed delta, or None if its token differs or the base snapshot contains it by now."""
        assert self.header is not None
        blobs = self._copy.pending.read(seq, token)
        if not blobs and seq < self.header.first_delta:
            return None
        chunks = [decode_delta(blob) for blob in blobs] if blobs else read_delta(self._store, seq)
        if chunks[0].token != token:
            return None
        return CommittedDelta(merge_chunks(chunks), seq, token, chunks[0].previous, chunks[0].growth)

    def commit(self, changes: Changes, meta: bytes) -> Header:
        """Writes the changes of a batch, a part of a new base snapshot, and the header that makes both valid."""
        header, previous = self._next_header(meta)
        seq, growth = header.seq, self._growth(changes)
        self.live_bytes = self._live_bytes() + growth
        blobs = encode_delta(changes, previous, header.token, growth)
        for number, blob in enumerate(blobs):
            self._put(delta_key(seq, number), blob)
        size = sum(map(len, blobs))
        header.deltas = [*header.deltas, (size, len(blobs))]
        self._compact(header, size)
        self._put(HEADER_KEY, encode(header))
        self._copy.pending.remove(self._position.seq)  # the working copy may still need the later ones
        self._copy.pending.write(seq, header.token, blobs)
        self._copy.uncompacted.set_own_delta(CommittedDelta(changes, seq, header.token, previous, growth))
        return header

    def _live_bytes(self) -> int:
        """The bytes of all keys and values before the batch."""
        if self._copy_view is None:
            return 0
        position = self._copy.position_of_view(self._copy_view)
        return self._copy.live_bytes_of_view(self._copy_view) + self._copy.uncompacted.growth_after(position)

    def _growth(self, changes: Changes) -> int:
        """By how many bytes changes make the state larger.

        It is estimated by a sample if a batch changes many entries, because each entry has to be read. The error is
        temporary: the working copy counts exactly when it applies the changes.
        """
        view = self.view
        if view is None or not changes:
            return 0
        keys = list(changes)
        sample = keys if len(keys) <= _SAMPLE else random.sample(keys, _SAMPLE)
        growth = 0
        for key in sample:
            old, new = view.get(key), changes[key]
            growth += (0 if new is None else len(key) + len(new)) - (0 if old is None else len(key) + len(old))
        return round(growth * len(keys) / len(sample))

    def _next_header(self, meta: bytes) -> tuple[Header, bytes]:
        """The header of the batch without its delta, and the token of the batch before it."""
        old, token = self.header, secrets.token_bytes(8)
        if old is not None:
            return msgspec.structs.replace(old, format=FORMAT, seq=old.seq + 1, token=token, meta=meta), old.token
        header = Header(FORMAT, 1, token, meta, first_delta=1)
        if self._restored is not None:
            header.base = self._restored.base
        return header, self._token()  # the token of a restored slot differs from that of an empty one

    def changes_above_copy(self, changes: Changes, committed: Header) -> tuple[Changes, list[bytes]]:
        """Returns what a reader of the working copy has to add to it to see the state after a batch.

        The second value are the tokens of the copy for which that is correct. With any of them, as its position or as the
        delta that it has applied in part, the copy contains some of the changes and nothing later.
        """
        assert self._copy_view is not None
        deltas = self._copy.uncompacted
        tokens = [self._copy.position_of_view(self._copy_view).token, *deltas.tokens(), committed.token]
        return {**deltas.changes(), **changes}, tokens

    def _put(self, key: str, value: bytes) -> None:
        self._store.put(key, value)
        self.written += len(value)

    def _compact(self, header: Header, delta_size: int) -> None:
        compactor = self._compactor
        compactor.collect_garbage(header)
        compactor.begin_if_due(header, self._last_applied())
        if header.folding is None:
            return
        # The copy alone is read faster. A copy on another machine may lack deltas that the snapshot has to contain.
        entries = self._copy_view if self._last_applied() + 1 >= header.folding.next_delta else self.view
        assert entries is not None
        compactor.write_chunks(header, entries, delta_size)

    def _last_applied(self) -> int:
        """The last batch that the working copy contains completely."""
        return self._copy.position_of_view(self._copy_view).seq if self._copy_view is not None else 0

    def end(self) -> None:
        """Closes the view."""
        if self._copy_view is not None:
            self._copy_view.close()
            self._copy_view = self.view = None
