"""The direct reader: together with the client it reads each record once, also after failures."""

from __future__ import annotations

import time
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.connectors.kafka.protocol.broker import AbortedTransaction
from penstock.connectors.kafka.protocol.connections import Address, connector
from penstock.connectors.kafka.source.direct_reader import DirectReader, FindLeaders, direct_reader
from penstock.connectors.kafka.source.planning import OffsetRange
from tests.system.kafka.fake_broker import FakeBroker, Key
from tests.system.kafka.record_bytes import batch_bytes, marker_bytes

OffsetsRead = dict[Key, list[int]]


def log(batches: int = 6, of: int = 10) -> list[bytes]:
    """Records n with the value n."""
    return [batch_bytes([(n, b"%d" % n) for n in range(first * of, first * of + of)]) for first in range(batches)]


def read(reader: DirectReader, ranges: list[OffsetRange]) -> tuple[OffsetsRead, list[OffsetRange]]:
    """Returns the offsets by partition and the unread ranges."""
    offsets_read: OffsetsRead = {}
    reading = reader.read(ranges, False)
    while True:
        try:
            of, block = next(reading)
        except StopIteration as end:
            return offsets_read, end.value
        assert block.values == [b"%d" % n for n in block.offsets]
        offsets_read.setdefault(of.key, []).extend(block.offsets.tolist())


def reader_of(*brokers: FakeBroker, committed_only: bool = False) -> DirectReader:
    """Broker n, or the last one, is the leader of partition n."""
    return reader_by(lambda topic: {n: brokers[min(n, len(brokers) - 1)].address for n in range(8)}, committed_only)


def reader_by(leaders: FindLeaders, committed_only: bool = False) -> DirectReader:
    connect = connector({})
    assert connect is not None
    return DirectReader(leaders, connect, committed_only)


def test_a_range_is_read_to_its_end_and_no_further() -> None:
    with FakeBroker({("t", 0): log()}) as broker:
        assert read(reader_of(broker), [OffsetRange("t", 0, 13, 47)]) == ({("t", 0): list(range(13, 47))}, [])
        assert [queried[0][2] for queried in broker.requests] == [13, 20, 30, 40]


def test_one_request_for_all_partitions_and_several_ranges_of_a_partition() -> None:
    with FakeBroker({("t", n): log() for n in range(4)}) as one, FakeBroker({("t", 4): log()}) as other:
        reader = reader_by(lambda topic: {n: (one if n < 4 else other).address for n in range(5)})
        ranges = [OffsetRange("t", n, 0, 20) for n in range(5)] + [OffsetRange("t", 2, 40, 50)]
        offsets_read, unread = read(reader, ranges)
        assert unread == []
        assert offsets_read == {
            **{("t", n): list(range(20)) for n in range(5)},
            ("t", 2): [*range(20), *range(40, 50)],
        }
        assert (len(one.requests), len(other.requests)) == (3, 2)
        assert (one.connections, other.connections) == (1, 1)


def test_connection_is_reused_and_replaced_if_closed() -> None:
    with FakeBroker({("t", 0): log()}) as broker:
        reader = reader_of(broker)
        for low in (0, 10, 20):
            assert read(reader, [OffsetRange("t", 0, low, low + 10)])[1] == []
        assert broker.connections == 1
        reader.close()
        assert read(reader, [OffsetRange("t", 0, 0, 10)])[1] == []
        assert broker.connections == 2


def test_a_range_that_ends_in_a_gap_ends() -> None:
    gone = [batch_bytes([(0, b"0")], 0, 99), batch_bytes([(500, b"500")])]
    with FakeBroker({("t", 0): gone}) as broker:
        assert read(reader_of(broker), [OffsetRange("t", 0, 0, 300)]) == ({("t", 0): [0]}, [])
        assert read(reader_of(broker), [OffsetRange("t", 0, 50, 501)]) == ({("t", 0): [500]}, [])


def test_read_committed_skips_aborted_records() -> None:
    batches = [
        batch_bytes([(0, b"0")], producer=7),
        marker_bytes(1, 7, "abort"),
        batch_bytes([(2, b"2")], producer=7),
        marker_bytes(3, 7, "commit"),
    ]
    with FakeBroker({("t", 0): batches}) as broker:
        broker.aborted["t", 0] = [(AbortedTransaction(7, 0), 1)]
        offsets_read, unread = read(reader_of(broker, committed_only=True), [OffsetRange("t", 0, 0, 4)])
        assert (offsets_read, unread) == ({("t", 0): [2]}, [])


@pytest.mark.parametrize("fault", ["close", "other number", "cut off", "error", "nothing", "old format", "damaged"])
@pytest.mark.parametrize("at", [0, 1, 2])
def test_failures_are_left_to_the_client(fault: str, at: int) -> None:
    with FakeBroker({("t", 0): log()}, lambda number: fault if number == at else "") as broker:
        offsets_read, unread = read(reader_of(broker), [OffsetRange("t", 0, 0, 60)])
        assert offsets_read.get(("t", 0), []) == list(range(10 * at))
        assert unread == [OffsetRange("t", 0, 10 * at, 60)]


