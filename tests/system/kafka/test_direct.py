"""Reading straight from brokers: what is read and what is left to the client are together all of it, whatever goes wrong."""

from __future__ import annotations

import time
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.connectors.kafka.broker import Aborted
from penstock.connectors.kafka.connections import Address, connector
from penstock.connectors.kafka.direct import DirectReader, LeadersOf, direct_reader
from penstock.connectors.kafka.ranges import Range
from tests.connectors.kafka.fake_broker import FakeBroker, Key
from tests.connectors.kafka.record_bytes import batch_bytes, mark_bytes

Found = dict[Key, list[int]]


def log(batches: int = 6, of: int = 10) -> list[bytes]:
    """Records n with the value n."""
    return [batch_bytes([(n, b"%d" % n) for n in range(first * of, first * of + of)]) for first in range(batches)]


def read(reader: DirectReader, ranges: list[Range]) -> tuple[Found, list[Range]]:
    """Offsets by partition, and what is left."""
    found: Found = {}
    reading = reader.read(ranges, False)
    while True:
        try:
            of, block = next(reading)
        except StopIteration as end:
            return found, end.value
        assert block.values == [b"%d" % n for n in block.offsets]
        found.setdefault(of.key, []).extend(block.offsets.tolist())


def reader_of(*brokers: FakeBroker, committed_only: bool = False) -> DirectReader:
    """Partition n is led by broker n, or by the last one."""
    return reader_by(lambda topic: {n: brokers[min(n, len(brokers) - 1)].address for n in range(8)}, committed_only)


def reader_by(leaders: LeadersOf, committed_only: bool = False) -> DirectReader:
    connect = connector({})
    assert connect is not None
    return DirectReader(leaders, connect, committed_only)


def test_a_range_is_read_to_its_end_and_no_further() -> None:
    with FakeBroker({("t", 0): log()}) as broker:
        assert read(reader_of(broker), [Range("t", 0, 13, 47)]) == ({("t", 0): list(range(13, 47))}, [])
        assert [asked[0][2] for asked in broker.questions] == [13, 20, 30, 40]


def test_partitions_of_a_broker_are_asked_for_together_and_a_partition_may_have_several_ranges() -> None:
    with FakeBroker({("t", n): log() for n in range(4)}) as one, FakeBroker({("t", 4): log()}) as other:
        reader = reader_by(lambda topic: {n: (one if n < 4 else other).address for n in range(5)})
        ranges = [Range("t", n, 0, 20) for n in range(5)] + [Range("t", 2, 40, 50)]
        found, left = read(reader, ranges)
        assert left == []
        assert found == {
            **{("t", n): list(range(20)) for n in range(5)},
            ("t", 2): [*range(20), *range(40, 50)],
        }
        assert (len(one.questions), len(other.questions)) == (3, 2)
        assert (one.connections, other.connections) == (1, 1)


def test_a_connection_is_kept_and_made_anew_when_it_was_closed() -> None:
    with FakeBroker({("t", 0): log()}) as broker:
        reader = reader_of(broker)
        for low in (0, 10, 20):
            assert read(reader, [Range("t", 0, low, low + 10)])[1] == []
        assert broker.connections == 1
        reader.close()
        assert read(reader, [Range("t", 0, 0, 10)])[1] == []
        assert broker.connections == 2


def test_a_range_that_ends_in_a_gap_ends() -> None:
    gone = [batch_bytes([(0, b"0")], 0, 99), batch_bytes([(500, b"500")])]
    with FakeBroker({("t", 0): gone}) as broker:
        assert read(reader_of(broker), [Range("t", 0, 0, 300)]) == ({("t", 0): [0]}, [])
        assert read(reader_of(broker), [Range("t", 0, 50, 501)]) == ({("t", 0): [500]}, [])


def test_who_reads_what_is_committed_does_not_see_the_rest() -> None:
    batches = [
        batch_bytes([(0, b"0")], producer=7),
        mark_bytes(1, 7, "abort"),
        batch_bytes([(2, b"2")], producer=7),
        mark_bytes(3, 7, "commit"),
    ]
    with FakeBroker({("t", 0): batches}) as broker:
        broker.aborted["t", 0] = [(Aborted(7, 0), 1)]
        found, left = read(reader_of(broker, committed_only=True), [Range("t", 0, 0, 4)])
        assert (found, left) == ({("t", 0): [2]}, [])


