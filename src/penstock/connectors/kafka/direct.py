"""Reads values straight from the brokers that lead partitions, where that is simple; the rest is left to the client.

Whatever is not plain reading goes the client's way, which knows retries, moved leaders, policies for deleted records and errors in
people's words: a partition that answers with an error or with nothing, a connection that breaks, a format of old. What was read
until then stays read: the client goes on behind it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Mapping
from functools import partial
from typing import Any

from penstock.connectors.kafka.blocks import Block
from penstock.connectors.kafka.broker import Broker, Fetched, Place
from penstock.connectors.kafka.client import log
from penstock.connectors.kafka.connections import OPTIONS, Address, Connect, connector
from penstock.connectors.kafka.ranges import Key, Range, rounds
from penstock.connectors.kafka.record_batches import Parse, RecordBatch, batches_in, blocks_in, committed, record_parser

_PATIENCE = 10.0  # seconds for a broker to say anything
_REST = 30.0  # seconds that the client reads alone after something went wrong; twice as long when it does again
_LONGEST_REST = 600.0
# Options that are understood here, or do not touch how records are fetched. With any other the client reads.
_KNOWN = OPTIONS | {
    "bootstrap.servers",
    "group.id",
    "client.id",
    "enable.auto.commit",
    "auto.offset.reset",
    "isolation.level",
}

LeadersOf = Callable[[str], dict[int, Address]]  # a topic to the addresses of its partitions' leaders
Read = Generator[tuple[Range, Block], None, list[Range]]


def direct_reader(options: Mapping[str, Any], leaders_of: LeadersOf) -> DirectReader | None:
    """A reader with these options; None where they ask for more than plain reading.

    >>> direct_reader({"bootstrap.servers": "kafka:9092", "client.rack": "a"}, lambda topic: {}) is None
    True
    """
    connect = connector(options) if _KNOWN.issuperset(options) else None
    if connect is None:
        return None
    return DirectReader(leaders_of, connect, options.get("isolation.level") == "read_committed")


class DirectReader:
    """Connections to leaders, kept by a consumer between batches."""

    def __init__(self, leaders_of: LeadersOf, connect: Connect, committed_only: bool = False) -> None:
        self._leaders_of = leaders_of
        self._connect = connect
        self._committed_only = committed_only
        self._leaders: dict[Key, Address] = {}
        self._brokers: dict[Address, Broker] = {}
        self._parse = record_parser()
        self._rest = _REST
        self._rests_until = 0.0 if self._parse is not None else float("inf")

    def read(self, ranges: list[Range], stamps_wanted: bool) -> Read:
        """The values of the ranges; gives the ranges that it leaves to others."""
        left: list[Range] = []
        for some in rounds(ranges):
            if time.monotonic() < self._rests_until:
                left += some
            else:
                left += yield from self._read(some, stamps_wanted)
        return left

    def close(self) -> None:
        for broker in self._brokers.values():
            broker.close()
        self._brokers.clear()

    def _read(self, ranges: list[Range], stamps_wanted: bool) -> Read:
        assert self._parse is not None
        readings: dict[Address, _Reading] = {}
        left: list[Range] = []
        for r in ranges:
            address = self._leader(r.key)
            if address is None:
                left.append(r)
            else:
                readings.setdefault(address, _Reading(self._parse, stamps_wanted)).add(r)
        for address, reading in readings.items():
            self._try(address, reading, partial(self._begin, address, reading))
        while running := [(a, r) for a, r in readings.items() if r.asked]:
            for address, reading in running:
                if self._try(address, reading, reading.take):
                    yield from self._tried(address, reading)
                    self._rest = _REST
        for reading in readings.values():
            for key in reading.refused:  # it may have another leader by now
                self._leaders.pop(key, None)
            left += reading.left()
        return left

    def _begin(self, address: Address, reading: _Reading) -> None:
        """Asks for the first time; a connection that is no longer good is made anew."""
        kept = self._brokers.get(address)
        if kept is not None:
            try:
                reading.ask(kept)
                return
            except OSError:
                self._drop(address)
        broker = self._brokers[address] = Broker(self._connect(address, _PATIENCE), self._committed_only)
        reading.ask(broker)

    def _try(self, address: Address, reading: _Reading, step: Callable[[], None]) -> bool:
        try:
            step()
        except Exception as error:
            self._give_up(address, reading, error)
            return False
        return True

    def _tried(self, address: Address, reading: _Reading) -> Generator[tuple[Range, Block], None, None]:
        blocks = reading.blocks()
        while True:
            try:
                block = next(blocks, None)
            except Exception as error:
                self._give_up(address, reading, error)
                return
            if block is None:
                return
            yield block

    def _give_up(self, address: Address, reading: _Reading, error: Exception) -> None:
        log.info("Kafka at %s:%d is left to the client: %s", *address, error)
        reading.asked = False
        self._rests_until = time.monotonic() + self._rest
        self._rest = min(2 * self._rest, _LONGEST_REST)
        self._drop(address)

    def _drop(self, address: Address) -> None:
        broker = self._brokers.pop(address, None)
        if broker is not None:
            broker.close()
        self._leaders = {key: a for key, a in self._leaders.items() if a != address}

    def _leader(self, key: Key) -> Address | None:
        if key not in self._leaders:
            topic = key[0]
            self._leaders.update({(topic, number): address for number, address in self._leaders_of(topic).items()})
        return self._leaders.get(key)


class _Reading:
    """What one broker is asked for."""

    def __init__(self, parse: Parse, stamps_wanted: bool) -> None:
        self._parse = parse
        self._stamps_wanted = stamps_wanted
        self._wants: dict[Key, Range] = {}
        self._at: dict[Key, int] = {}  # behind what was given
        self._left: list[Range] = []  # by partitions that answered with an error
        self._taken: list[tuple[Range, list[RecordBatch]]] = []
        self._broker: Broker | None = None
        self.asked = False
        self.refused: list[Key] = []

    def add(self, r: Range) -> None:
        self._wants[r.key] = r
        self._at[r.key] = r.low

    def ask(self, broker: Broker) -> None:
        self._broker = broker
        broker.ask([Place(*key, self._at[key]) for key in self._wants])
        self.asked = True

    def take(self) -> None:
        """Takes an answer apart, and asks for what comes behind it."""
        assert self._broker is not None
        self.asked = False
        answer = self._broker.answer()
        self._taken = []
        ahead: list[Place] = []
        for fetched in answer:
            wants = self._wants.get((fetched.topic, fetched.partition))
            if wants is not None:
                self._take(wants, fetched, ahead)
        if not self._taken:
            self._leave(list(self._wants.values()))
        elif ahead:
            self._broker.ask(ahead)
            self.asked = True

    def _take(self, wants: Range, fetched: Fetched, ahead: list[Place]) -> None:
        if fetched.error:
            self.refused.append(wants.key)
            self._leave([wants])
            return
        batches = batches_in(fetched.data)
        if fetched.aborted:
            batches = committed(batches, fetched.aborted, self._parse)
        behind = batches[-1].last + 1 if batches else self._at[wants.key]
        if batches:
            self._taken.append((wants, batches))
        if behind < wants.high:
            ahead.append(Place(*wants.key, behind))

    def blocks(self) -> Generator[tuple[Range, Block], None, None]:
        """What the last answer holds."""
        for wants, batches in self._taken:
            for batch in batches:
                for block in blocks_in(batch, self._at[wants.key], wants.high, self._parse, self._stamps_wanted):
                    yield wants, block
                    self._at[wants.key] = int(block.offsets[-1]) + 1
                self._at[wants.key] = max(self._at[wants.key], batch.last + 1)
            if self._at[wants.key] >= wants.high:
                del self._wants[wants.key]
        self._taken = []

    def _leave(self, ranges: list[Range]) -> None:
        for r in ranges:
            del self._wants[r.key]
            self._left.append(Range(*r.key, self._at[r.key], r.high))

    def left(self) -> list[Range]:
        """What was not read."""
        return [*self._left, *(Range(*r.key, self._at[r.key], r.high) for r in self._wants.values())]
