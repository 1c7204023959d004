"""Reads record values directly from the partition leaders, without the client library.

It handles only the simple case. The client library takes over for everything else: a partition that responds with an error or
without records, a broken connection, an old message format. The library handles retries, new leaders, deleted records and error
messages. It continues after the records that the direct reader has already returned.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Mapping
from typing import Any

from penstock.connectors.kafka.client.client import log
from penstock.connectors.kafka.protocol.broker import Broker, FetchPosition, PartitionResponse
from penstock.connectors.kafka.protocol.connections import SUPPORTED_OPTIONS, Address, Connect, connector
from penstock.connectors.kafka.protocol.record_batches import (
    RecordBatch,
    RecordParser,
    drop_aborted_records,
    parse_batches,
    read_blocks,
    record_parser,
)
from penstock.connectors.kafka.protocol.value_block import ValueBlock
from penstock.connectors.kafka.source.planning import OffsetRange, PartitionKey, group_into_rounds

_RESPONSE_TIMEOUT = 10.0  # seconds
_PAUSE = 30.0  # seconds in which only the client library reads after an error; doubled when the next attempt fails, too
_MAX_PAUSE = 600.0
# Options that this reader implements or that do not affect fetching. With any other option only the client library reads.
_COMPATIBLE_OPTIONS = SUPPORTED_OPTIONS | {
    "bootstrap.servers",
    "group.id",
    "client.id",
    "enable.auto.commit",
    "auto.offset.reset",
    "isolation.level",
}

FindLeaders = Callable[[str], dict[int, Address]]  # topic -> address of the leader of each partition
Blocks = Generator[tuple[OffsetRange, ValueBlock], None, list[OffsetRange]]  # returns the ranges that were not read


def direct_reader(options: Mapping[str, Any], find_leaders: FindLeaders) -> DirectReader | None:
    """Returns a reader with these options, or None if they need the client library.

    >>> direct_reader({"bootstrap.servers": "kafka:9092", "client.rack": "a"}, lambda topic: {}) is None
    True
    """
    connect = connector(options) if _COMPATIBLE_OPTIONS.issuperset(options) else None
    if connect is None:
        return None
    return DirectReader(find_leaders, connect, options.get("isolation.level") == "read_committed")


class DirectReader:
    """Connections to partition leaders, reused between batches."""

    def __init__(self, find_leaders: FindLeaders, connect: Connect, committed_only: bool = False) -> None:
        self._find_leaders = find_leaders
        self._connect = connect
        self._committed_only = committed_only
        self._leaders: dict[PartitionKey, Address] = {}
        self._brokers: dict[Address, Broker] = {}
        self._parse = record_parser()
        self._pause = _PAUSE
        self._paused_until = 0.0 if self._parse is not None else float("inf")

    def read(self, ranges: list[OffsetRange], with_timestamps: bool) -> Blocks:
        """Yields the values of the ranges. Returns the ranges that were not read."""
        unread: list[OffsetRange] = []
        for group in group_into_rounds(ranges):
            if time.monotonic() < self._paused_until:
                unread += group
            else:
                unread += yield from self._read(group, with_timestamps)
        return unread

    def close(self) -> None:
        for broker in self._brokers.values():
            broker.close()
        self._brokers.clear()

    def _read(self, ranges: list[OffsetRange], with_timestamps: bool) -> Blocks:
        assert self._parse is not None
        reads: dict[Address, _BrokerRead] = {}
        unread: list[OffsetRange] = []
        for r in ranges:
            address = self._leader(r.key)
            if address is None:
                unread.append(r)
            else:
                reads.setdefault(address, _BrokerRead(self._parse, with_timestamps)).add(r)
        for address, read in reads.items():  # all brokers get a request before the first response is read
            self._send_first(address, read)
        for address, read in reads.items():
            yield from self._blocks(address, read)
        for read in reads.values():
            for key in read.failed:  # the partition may have a new leader
                self._leaders.pop(key, None)
            unread += read.unread()
        return unread

    def _send_first(self, address: Address, read: _BrokerRead) -> None:
        """Sends the first request. Replaces a connection that no longer works."""
        if (broker := self._brokers.get(address)) is not None:
            try:
                read.send(broker)
                return
            except OSError:
                self._drop(address)
        try:
            broker = self._brokers[address] = Broker(self._connect(address, _RESPONSE_TIMEOUT), self._committed_only)
            read.send(broker)
        except Exception as error:
            self._give_up(address, error)

    def _blocks(self, address: Address, read: _BrokerRead) -> Generator[tuple[OffsetRange, ValueBlock], None, None]:
        """Yields the records that a broker returns. Any error ends the read."""
        try:
            while read.in_flight:
                read.receive()
                yield from read.blocks()
                self._pause = _PAUSE
        except Exception as error:
            self._give_up(address, error)

    def _give_up(self, address: Address, error: Exception) -> None:
        log.info("The client library reads from Kafka at %s:%d because the direct reader failed: %s", *address, error)
        self._paused_until = time.monotonic() + self._pause
        self._pause = min(2 * self._pause, _MAX_PAUSE)
        self._drop(address)

    def _drop(self, address: Address) -> None:
        broker = self._brokers.pop(address, None)
        if broker is not None:
            broker.close()
        self._leaders = {key: a for key, a in self._leaders.items() if a != address}

    def _leader(self, key: PartitionKey) -> Address | None:
        if key not in self._leaders:
            topic = key[0]
            self._leaders.update({(topic, number): address for number, address in self._find_leaders(topic).items()})
        return self._leaders.get(key)


class _BrokerRead:
    """The ranges to read from one broker and how far they are read."""

    def __init__(self, parse: RecordParser, with_timestamps: bool) -> None:
        self._parse = parse
        self._with_timestamps = with_timestamps
        self._ranges: dict[PartitionKey, OffsetRange] = {}
        self._positions: dict[PartitionKey, int] = {}  # the offset after the last record that was returned
        self._abandoned: list[OffsetRange] = []
        self._received: list[tuple[OffsetRange, list[RecordBatch]]] = []
        self._broker: Broker | None = None
        self.in_flight = False
        self.failed: list[PartitionKey] = []  # partitions that responded with an error

    def add(self, r: OffsetRange) -> None:
        self._ranges[r.key] = r
        self._positions[r.key] = r.low

    def send(self, broker: Broker) -> None:
        self._broker = broker
        broker.send_fetch([FetchPosition(*key, self._positions[key]) for key in self._ranges])
        self.in_flight = True

    def receive(self) -> None:
        """Parses a response and requests the records after it."""
        assert self._broker is not None
        self.in_flight = False
        responses = self._broker.receive_fetch()
        self._received = []
        next_positions: list[FetchPosition] = []
        for response in responses:
            r = self._ranges.get((response.topic, response.partition))
            if r is not None:
                self._handle(r, response, next_positions)
        if not self._received:
            self._abandon(list(self._ranges.values()))
        elif next_positions:
            self._broker.send_fetch(next_positions)
            self.in_flight = True

    def _handle(self, r: OffsetRange, response: PartitionResponse, next_positions: list[FetchPosition]) -> None:
        if response.error_code:
            self.failed.append(r.key)
            self._abandon([r])
            return
        batches = parse_batches(response.records)
        if response.aborted_transactions:
            batches = drop_aborted_records(batches, response.aborted_transactions, self._parse)
        next_offset = batches[-1].last_offset + 1 if batches else self._positions[r.key]
        if batches:
            self._received.append((r, batches))
        if next_offset < r.high:
            next_positions.append(FetchPosition(*r.key, next_offset))

    def blocks(self) -> Generator[tuple[OffsetRange, ValueBlock], None, None]:
        """Yields the records of the last response."""
        positions = self._positions
        for r, batches in self._received:
            for batch in batches:
                for block in read_blocks(batch, positions[r.key], r.high, self._parse, self._with_timestamps):
                    yield r, block
                    positions[r.key] = int(block.offsets[-1]) + 1
                positions[r.key] = max(positions[r.key], batch.last_offset + 1)
            if positions[r.key] >= r.high:
                del self._ranges[r.key]
        self._received = []

    def _abandon(self, ranges: list[OffsetRange]) -> None:
        for r in ranges:
            del self._ranges[r.key]
            self._abandoned.append(OffsetRange(*r.key, self._positions[r.key], r.high))

    def unread(self) -> list[OffsetRange]:
        """Returns what was not read."""
        rest = (OffsetRange(*r.key, self._positions[r.key], r.high) for r in self._ranges.values())
        return [*self._abandoned, *rest]
