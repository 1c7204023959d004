"""The stored state of a slot: a header, one delta per batch and a base snapshot, in one map of Spark's state store.

Keys of the map are "h" for the header, "d/<batch>/<chunk>" for deltas and "b/<generation>/<chunk>" for base snapshots.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

import msgspec

from penstock.errors import CheckpointError
from penstock.runtime.state.store import Changes

FORMAT = 1
CHUNK_BYTES = 1 << 20
HEADER_KEY = "h"
ENTRY_OVERHEAD = 6  # bytes of msgpack per entry, about


class KeyValueStore(Protocol):
    """A map of Spark's state store, or a dict in tests."""

    def get(self, key: str) -> bytes | None: ...
    def put(self, key: str, value: bytes) -> None: ...
    def remove(self, key: str) -> None: ...


class BaseSnapshot(msgspec.Struct, array_like=True):
    """All entries of a slot, in chunks ordered by key. Deltas from `next_delta` on are applied on top of it."""

    generation: int
    chunks: int
    next_delta: int
    size: int


class UnfinishedBase(msgspec.Struct, array_like=True):
    """A base snapshot that is being written, some chunks per batch."""

    generation: int
    chunks: int
    next_delta: int
    size: int
    cursor: bytes  # the first key that is not written yet


class Header(msgspec.Struct):
    """Describes the state of a slot as of the last committed batch."""

    format: int
    seq: int  # the number of batches of this slot
    token: bytes  # identifies the state; see `Delta`
    meta: bytes
    first_delta: int = 0
    deltas: list[tuple[int, int]] = []  # bytes and chunks of each delta from first_delta on
    base: BaseSnapshot | None = None
    folding: UnfinishedBase | None = None
    garbage: list[tuple[int, int]] = []  # old base snapshots: generation, and the number of chunks not removed yet

    @property
    def log_bytes(self) -> int:
        return sum(size for size, _ in self.deltas)

    @property
    def base_bytes(self) -> int:
        return self.base.size if self.base is not None else 0


class Delta(msgspec.Struct, array_like=True):
    """One chunk of the changes of a batch. Each batch has a random token and names the token of the batch before it."""

    previous: bytes
    token: bytes
    chunks: int
    entries: list[bytes | None]  # key, value, key, value, ...; None for a deleted entry
    growth: int = 0  # bytes by which the batch has changed the size of the state; only in the first chunk


encode = msgspec.msgpack.encode
_header_decoder = msgspec.msgpack.Decoder(Header)
_chunk_decoder = msgspec.msgpack.Decoder(list[bytes])
decode_delta = msgspec.msgpack.Decoder(Delta).decode


def delta_key(seq: int, chunk: int) -> str:
    return f"d/{seq}/{chunk}"


def base_key(generation: int, chunk: int) -> str:
    return f"b/{generation}/{chunk}"


def read_header(data: bytes) -> Header:
    """Decodes a header. Raises CheckpointError if a newer Penstock wrote it."""
    header = _header_decoder.decode(data)
    if header.format > FORMAT:
        raise CheckpointError(
            "STATE_FORMAT",
            f"The state in the checkpoint has format {header.format}. This version of Penstock reads formats up to {FORMAT}. "
            "Resume the job with the version that wrote the checkpoint, or with a newer one.",
        )
    return header


def read_delta(store: KeyValueStore, seq: int) -> list[Delta]:
    """Reads all chunks of the delta of a batch."""
    chunks = [decode_delta(_read_required(store, delta_key(seq, 0)))]
    for number in range(1, chunks[0].chunks):
        chunks.append(decode_delta(_read_required(store, delta_key(seq, number))))
    return chunks


def read_all_changes(store: KeyValueStore, header: Header) -> Iterator[Changes]:
    """Yields the whole state: the base snapshot, then the deltas on top of it, in order."""
    start = header.first_delta
    if header.base is not None:
        start = header.base.next_delta
        for number in range(header.base.chunks):
            flat = _chunk_decoder.decode(_read_required(store, base_key(header.base.generation, number)))
            yield dict(zip(flat[::2], flat[1::2], strict=True))
    for seq in range(start, header.seq + 1):
        for chunk in read_delta(store, seq):
            yield to_changes(chunk.entries)


def _read_required(store: KeyValueStore, key: str) -> bytes:
    data = store.get(key)
    if data is None:
        raise CheckpointError(
            "STATE_MISSING",
            f"The checkpoint is damaged: entry '{key}' of the state of a slot is missing. Resume from another checkpoint.",
        )
    return data


def encode_delta(changes: Changes, previous: bytes, token: bytes, growth: int = 0) -> list[bytes]:
    """Encodes the changes of a batch, in chunks. `growth` is the change of the size of the state."""
    groups: list[list[bytes | None]] = [[]]
    size = 0
    for key, value in changes.items():
        groups[-1] += (key, value)
        size += len(key) + (len(value) if value is not None else 0) + ENTRY_OVERHEAD
        if size >= CHUNK_BYTES:
            groups.append([])
            size = 0
    if len(groups) > 1 and not groups[-1]:
        groups.pop()
    return [
        encode(Delta(previous, token, len(groups), group, 0 if number else growth))
        for number, group in enumerate(groups)
    ]


def to_changes(flat: list[bytes | None]) -> Changes:
    """Pairs the flat list of a delta: key, value, key, value, ..."""
    return dict(zip(flat[::2], flat[1::2], strict=True))  # type: ignore[arg-type]


def merge_chunks(chunks: list[Delta]) -> Changes:
    """Returns the changes of all chunks of one delta."""
    changes = to_changes(chunks[0].entries)
    for chunk in chunks[1:]:
        changes.update(to_changes(chunk.entries))
    return changes
