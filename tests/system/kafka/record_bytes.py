"""Batches of records as a broker stores them, made by hand."""

from __future__ import annotations

import struct
from collections.abc import Sequence

from aiokafka.record.default_records import DefaultRecordBatchBuilder  # type: ignore[import-untyped]

Record = tuple[int, bytes | None]  # offset and value
CODECS = {"none": 0, "gzip": 1, "snappy": 2, "lz4": 3, "zstd": 4}
_FIRST = struct.Struct(">q")
_ATTRIBUTES, _LAST = 21, 23
_MARKS = {"abort": 0, "commit": 1}


def batch_bytes(
    records: Sequence[Record],
    first: int | None = None,
    last: int | None = None,
    codec: str = "none",
    producer: int = -1,
) -> bytes:
    """One batch; `first` and `last` where records before or behind were compacted away. A producer's is transactional."""
    first = records[0][0] if first is None else first
    last = records[-1][0] if last is None else last
    of_transaction = producer >= 0
    builder = DefaultRecordBatchBuilder(2, CODECS[codec], of_transaction, producer, 0, 0, 1 << 30)
    for offset, value in records:
        builder.append(offset - first, 1_000 + offset, b"key", value, [("h", b"1")])
    made = bytearray(builder.build())
    _FIRST.pack_into(made, 0, first)
    struct.pack_into(">i", made, _LAST, last - first)
    return bytes(made)


def mark_bytes(offset: int, producer: int, says: str) -> bytes:
    """The mark that ends a transaction."""
    builder = DefaultRecordBatchBuilder(2, 0, True, producer, 0, -1, 1 << 20)
    builder.append(0, 1_000, struct.pack(">hh", 0, _MARKS[says]), b"\0\0\0\0\0\0", [])
    made = bytearray(builder.build())
    _FIRST.pack_into(made, 0, offset)
    (attributes,) = struct.unpack_from(">h", made, _ATTRIBUTES)
    struct.pack_into(">h", made, _ATTRIBUTES, attributes | 1 << 5)
    return bytes(made)
