"""Batches of records, taken apart: every record of a range once, whatever a broker cut off or threw away."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.connectors.kafka.broker import Aborted
from penstock.connectors.kafka.record_batches import (
    UnknownFormatError,
    batches_in,
    blocks_in,
    committed,
    record_parser,
)
from tests.connectors.kafka.record_bytes import CODECS, Record, batch_bytes, mark_bytes


def parse(data: Any) -> Any:
    parser = record_parser()
    assert parser is not None, "aiokafka has no compiled parser here"
    return parser(data)


def records_in(
    data: bytes, low: int = 0, high: int = 1 << 40, stamps: bool = False, aborted: list[Aborted] | None = None
) -> list[tuple[Any, ...]]:
    """Offsets and values, with times where they are wanted."""
    batches = batches_in(memoryview(data))
    if aborted:
        batches = committed(batches, aborted, parse)
    found: list[tuple[Any, ...]] = []
    for batch in batches:
        for block in blocks_in(batch, low, high, parse, stamps):
            columns = [block.offsets.tolist(), block.values] + ([block.stamps] if stamps else [])
            found += zip(*columns, strict=True)
    return found


values = st.one_of(st.none(), st.binary(max_size=300))


@st.composite
def logs(draw: st.DrawFn) -> list[tuple[list[Record], bytes]]:
    """Batches of a partition in their order, each with its records; offsets rise and have gaps."""
    offset = draw(st.integers(0, 1000))
    made = []
    for _ in range(draw(st.integers(1, 4))):
        gaps = draw(st.lists(st.sampled_from([1, 1, 1, 2, 7]), min_size=1, max_size=30))
        records = []
        first = offset
        for gap in gaps:
            offset += gap
            records.append((offset - 1, draw(values)))
        offset += draw(st.integers(0, 3))
        last = offset - 1
        made.append((records, batch_bytes(records, first, last, draw(st.sampled_from(list(CODECS))))))
    return made


@given(logs(), st.data())
def test_every_record_of_a_range_comes_once(log: list[tuple[list[Record], bytes]], data: st.DataObject) -> None:
    end = log[-1][0][-1][0] + 5
    low = data.draw(st.integers(0, end))
    high = data.draw(st.integers(low, end))
    stamps = data.draw(st.booleans())
    found = records_in(b"".join(written for _, written in log), low, high, stamps)
    expected = [(o, v) for records, _ in log for o, v in records if low <= o < high]
    assert found == ([(o, v, 1_000 + o) for o, v in expected] if stamps else expected)


@given(logs(), st.data())
def test_a_batch_that_is_cut_off_is_left_for_the_next_time(
    log: list[tuple[list[Record], bytes]], data: st.DataObject
) -> None:
    whole = b"".join(written for _, written in log)
    kept = data.draw(st.integers(0, len(whole)))
    expected: list[Record] = []
    size = 0
    for records, written in log:
        size += len(written)
        if size <= kept:
            expected += records
    assert records_in(whole[:kept]) == expected


def test_many_records_come_in_several_blocks() -> None:
    records = [(n, b"%d" % n) for n in range(7_000)]
    (batch,) = batches_in(memoryview(batch_bytes(records)))
    blocks = list(blocks_in(batch, 10, 6_990, parse, False))
    assert len(blocks) > 1
    assert [v for block in blocks for v in block.values] == [b"%d" % n for n in range(10, 6_990)]


def test_marks_of_transactions_are_no_records() -> None:
    log = batch_bytes([(0, b"a"), (1, b"b")], producer=7) + mark_bytes(2, 7, "commit") + batch_bytes([(3, b"c")])
    assert records_in(log) == [(0, b"a"), (1, b"b"), (3, b"c")]


def test_records_of_aborted_transactions_are_left_out_until_their_mark() -> None:
    log = b"".join(
        [
            batch_bytes([(0, b"7 aborts")], producer=7),
            batch_bytes([(1, b"8 commits")], producer=8),
            batch_bytes([(2, b"outside")]),
            batch_bytes([(3, b"7 aborts")], producer=7),
            mark_bytes(4, 7, "abort"),
            batch_bytes([(5, b"7 commits")], producer=7),
            mark_bytes(6, 8, "commit"),
            mark_bytes(7, 7, "commit"),
            batch_bytes([(8, b"8 aborts later")], producer=8),
            mark_bytes(9, 8, "abort"),
        ]
    )
    given = [Aborted(8, 8), Aborted(7, 0)]
    assert records_in(log, aborted=given) == [(1, b"8 commits"), (2, b"outside"), (5, b"7 commits")]
    assert len(records_in(log)) == 6, "who reads what is not committed sees all"


def test_a_commit_of_another_transaction_of_the_same_producer_does_not_end_an_aborted_one() -> None:
    log = b"".join(
        [
            batch_bytes([(10, b"aborted")], producer=7),
            mark_bytes(11, 7, "abort"),
            batch_bytes([(12, b"aborted")], producer=7),
            mark_bytes(13, 7, "abort"),
            batch_bytes([(14, b"good")], producer=7),
            mark_bytes(15, 7, "commit"),
        ]
    )
    assert records_in(log, aborted=[Aborted(7, 10), Aborted(7, 12)]) == [(14, b"good")]


@pytest.mark.parametrize("form", [0, 1, 3])
def test_another_format_is_not_guessed_at(form: int) -> None:
    written = bytearray(batch_bytes([(0, b"a")]))
    written[16] = form
    with pytest.raises(UnknownFormatError, match=f"format {form}"):
        batches_in(memoryview(written))
