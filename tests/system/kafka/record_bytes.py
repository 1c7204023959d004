"""Encodes record batches as a broker stores them."""

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
    """Encodes a batch. `first` and `last` are its offsets if compaction removed records. With a producer it is transactional."""
    first = records[0][0] if first is None else first
    last = records[-1][0] if last is None else last
    of_transaction = producer >= 0
    builder = DefaultRecordBatchBuilder(2, CODECS[codec], of_transaction, producer, 0, 0, 1 << 30)
    for offset, value in records:
        builder.append(offset - first, 1_000 + offset, b"key", value, [("h", b"1")])
    data = bytearray(builder.build())
    _FIRST.pack_into(data, 0, first)
    struct.pack_into(">i", data, _LAST, last - first)
    return bytes(data)


def marker_bytes(offset: int, producer: int, says: str) -> bytes:
    """Encodes the marker that ends a transaction."""
    builder = DefaultRecordBatchBuilder(2, 0, True, producer, 0, -1, 1 << 20)
    builder.append(0, 1_000, struct.pack(">hh", 0, _MARKS[says]), b"\0\0\0\0\0\0", [])
    data = bytearray(builder.build())
    _FIRST.pack_into(data, 0, offset)
    (attributes,) = struct.unpack_from(">h", data, _ATTRIBUTES)
    struct.pack_into(">h", data, _ATTRIBUTES, attributes | 1 << 5)
    return bytes(data)
