"""A connection to one broker, for fetching only: questions and answers of Kafka's protocol."""

from __future__ import annotations

import socket
import struct
from typing import NamedTuple

_FETCH = 1
_VERSION = 4  # all brokers since 0.11 know it; later ones add nothing that ranges of offsets need
_CLIENT = b"penstock"
_WAIT = 100  # milliseconds that the broker waits for a first byte
_OF_PARTITION = 1 << 20  # bytes; a batch that is larger comes whole
_OF_ANSWER = 4 << 20
_KEPT = 16 << 20  # bytes of the buffer that is kept between answers
_INT = struct.Struct(">i")
_SHORT = struct.Struct(">h")
_ABORTED = struct.Struct(">qq")
_OF_ONE = struct.Struct(">ihqqi")  # partition, error, high watermark, last stable offset, aborted transactions


class Place(NamedTuple):
    """Where to read."""

    topic: str
    partition: int
    offset: int


class Aborted(NamedTuple):
    """A transaction that came to nothing: its producer's records from this offset on do not count, until its mark."""

    producer: int
    first: int


class Fetched(NamedTuple):
    """What a broker gave of a partition: batches of records, or the number of an error."""

    topic: str
    partition: int
    error: int
    aborted: list[Aborted]  # only told to those who read what is committed
    data: memoryview


class Broker:
    """One connection. A question may be asked before the last answer was worked through: the broker answers meanwhile."""

    def __init__(self, connection: socket.socket, committed_only: bool = False) -> None:
        self._committed_only = committed_only
        self._socket = connection
        self._buffer = bytearray(_OF_ANSWER)
        self._number = 0
        self._asked = False

    def ask(self, places: list[Place]) -> None:
        """Asks for records from these places on."""
        self._number += 1
        topics: dict[str, list[Place]] = {}
        for place in places:
            topics.setdefault(place.topic, []).append(place)
        parts = [
            struct.pack(">hhih", _FETCH, _VERSION, self._number, len(_CLIENT)),
            _CLIENT,
            struct.pack(">iiiibi", -1, _WAIT, 1, _OF_ANSWER, self._committed_only, len(topics)),
        ]
        for topic, some in topics.items():
            name = topic.encode()
            parts += [_SHORT.pack(len(name)), name, _INT.pack(len(some))]
            parts += [struct.pack(">iqi", p.partition, p.offset, _OF_PARTITION) for p in some]
        question = b"".join(parts)
        self._socket.sendall(_INT.pack(len(question)) + question)
        self._asked = True

    def answer(self) -> list[Fetched]:
        """The answer to the last question. Its bytes are good until the next one."""
        assert self._asked
        (size,) = _INT.unpack(self._receive(_INT.size))
        data = self._receive(size)
        self._asked = False
        (number,) = _INT.unpack_from(data)
        if number != self._number:
            raise ConnectionError("The broker answered another question.")
        return _taken_apart(data)

    def _receive(self, size: int) -> memoryview:
        if len(self._buffer) < size or len(self._buffer) > max(size, _KEPT):
            self._buffer = bytearray(max(size, _OF_ANSWER))
        data = memoryview(self._buffer)[:size]
        left = data
        while left:
            received = self._socket.recv_into(left)
            if not received:
                raise ConnectionError("The broker closed the connection.")
            left = left[received:]
        return data

    def close(self) -> None:
        self._socket.close()


def _taken_apart(data: memoryview) -> list[Fetched]:
    found = []
    at = 2 * _INT.size  # behind its number, and for how long the broker throttles
    (topics,) = _INT.unpack_from(data, at)
    at += _INT.size
    for _ in range(topics):
        (length,) = _SHORT.unpack_from(data, at)
        at += _SHORT.size
        topic = bytes(data[at : at + length]).decode()
        at += length
        (partitions,) = _INT.unpack_from(data, at)
        at += _INT.size
        for _ in range(partitions):
            partition, error, _, _, transactions = _OF_ONE.unpack_from(data, at)
            at += _OF_ONE.size
            aborted = []
            for _ in range(transactions):
                aborted.append(Aborted(*_ABORTED.unpack_from(data, at)))
                at += _ABORTED.size
            (size,) = _INT.unpack_from(data, at)
            at += _INT.size
            size = max(0, size)
            found.append(Fetched(topic, partition, error, aborted, data[at : at + size]))
            at += size
    return found
