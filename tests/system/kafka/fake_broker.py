"""A broker that responds only to fetch requests, with configurable faults."""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
from collections.abc import Callable

from penstock.connectors.kafka.protocol.broker import AbortedTransaction

Key = tuple[str, int]


class FakeBroker:
    """Partitions are lists of batches. `fault` gets the number of each request and may return a fault for it."""

    def __init__(self, logs: dict[Key, list[bytes]], fault: Callable[[int], str] = lambda number: "") -> None:
        self.logs = logs
        self.aborted: dict[Key, list[tuple[AbortedTransaction, int]]] = {}  # with the offsets of their markers
        self.fault = fault
        self.requests: list[list[tuple[str, int, int]]] = []
        self.connections = 0
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.address: tuple[str, int] = self._listening.getsockname()
        self._thread = threading.Thread(target=self._accept, daemon=True)
        self._thread.start()

    def __enter__(self) -> FakeBroker:
        return self

    def __exit__(self, *error: object) -> None:
        self._listening.shutdown(socket.SHUT_RDWR)  # a close alone would let one more client in
        self._listening.close()
        self._thread.join()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listening.accept()
            except OSError:
                return
            self.connections += 1
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with connection, contextlib.suppress(OSError, EOFError):
            while True:
                (size,) = struct.unpack(">i", self._received(connection, 4))
                self._answer(connection, self._received(connection, size))

    @staticmethod
    def _received(connection: socket.socket, size: int) -> bytes:
        data = b""
        while len(data) < size:
            more = connection.recv(size - len(data))
            if not more:
                raise EOFError
            data += more
        return data

    def _answer(self, connection: socket.socket, question: bytes) -> None:
        api, version, number, length = struct.unpack_from(">hhih", question)
        assert (api, version) == (1, 4)
        at = 10 + length
        *_, topics = struct.unpack_from(">iiiibi", question, at)
        at += 21
        positions = []
        for _ in range(topics):
            (length,) = struct.unpack_from(">h", question, at)
            topic = question[at + 2 : at + 2 + length].decode()
            at += 2 + length
            (partitions,) = struct.unpack_from(">i", question, at)
            at += 4
            for _ in range(partitions):
                partition, offset, _ = struct.unpack_from(">iqi", question, at)
                at += 16
                positions.append((topic, partition, offset))
        self.requests.append(positions)
        fault = self.fault(len(self.requests) - 1)
        if fault == "close":
            raise EOFError
        body = struct.pack(">iii", number + (fault == "other number"), 0, len(positions))
        for topic, partition, offset in positions:
            body += self._of_partition(topic, partition, offset, fault)
        sent = struct.pack(">i", len(body)) + body
        if fault == "cut off":
            connection.sendall(sent[: len(sent) // 2])
            raise EOFError
        connection.sendall(sent)

    def _of_partition(self, topic: str, partition: int, offset: int, fault: str) -> bytes:
        records = b"".join(_from(self.logs.get((topic, partition), []), offset))
        error = 0
        if fault == "error" and partition == 0:
            error, records = 6, b""
        elif fault == "nothing":
            records = b""
        elif fault == "old format" and records:
            records = records[:16] + b"\1" + records[17:]
        elif fault == "damaged" and records:
            records = records[:61] + b"\xff" * 20 + records[81:]
        aborted = [a for a, mark in self.aborted.get((topic, partition), []) if mark >= offset]
        aborted_bytes = struct.pack(">i", len(aborted)) + b"".join(struct.pack(">qq", *a) for a in aborted)
        name = topic.encode()
        return (
            struct.pack(">h", len(name))
            + name
            + struct.pack(">iihqq", 1, partition, error, 1 << 40, 1 << 40)
            + aborted_bytes
            + struct.pack(">i", len(records))
            + records
        )


def _from(batches: list[bytes], offset: int) -> list[bytes]:
    """At most two batches from an offset on, the second one truncated, as in a real response."""
    there = [b for b in batches if _last(b) >= offset]
    return [*there[:1], *(b[: len(b) // 2] for b in there[1:2])]


def _last(batch: bytes) -> int:
    first, last = struct.unpack_from(">q", batch)[0], struct.unpack_from(">i", batch, 23)[0]
    return int(first + last)
