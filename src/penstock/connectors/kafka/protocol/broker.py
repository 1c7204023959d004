"""Fetch requests and fetch responses on a connection to one broker."""

from __future__ import annotations

import socket
import struct
from typing import NamedTuple

from penstock.connectors.kafka.protocol.wire import INT, SHORT, encode_string, receive_into, receive_size, send_request

_FETCH_API_KEY = 1
_API_VERSION = 4  # known to all brokers since 0.11; later versions add nothing that reading offset ranges needs
_MAX_WAIT_MS = 100  # how long the broker waits for the first byte
_PARTITION_MAX_BYTES = 1 << 20  # a larger record batch is sent completely
_MAX_BYTES = 4 << 20  # of one response
_MAX_REUSED_BUFFER = 16 << 20  # bytes; a larger receive buffer is not reused for the next response
_ABORTED_TRANSACTION = struct.Struct(">qq")
_PARTITION = struct.Struct(">ihqqi")  # partition, error code, high watermark, last stable offset, aborted transactions


class FetchPosition(NamedTuple):
    """The partition and the offset to fetch from."""

    topic: str
    partition: int
    offset: int


class AbortedTransaction(NamedTuple):
    """An aborted transaction. Records of the producer from `first_offset` to the abort marker are not committed."""

    producer_id: int
    first_offset: int


class PartitionResponse(NamedTuple):
    """One partition of a fetch response: record batches or an error code."""

    topic: str
    partition: int
    error_code: int
    aborted_transactions: list[AbortedTransaction]  # sent only with isolation level read_committed
    records: memoryview


class Broker:
    """A connection that fetches records.

    The next request may be sent while the last response is still being processed, so that the broker works in parallel.
    """

    def __init__(self, connection: socket.socket, committed_only: bool = False) -> None:
        self._committed_only = committed_only
        self._socket = connection
        self._buffer = bytearray(_MAX_BYTES)
        self._correlation_id = 0
        self._in_flight = False

    def send_fetch(self, positions: list[FetchPosition]) -> None:
        """Requests the records from these positions on."""
        self._correlation_id += 1
        topics: dict[str, list[FetchPosition]] = {}
        for position in positions:
            topics.setdefault(position.topic, []).append(position)
        isolation_level = self._committed_only  # 1 is read_committed
        parts = [struct.pack(">iiiibi", -1, _MAX_WAIT_MS, 1, _MAX_BYTES, isolation_level, len(topics))]
        for topic, partitions in topics.items():
            parts += [encode_string(topic), INT.pack(len(partitions))]
            parts += [struct.pack(">iqi", p.partition, p.offset, _PARTITION_MAX_BYTES) for p in partitions]
        send_request(self._socket, _FETCH_API_KEY, _API_VERSION, self._correlation_id, b"".join(parts))
        self._in_flight = True

    def receive_fetch(self) -> list[PartitionResponse]:
        """Returns the response to the last request. Its buffers are valid until the next call."""
        assert self._in_flight
        data = receive_into(self._socket, self._reserve(receive_size(self._socket)))
        self._in_flight = False
        (correlation_id,) = INT.unpack_from(data)
        if correlation_id != self._correlation_id:
            raise ConnectionError(
                f"The broker responded with correlation id {correlation_id}; expected {self._correlation_id}."
            )
        return _parse_response(data)

    def _reserve(self, size: int) -> memoryview:
        if len(self._buffer) < size or len(self._buffer) > max(size, _MAX_REUSED_BUFFER):
            self._buffer = bytearray(max(size, _MAX_BYTES))
        return memoryview(self._buffer)[:size]

    def close(self) -> None:
        self._socket.close()


def _parse_response(data: memoryview) -> list[PartitionResponse]:
    responses = []
    at = 2 * INT.size  # after the correlation id and the throttle time
    (topics,) = INT.unpack_from(data, at)
    at += INT.size
    for _ in range(topics):
        (length,) = SHORT.unpack_from(data, at)
        at += SHORT.size
        topic = bytes(data[at : at + length]).decode()
        at += length
        (partitions,) = INT.unpack_from(data, at)
        at += INT.size
        for _ in range(partitions):
            partition, error_code, _, _, transactions = _PARTITION.unpack_from(data, at)
            at += _PARTITION.size
            aborted = []
            for _ in range(transactions):
                aborted.append(AbortedTransaction(*_ABORTED_TRANSACTION.unpack_from(data, at)))
                at += _ABORTED_TRANSACTION.size
            (size,) = INT.unpack_from(data, at)
            at += INT.size
            size = max(0, size)
            responses.append(PartitionResponse(topic, partition, error_code, aborted, data[at : at + size]))
            at += size
    return responses
