"""Parsing of record batches: each record of a range is read once, also with truncated batches and gaps."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.connectors.kafka.protocol.broker import AbortedTransaction
from penstock.connectors.kafka.protocol.record_batches import (
    UnknownFormatError,
    drop_aborted_records,
    parse_batches,
    read_blocks,
    record_parser,
)
from tests.system.kafka.record_bytes import CODECS, Record, batch_bytes, marker_bytes


def parse(data: Any) -> Any:
    parser = record_parser()
    assert parser is not None, "aiokafka has no compiled parser here"
    return parser(data)


def records_in(
    data: bytes,
    low: int = 0,
    high: int = 1 << 40,
    stamps: bool = False,
    aborted: list[AbortedTransaction] | None = None,
) -> list[tuple[Any, ...]]:
    """Returns offsets and values, with timestamps if requested."""
    batches = parse_batches(memoryview(data))
    if aborted:
        batches = drop_aborted_records(batches, aborted, parse)
    read_records: list[tuple[Any, ...]] = []
    for batch in batches:
        for block in read_blocks(batch, low, high, parse, stamps):
            columns = [block.offsets.tolist(), block.values] + ([block.timestamps] if stamps else [])
            read_records += zip(*columns, strict=True)
    return read_records


values = st.one_of(st.none(), st.binary(max_size=300))


@st.composite
def logs(draw: st.DrawFn) -> list[tuple[list[Record], bytes]]:
    """Strategy for the batches of a partition, with increasing offsets and gaps."""
    offset = draw(st.integers(0, 1000))
    drawn_batches = []
    for _ in range(draw(st.integers(1, 4))):
        gaps = draw(st.lists(st.sampled_from([1, 1, 1, 2, 7]), min_size=1, max_size=30))
        records = []
        first = offset
        for gap in gaps:
            offset += gap
            records.append((offset - 1, draw(values)))
        offset += draw(st.integers(0, 3))
        last = offset - 1
        drawn_batches.append((records, batch_bytes(records, first, last, draw(st.sampled_from(list(CODECS))))))
    return drawn_batches


@given(logs(), st.data())
def test_every_record_of_a_range_is_read_once(log: list[tuple[list[Record], bytes]], data: st.DataObject) -> None:
    end = log[-1][0][-1][0] + 5
    low = data.draw(st.integers(0, end))
    high = data.draw(st.integers(low, end))
    stamps = data.draw(st.booleans())
    read_records = records_in(b"".join(written for _, written in log), low, high, stamps)
    expected = [(o, v) for records, _ in log for o, v in records if low <= o < high]
    assert read_records == ([(o, v, 1_000 + o) for o, v in expected] if stamps else expected)


@given(logs(), st.data())
def test_truncated_batch_is_left_for_the_next_request(
    log: list[tuple[list[Record], bytes]], data: st.DataObject
) -> None:
    log_bytes = b"".join(written for _, written in log)
    size_read = data.draw(st.integers(0, len(log_bytes)))
    expected: list[Record] = []
    size = 0
    for records, written in log:
        size += len(written)
        if size <= size_read:
            expected += records
    assert records_in(log_bytes[:size_read]) == expected


def test_many_records_are_read_in_several_blocks() -> None:
    records = [(n, b"%d" % n) for n in range(7_000)]
    (batch,) = parse_batches(memoryview(batch_bytes(records)))
    blocks = list(read_blocks(batch, 10, 6_990, parse, False))
    assert len(blocks) > 1
    assert [v for block in blocks for v in block.values] == [b"%d" % n for n in range(10, 6_990)]


def test_transaction_markers_are_not_records() -> None:
    log = batch_bytes([(0, b"a"), (1, b"b")], producer=7) + marker_bytes(2, 7, "commit") + batch_bytes([(3, b"c")])
    assert records_in(log) == [(0, b"a"), (1, b"b"), (3, b"c")]


def test_records_of_aborted_transactions_are_dropped_until_the_marker() -> None:
    log = b"".join(
        [
            batch_bytes([(0, b"7 aborts")], producer=7),
            batch_bytes([(1, b"8 commits")], producer=8),
            batch_bytes([(2, b"outside")]),
            batch_bytes([(3, b"7 aborts")], producer=7),
            marker_bytes(4, 7, "abort"),
            batch_bytes([(5, b"7 commits")], producer=7),
            marker_bytes(6, 8, "commit"),
            marker_bytes(7, 7, "commit"),
            batch_bytes([(8, b"8 aborts later")], producer=8),
            marker_bytes(9, 8, "abort"),
        ]
    )
    aborted_transactions = [AbortedTransaction(8, 8), AbortedTransaction(7, 0)]
    assert records_in(log, aborted=aborted_transactions) == [(1, b"8 commits"), (2, b"outside"), (5, b"7 commits")]
    assert len(records_in(log)) == 6, "who reads what is not committed sees all"


def test_a_commit_of_another_transaction_of_the_same_producer_does_not_end_an_aborted_one() -> None:
    log = b"".join(
        [
            batch_bytes([(10, b"aborted")], producer=7),
            marker_bytes(11, 7, "abort"),
            batch_bytes([(12, b"aborted")], producer=7),
            marker_bytes(13, 7, "abort"),
            batch_bytes([(14, b"good")], producer=7),
            marker_bytes(15, 7, "commit"),
        ]
    )
    assert records_in(log, aborted=[AbortedTransaction(7, 10), AbortedTransaction(7, 12)]) == [(14, b"good")]


@pytest.mark.parametrize("form", [0, 1, 3])
def test_other_message_formats_are_rejected(form: int) -> None:
    written = bytearray(batch_bytes([(0, b"a")]))
    written[16] = form
    with pytest.raises(UnknownFormatError, match=f"format {form}"):
        parse_batches(memoryview(written))
