"""Compaction of the state log: writes a new base snapshot, some chunks per batch, and removes what it replaces.

The work of a batch is proportional to its changes, not to the size of the state.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from penstock.runtime.state.store import ReadView
from penstock.spark.state.state_format import (
    CHUNK_BYTES,
    ENTRY_OVERHEAD,
    BaseSnapshot,
    Header,
    KeyValueStore,
    UnfinishedBase,
    base_key,
    delta_key,
    encode,
)

_REMOVED_PER_BATCH = 64  # chunks of old base snapshots
_END = b"\xff" * 1024  # greater than all keys


class CompactionPolicy(msgspec.Struct, frozen=True):
    """When a new base snapshot is begun, and how much of it a batch writes."""

    fraction: float = 0.5  # of the size of the base that the deltas may have
    least: int = 8 << 20  # bytes of deltas below which nothing is compacted
    ratio: float = 1.0  # bytes written per byte of the delta of a batch
    most_deltas: int = 500

    def is_due(self, header: Header) -> bool:
        is_long = header.log_bytes > max(self.least, self.fraction * header.base_bytes)
        return is_long or len(header.deltas) > self.most_deltas


class Compactor:
    """Compacts the log of one slot. Changes the header of the batch that is being committed."""

    def __init__(self, store: KeyValueStore, put: Callable[[str, bytes], None], policy: CompactionPolicy) -> None:
        self._store = store
        self._put = put
        self._policy = policy

    def begin_if_due(self, header: Header, last_applied: int) -> None:
        """Begins a base snapshot if the log is long. `last_applied` is the last batch that the working copy contains.

        Deltas that the working copy may lack are applied on top of the snapshot. It does no harm if they repeat some of it.
        """
        if header.folding is None and self._policy.is_due(header):
            generation = 1 if header.base is None else header.base.generation + 1
            header.folding = UnfinishedBase(generation, 0, max(last_applied + 1, header.first_delta), 0, b"")

    def write_chunks(self, header: Header, entries: ReadView, delta_size: int) -> None:
        """Writes the next chunks of the unfinished base snapshot."""
        budget = max(int(self._policy.ratio * delta_size), CHUNK_BYTES)
        assert header.folding is not None
        base = header.folding = msgspec.structs.replace(header.folding)
        flat: list[bytes] = []
        size = total = 0
        for key, value in entries.scan(base.cursor, _END):
            if total >= budget:
                base.cursor = key
                break
            flat += (key, value)
            size += len(key) + len(value) + ENTRY_OVERHEAD
            if size >= CHUNK_BYTES:
                total += self._write_chunk(base, flat)
                flat, size = [], 0
        else:
            if flat:
                self._write_chunk(base, flat)
            self._finish(header, base)
            return
        if flat:
            self._write_chunk(base, flat)

    def _write_chunk(self, base: UnfinishedBase, flat: list[bytes]) -> int:
        blob = encode(flat)
        self._put(base_key(base.generation, base.chunks), blob)
        base.chunks += 1
        base.size += len(blob)
        return len(blob)

    def _finish(self, header: Header, base: UnfinishedBase) -> None:
        """Replaces the base snapshot, and removes the deltas that the new one contains."""
        if header.base is not None:
            header.garbage = [*header.garbage, (header.base.generation, header.base.chunks)]
        header.base = BaseSnapshot(base.generation, base.chunks, base.next_delta, base.size)
        header.folding = None
        removed = base.next_delta - header.first_delta
        for seq in range(header.first_delta, base.next_delta):
            for number in range(header.deltas[seq - header.first_delta][1]):
                self._store.remove(delta_key(seq, number))
        header.first_delta = base.next_delta
        header.deltas = header.deltas[removed:]

    def collect_garbage(self, header: Header) -> None:
        """Removes some chunks of old base snapshots."""
        left = _REMOVED_PER_BATCH
        remaining = []
        for generation, chunks in header.garbage:
            removed = min(left, chunks)
            for number in range(chunks - removed, chunks):
                self._store.remove(base_key(generation, number))
            left -= removed
            if chunks > removed:
                remaining.append((generation, chunks - removed))
        header.garbage = remaining