@pytest.mark.parametrize("fault", ["close", "other number", "cut off", "error", "nothing", "old format", "damaged"])
@pytest.mark.parametrize("at", [0, 1, 2])
def test_what_goes_wrong_is_left_to_the_client(fault: str, at: int) -> None:
    with FakeBroker({("t", 0): log()}, lambda number: fault if number == at else "") as broker:
        found, left = read(reader_of(broker), [Range("t", 0, 0, 60)])
        assert found.get(("t", 0), []) == list(range(10 * at))
        assert left == [Range("t", 0, 10 * at, 60)]


def test_an_error_of_one_partition_does_not_concern_the_others_and_its_leader_is_asked_for_again() -> None:
    faults = iter(["error"])
    with FakeBroker({("t", 0): log(), ("t", 1): log()}, lambda number: next(faults, "")) as broker:
        asked = []

        def leaders(topic: str) -> dict[int, Address]:
            asked.append(topic)
            return {0: broker.address, 1: broker.address}

        reader = reader_by(leaders)
        ranges = [Range("t", 0, 0, 20), Range("t", 1, 0, 20)]
        assert read(reader, ranges) == ({("t", 1): list(range(20))}, [ranges[0]])
        assert read(reader, ranges)[1] == []
        assert asked == ["t", "t"]


def test_a_broker_that_is_gone_is_left_alone_for_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    broker = FakeBroker({("t", 0): log()})
    broker.__exit__()
    reader = reader_of(broker)
    assert read(reader, [Range("t", 0, 0, 20)]) == ({}, [Range("t", 0, 0, 20)])
    with FakeBroker({("t", 0): log()}) as back:
        reader._leaders_of = lambda topic: {0: back.address}
        assert read(reader, [Range("t", 0, 0, 20)])[1] == [Range("t", 0, 0, 20)], "not asked so soon"
        later = time.monotonic() + 60
        monkeypatch.setattr(time, "monotonic", lambda: later)
        assert read(reader, [Range("t", 0, 0, 20)])[1] == []


def test_a_broker_that_fails_again_and_again_is_left_alone_for_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 1000.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    tries = []
    failing = True
    with FakeBroker({("t", 0): log()}, lambda number: "close" if failing else "") as broker:
        reader = reader_of(broker)
        while now < 2500:
            before = len(broker.questions)
            read(reader, [Range("t", 0, 0, 20)])
            if len(broker.questions) > before:
                tries.append(now)
            now += 10
        assert [b - a for a, b in pairwise(tries)] == [30, 60, 120, 240, 480]
        failing, now = False, 9000
        assert read(reader, [Range("t", 0, 0, 20)])[1] == []
        failing = True
        assert read(reader, [Range("t", 0, 0, 20)])[1] != []
        now += 30
        failing = False
        assert read(reader, [Range("t", 0, 0, 20)])[1] == [], "a short rest again"


def test_a_partition_without_a_leader_is_left() -> None:
    reader = reader_by(lambda topic: {})
    assert read(reader, [Range("t", 0, 0, 20)]) == ({}, [Range("t", 0, 0, 20)])


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.sampled_from(["", "", "", "", "close", "cut off", "error", "nothing", "damaged"]), max_size=8),
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 60), st.integers(0, 60)), min_size=1, max_size=6),
)
def test_nothing_is_lost_or_read_twice(faults: list[str], wanted: list[tuple[int, int, int]]) -> None:
    def fault(number: int) -> str:
        return faults[number] if number < len(faults) else ""

    ranges = [Range("t", p, min(a, b), max(a, b)) for p, a, b in wanted if a != b]
    with FakeBroker({("t", n): log() for n in range(4)}, fault) as broker:
        found, left = read(reader_of(broker), ranges)
        for p in range(4):
            expected = sorted(n for r in ranges if r.partition == p for n in range(r.low, r.high))
            rest = [n for r in left if r.partition == p for n in range(r.low, r.high)]
            assert sorted([*found.get(("t", p), []), *rest]) == expected


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
def test_options_that_only_the_client_understands_are_left_to_it(options: dict[str, Any], can: bool) -> None:
    reader = direct_reader({"bootstrap.servers": "b:1", **options}, lambda topic: {})
    assert (reader is not None) is can


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("penstock.connectors.kafka.direct._PATIENCE", 2.0)