def test_error_of_one_partition_does_not_affect_others_and_its_leader_is_queried_again() -> None:
    faults = iter(["error"])
    with FakeBroker({("t", 0): log(), ("t", 1): log()}, lambda number: next(faults, "")) as broker:
        queried = []

        def leaders(topic: str) -> dict[int, Address]:
            queried.append(topic)
            return {0: broker.address, 1: broker.address}

        reader = reader_by(leaders)
        ranges = [OffsetRange("t", 0, 0, 20), OffsetRange("t", 1, 0, 20)]
        assert read(reader, ranges) == ({("t", 1): list(range(20))}, [ranges[0]])
        assert read(reader, ranges)[1] == []
        assert queried == ["t", "t"]


def test_unreachable_broker_is_paused(monkeypatch: pytest.MonkeyPatch) -> None:
    broker = FakeBroker({("t", 0): log()})
    broker.__exit__()
    reader = reader_of(broker)
    assert read(reader, [OffsetRange("t", 0, 0, 20)]) == ({}, [OffsetRange("t", 0, 0, 20)])
    with FakeBroker({("t", 0): log()}) as back:
        reader._find_leaders = lambda topic: {0: back.address}
        assert read(reader, [OffsetRange("t", 0, 0, 20)])[1] == [OffsetRange("t", 0, 0, 20)], "not asked so soon"
        later = time.monotonic() + 60
        monkeypatch.setattr(time, "monotonic", lambda: later)
        assert read(reader, [OffsetRange("t", 0, 0, 20)])[1] == []


def test_broker_that_keeps_failing_is_paused_for_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 1000.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    tries = []
    failing = True
    with FakeBroker({("t", 0): log()}, lambda number: "close" if failing else "") as broker:
        reader = reader_of(broker)
        while now < 2500:
            before = len(broker.requests)
            read(reader, [OffsetRange("t", 0, 0, 20)])
            if len(broker.requests) > before:
                tries.append(now)
            now += 10
        assert [b - a for a, b in pairwise(tries)] == [30, 60, 120, 240, 480]
        failing, now = False, 9000
        assert read(reader, [OffsetRange("t", 0, 0, 20)])[1] == []
        failing = True
        assert read(reader, [OffsetRange("t", 0, 0, 20)])[1] != []
        now += 30
        failing = False
        assert read(reader, [OffsetRange("t", 0, 0, 20)])[1] == [], "a short rest again"


def test_partition_without_leader_is_not_read() -> None:
    reader = reader_by(lambda topic: {})
    assert read(reader, [OffsetRange("t", 0, 0, 20)]) == ({}, [OffsetRange("t", 0, 0, 20)])


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.sampled_from(["", "", "", "", "close", "cut off", "error", "nothing", "damaged"]), max_size=8),
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 60), st.integers(0, 60)), min_size=1, max_size=6),
)
def test_nothing_is_lost_or_read_twice(faults: list[str], bounds: list[tuple[int, int, int]]) -> None:
    def fault(number: int) -> str:
        return faults[number] if number < len(faults) else ""

    ranges = [OffsetRange("t", p, min(a, b), max(a, b)) for p, a, b in bounds if a != b]
    with FakeBroker({("t", n): log() for n in range(4)}, fault) as broker:
        offsets_read, unread = read(reader_of(broker), ranges)
        for p in range(4):
            expected = sorted(n for r in ranges if r.partition == p for n in range(r.low, r.high))
            rest = [n for r in unread if r.partition == p for n in range(r.low, r.high)]
            assert sorted([*offsets_read.get(("t", p), []), *rest]) == expected


@pytest.mark.parametrize(
    ("options", "can"),
    [
        ({"group.id": "g", "isolation.level": "read_committed"}, True),
        ({"security.protocol": "PLAINTEXT"}, True),
        ({"security.protocol": "SSL", "ssl.ca.location": "ca.pem"}, True),
        ({"security.protocol": "SASL_SSL", "sasl.mechanisms": "SCRAM-SHA-512", "sasl.username": "a"}, True),
        ({"security.protocol": "SASL_SSL", "sasl.mechanisms": "GSSAPI"}, False),
        ({"security.protocol": "SSL", "ssl.keystore.location": "store.p12"}, False),
        ({"client.rack": "a"}, False),
        ({"check.crcs": "true"}, False),
    ],
)
def test_unsupported_options_need_the_client(options: dict[str, Any], can: bool) -> None:
    reader = direct_reader({"bootstrap.servers": "b:1", **options}, lambda topic: {})
    assert (reader is not None) is can


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("penstock.connectors.kafka.source.direct_reader._RESPONSE_TIMEOUT", 2.0)
