"""Record batches as brokers store and send them (message format 2), taken apart.

The client of Kafka's C library makes an operation, a message and several objects of each record, under locks, in two threads.
Here a batch is walked once, and only values are made: a third of the work.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from penstock.connectors.kafka.blocks import Block
from penstock.connectors.kafka.broker import Aborted

_HEADER = struct.Struct(">qiibIhiqqqhii")
_LENGTH_ENDS = 12  # a batch's length counts from there
_FORMAT = 2
_CONTROL = 1 << 5
_TRANSACTIONAL = 1 << 4
_MARK = struct.Struct(">hh")  # a mark's version, and what it says
_ABORT = 0
_AT_ONCE = 2_000  # records: their values stay in the processor's cache until they are decoded

Parse = Callable[[Any], Any]  # the bytes of a batch to its records


class UnknownFormatError(Exception):
    """Records that only the client can read."""


class RecordBatch(NamedTuple):
    """One batch: its first and last offset, and its bytes."""

    first: int
    last: int
    attributes: int
    producer: int
    records: int
    data: memoryview

    @property
    def is_control(self) -> bool:
        """Whether it holds the marks of transactions instead of records."""
        return bool(self.attributes & _CONTROL)

    @property
    def is_transactional(self) -> bool:
        return bool(self.attributes & _TRANSACTIONAL)


def batches_in(data: memoryview) -> list[RecordBatch]:
    """All whole batches. The last one may be cut off: a broker sends so many bytes, and no more."""
    found = []
    at = 0
    while len(data) - at >= _HEADER.size:
        first, length, _, form, _, attributes, last, _, _, producer, _, _, count = _HEADER.unpack_from(data, at)
        if form != _FORMAT:
            raise UnknownFormatError(f"message format {form}")
        end = at + _LENGTH_ENDS + length
        if end > len(data):
            break
        found.append(RecordBatch(first, first + last, attributes, producer, count, data[at:end]))
        at = end
    return found


def committed(batches: list[RecordBatch], aborted: list[Aborted], parse: Parse) -> list[RecordBatch]:
    """The batches, those of aborted transactions without their records."""
    ahead = sorted(aborted, key=lambda a: a.first, reverse=True)
    dropped: set[int] = set()
    found = []
    for batch in batches:
        while ahead and ahead[-1].first <= batch.last:
            dropped.add(ahead.pop().producer)
        if batch.is_control:
            if batch.producer in dropped and _aborts(batch, parse):
                dropped.discard(batch.producer)
        elif batch.is_transactional and batch.producer in dropped:
            batch = batch._replace(records=0)
        found.append(batch)
    return found


def _aborts(batch: RecordBatch, parse: Parse) -> bool:
    """Whether a batch of marks ends a transaction by giving it up."""
    return any(_MARK.unpack_from(record.key)[1] == _ABORT for record in parse(batch.data))


def record_parser() -> Parse | None:
    """What makes records of a batch; None where there is only a slow one."""
    try:
        from aiokafka.record.default_records import DefaultRecordBatch  # type: ignore[import-untyped]
    except ImportError:
        return None
    compiled = "_crecords" in DefaultRecordBatch.__module__
    return DefaultRecordBatch if compiled else None


def blocks_in(batch: RecordBatch, low: int, high: int, parse: Parse, stamps_wanted: bool) -> Iterator[Block]:
    """The records of a batch with offsets from `low` to below `high`, some at a time."""
    if batch.is_control or batch.records == 0 or batch.last < low or batch.first >= high:
        return
    records = iter(parse(batch.data))
    dense = batch.last - batch.first + 1 == batch.records  # nothing was compacted away
    if dense:
        place = max(0, low - batch.first)
        records = islice(records, place, high - batch.first)
        first = batch.first + place
    else:
        records = (r for r in records if low <= r.offset < high)
        first = 0
    while True:
        if dense and not stamps_wanted:
            values = [r.value for r in islice(records, _AT_ONCE)]
            stamps: list[int] = []
            offsets = np.arange(first, first + len(values))
            first += len(values)
        else:
            some = list(islice(records, _AT_ONCE))
            values = [r.value for r in some]
            stamps = [r.timestamp for r in some] if stamps_wanted else []
            offsets = np.array([r.offset for r in some], np.int64)
        if not values:
            return
        yield Block(values, offsets, stamps)
