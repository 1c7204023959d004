"""Rewrites the entries of a table of state for a changed query: keys, rows by the meaning of their columns, and accumulators."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import msgspec
import pyarrow as pa

from penstock.runtime.relational.evolution.accumulator_change import FieldSource, SlotSource
from penstock.runtime.relational.keys import key_hashes
from penstock.runtime.relational.state.row_codec import pack, unpack
from penstock.runtime.state.keys import encoded_length
from penstock.types.logical.arrow import arrow_type
from penstock.types.logical.kinds import LogicalType

_GROUP = 2  # bytes of a key group before the key
_TIME = 8
_HASH = 8
_COUNTER = b"\x91\x00"  # the key of the next number of a block
_STAMP = 8  # bytes of the time of writing, if state has a time to live


class TableRewrite(msgspec.Struct, frozen=True):
    """How the entries of a table are rewritten. It is plain data, because workers read it from a file.

    kind: "rows" or "times", as in `KeyedStateStore.rows_table`. layout: what an entry contains (see `_LAYOUTS`).
    key: for each part of the new key its position in the old one. columns: for each column of the new rows its position in the old
    ones, -1 for NULL. skip: how many bytes stand before a row (-1: an upsert key), or how many fields before multisets. stamps:
    whether values had a time of writing, and whether they have one now. types: of the columns of blocks, before and now.
    """

    kind: str
    layout: str = "other"
    key: tuple[int, ...] | None = None
    columns: tuple[int, ...] | None = None
    fields: tuple[FieldSource, ...] | None = None
    slots: tuple[SlotSource, ...] | None = None
    skip: int = 0
    stamps: tuple[bool, bool] = (False, False)
    types: tuple[tuple[LogicalType, ...], tuple[LogicalType, ...]] | None = None

    @property
    def merges(self) -> bool:
        """Whether entries may become equal, so that they must be added up."""
        return self.layout == "row in name" and self.columns is not None

    def rewrite(self, names: Sequence[bytes], values: Sequence[bytes], now: int) -> Iterator[tuple[bytes, bytes]]:
        """Yields the new entries: names without the number of the table, and values. `now` becomes the time of writing."""
        chosen = _LAYOUTS[self.layout]
        stamp = max(now, 0).to_bytes(_STAMP, "big")
        had, has = self.stamps
        for name, value in zip(names, values, strict=True):
            start = _GROUP if self.kind == "rows" else _TIME + _HASH
            end = start + encoded_length(name, start)
            layout = _other if self.layout == "block" and name[start:end] == _COUNTER else chosen
            before = b""
            if had:
                before, value = value[:_STAMP], value[_STAMP:]
            for rest, new in layout(self, name[end:], value):
                changed = new if not has else (before or stamp) + new
                yield self._name(name, start, end) + rest, changed

    def _name(self, name: bytes, start: int, end: int) -> bytes:
        if self.key is None:
            return name[:end]
        parts = _raw_items(name[start:end])
        key = _array(len(self.key)) + b"".join(parts[i] for i in self.key)
        if self.kind == "rows":
            return name[:_GROUP] + key  # the key group is set by the reader
        hashed = int(key_hashes([key])[0])
        return name[:_TIME] + hashed.to_bytes(_HASH, "big") + key

    def row(self, data: bytes) -> bytes:
        """Returns a row with the new columns."""
        if self.columns is None:
            return data
        head, parts = data[: self.skip], _raw_items(data[self.skip :])
        return head + _array(len(self.columns)) + b"".join(b"\xc0" if i < 0 else parts[i] for i in self.columns)

    def accumulators(self, old: Sequence[Any]) -> list[Any]:
        """Returns accumulators with the new fields."""
        assert self.fields is not None
        return [unpack(f.initial) if f.position < 0 else old[f.position] for f in self.fields]


Entries = Iterator[tuple[bytes, bytes]]


def _other(change: TableRewrite, rest: bytes, value: bytes) -> Entries:
    yield rest, value


def _row(change: TableRewrite, rest: bytes, value: bytes) -> Entries:
    yield rest, change.row(value)


def _row_in_name(change: TableRewrite, rest: bytes, value: bytes) -> Entries:
    yield change.row(rest), value


def _row_list(change: TableRewrite, rest: bytes, value: bytes) -> Entries:
    rows = unpack(value)
    yield rest, pack([[r[0], change.row(r[1])] if isinstance(r, list) else change.row(r) for r in rows])


def _cached_rows(change: TableRewrite, rest: bytes, value: bytes) -> Entries:
    yield rest, pack([[change.row(row), joined] for row, joined in unpack(value)])


def _block(change: TableRewrite, rest: bytes, value: bytes) -> Entries:
    """A block of rows (runtime/relational/state/block_table.py): few rows one by one, or many as columns."""
    assert change.types is not None
    assert change.columns is not None
    if value[:1] == b"\x00":
        yield rest, b"\x00" + pack([change.row(row) for row in unpack(value[1:])])
    else:
        old, new = (pa.schema([(str(i), arrow_type(t)) for i, t in enumerate(types)]) for types in change.types)
        batch = pa.ipc.read_record_batch(pa.py_buffer(value)[1:], old)
        columns = [
            pa.nulls(batch.num_rows, field.type) if place < 0 else batch.column(place).cast(field.type)
            for place, field in zip(change.columns, new, strict=True)
        ]
        yield rest, b"\x01" + pa.record_batch(columns, schema=new).serialize().to_pybytes()


def _ranked(change: TableRewrite, rest: bytes, value: bytes) -> Entries:
    """The facts of a key stand at the key itself. Rows of an input with an upsert key start with its length and bytes."""
    if not rest:
        yield rest, value
    elif change.skip < 0:
        length = 4 + int.from_bytes(value[:4], "big")
        plain = msgspec.structs.replace(change, skip=0)
        yield rest, value[:length] + plain.row(value[length:])
    else:
        yield rest, change.row(value)


def _groups(change: TableRewrite, rest: bytes, value: bytes) -> Entries:
    count, old = unpack(value)
    yield rest, pack([count, change.accumulators(old)])


def _values(change: TableRewrite, rest: bytes, value: bytes) -> Entries:
    """The number of the multiset stands before the value."""
    for number, source in enumerate(change.slots or ()):
        if source.slot == rest[0]:
            new = _masked(value, source)
            if new is not None:
                yield bytes([number]) + rest[1:], new


def _masked(value: bytes, source: SlotSource) -> bytes | None:
    """A value whose count is a mask of filters, with the bits of the new filters; None if no bit is left."""
    if source.bits == tuple(range(len(source.bits))) or not source.bits:
        return value
    mask, plain = unpack(value)
    new = sum(1 << at for at, bit in enumerate(source.bits) if bit >= 0 and mask >> bit & 1)
    return pack([new, plain]) if new else None


def _accumulators(change: TableRewrite, rest: bytes, value: bytes) -> Entries:
    """Multisets follow the fields."""
    old = unpack(value)
    slots = change.slots or ()
    new: list[Any] = change.accumulators(old)
    for source in slots:
        found = old[change.skip + source.slot] if source.slot >= 0 else None
        new.append(None if found is None else _multiset(found, source))
    yield rest, pack(new)


def _multiset(found: list[Any], source: SlotSource) -> list[Any] | None:
    if source.bits == tuple(range(len(source.bits))) or not source.bits:
        return found
    kept = []
    for key, mask, plain in found:
        new = sum(1 << at for at, bit in enumerate(source.bits) if bit >= 0 and mask >> bit & 1)
        if new:
            kept.append([key, new, plain])
    return kept or None


_LAYOUTS: dict[str, Callable[[TableRewrite, bytes, bytes], Entries]] = {
    "other": _other,
    "row": _row,
    "row in name": _row_in_name,
    "list of rows": _row_list,
    "rows with marks": _cached_rows,
    "ranked rows": _ranked,
    "block": _block,
    "groups": _groups,
    "values of groups": _values,
    "accumulators": _accumulators,
}


def merged_counts(old: bytes, new: bytes) -> bytes:
    """Adds up two entries of a side of a join that have become equal: counts of rows, the newest time of writing.

    >>> unpack(merged_counts(pack([1, 2, 5]), pack([2, 2, 9])))
    [3, 2, 9]
    """
    a, b = unpack(old), unpack(new)
    return pack([a[0] + b[0], max(a[1], b[1]), max(a[2], b[2])])


def _array(length: int) -> bytes:
    """The first bytes of a msgpack array."""
    if length < 16:
        return bytes([0x90 | length])
    return b"\xdc" + length.to_bytes(2, "big") if length < 1 << 16 else b"\xdd" + length.to_bytes(4, "big")


def _raw_items(data: bytes) -> list[bytes]:
    """The items of a msgpack array as bytes, so that they are copied without a loss.

    >>> _raw_items(pack([1, "a"]))
    [b'\\x01', b'\\xa1a']
    """
    return [bytes(item) for item in msgspec.msgpack.decode(data, type=list[msgspec.Raw])]
