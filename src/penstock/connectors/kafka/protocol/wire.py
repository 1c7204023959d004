"""Framing of requests and responses on a Kafka connection: each is preceded by its size."""

from __future__ import annotations

import socket
import struct

INT = struct.Struct(">i")
SHORT = struct.Struct(">h")
_REQUEST_HEADER = struct.Struct(">hhih")  # api key, api version, correlation id, length of the client id
_CLIENT_ID = b"penstock"


def send_request(connection: socket.socket, api_key: int, api_version: int, correlation_id: int, body: bytes) -> None:
    """Sends a request. The response starts with the same correlation id."""
    request = _REQUEST_HEADER.pack(api_key, api_version, correlation_id, len(_CLIENT_ID)) + _CLIENT_ID + body
    connection.sendall(INT.pack(len(request)) + request)


def encode_string(value: str) -> bytes:
    """Encodes a string with its length (type STRING of the protocol).

    >>> encode_string("orders")
    b'\\x00\\x06orders'
    """
    data = value.encode()
    return SHORT.pack(len(data)) + data


def receive_size(connection: socket.socket) -> int:
    """Receives the size of the next response, in bytes."""
    size: int = INT.unpack(receive_into(connection, memoryview(bytearray(INT.size))))[0]
    return size


def receive_into(connection: socket.socket, buffer: memoryview) -> memoryview:
    """Fills the buffer and returns it."""
    remaining = buffer
    while remaining:
        received = connection.recv_into(remaining)
        if not received:
            raise ConnectionError("The broker closed the connection.")
        remaining = remaining[received:]
    return buffer
