"""Connections to brokers by the client's options: plain or by TLS, with a password where one is wanted."""

from __future__ import annotations

import socket
import ssl
import struct
from collections.abc import Callable, Mapping
from typing import Any

from penstock.connectors.kafka.scram import ScramLogin
from penstock.connectors.secret import revealed

Address = tuple[str, int]
Connect = Callable[[Address, float], socket.socket]  # a place to go, and seconds to wait

_CLIENT = b"penstock"
_HANDSHAKE, _HANDSHAKE_VERSION = 17, 1
_AUTHENTICATE, _AUTHENTICATE_VERSION = 36, 0
_CONNECTED_IN = 3.0  # seconds: the client has been there before
_INT = struct.Struct(">i")
_SHORT = struct.Struct(">h")
_PROTOCOLS = ("plaintext", "ssl", "sasl_plaintext", "sasl_ssl")
_HASHES = {"SCRAM-SHA-256": "sha256", "SCRAM-SHA-512": "sha512"}
_OF_TLS = frozenset(
    {
        "ssl.ca.location",
        "ssl.ca.pem",
        "ssl.certificate.location",
        "ssl.key.location",
        "ssl.key.password",
        "enable.ssl.certificate.verification",
        "ssl.endpoint.identification.algorithm",
    }
)
_OF_LOGIN = frozenset({"sasl.mechanism", "sasl.mechanisms", "sasl.username", "sasl.password"})
OPTIONS = frozenset({"security.protocol", *_OF_TLS, *_OF_LOGIN})


def connector(options: Mapping[str, Any]) -> Connect | None:
    """How to connect with these options; None where only the client knows.

    >>> connector({"security.protocol": "plaintext"}) is not None, connector({"sasl.mechanism": "GSSAPI"}) is not None
    (True, False)
    """
    protocol = str(options.get("security.protocol", "plaintext")).lower()
    mechanism = str(options.get("sasl.mechanisms", options.get("sasl.mechanism", "PLAIN"))).upper()
    if protocol not in _PROTOCOLS or (mechanism != "PLAIN" and mechanism not in _HASHES):
        return None

    def connected(address: Address, timeout: float) -> socket.socket:
        plain = socket.create_connection(address, min(timeout, _CONNECTED_IN))
        try:
            plain.settimeout(timeout)
            plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            known = revealed(options)
            made = _tls(known).wrap_socket(plain, server_hostname=address[0]) if protocol.endswith("ssl") else plain
            if protocol.startswith("sasl"):
                _log_in(made, mechanism, known["sasl.username"], known["sasl.password"])
        except BaseException:
            plain.close()
            raise
        return made

    return connected


def _tls(options: Mapping[str, Any]) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=options.get("ssl.ca.location"), cadata=options.get("ssl.ca.pem"))
    context.check_hostname = str(options.get("ssl.endpoint.identification.algorithm", "https")).lower() == "https"
    if str(options.get("enable.ssl.certificate.verification", "true")).lower() == "false":
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    if certificate := options.get("ssl.certificate.location"):
        context.load_cert_chain(certificate, options.get("ssl.key.location"), options.get("ssl.key.password"))
    return context


def _log_in(connection: socket.socket, mechanism: str, user: str, password: str) -> None:
    name = mechanism.encode()
    answer = _asked(connection, _HANDSHAKE, _HANDSHAKE_VERSION, _SHORT.pack(len(name)) + name)
    _check(_SHORT.unpack_from(answer)[0], mechanism)
    if mechanism == "PLAIN":
        _authenticate(connection, f"\0{user}\0{password}".encode())
        return
    login = ScramLogin(_HASHES[mechanism], user, password)
    login.hear_challenge(_authenticate(connection, login.first()))
    login.hear_proof(_authenticate(connection, login.final()))


def _authenticate(connection: socket.socket, token: bytes) -> bytes:
    answer = _asked(connection, _AUTHENTICATE, _AUTHENTICATE_VERSION, _INT.pack(len(token)) + token)
    code, length = struct.unpack_from(">hh", answer)
    at = 4 + max(0, length)
    _check(code, bytes(answer[4:at]).decode(errors="replace"))
    (size,) = _INT.unpack_from(answer, at)
    return bytes(answer[at + 4 : at + 4 + size])


def _check(code: int, said: str) -> None:
    if code:
        raise PermissionError(f"The broker refuses to let this client in ({code}): {said}")


def _asked(connection: socket.socket, api: int, version: int, body: bytes) -> bytes:
    """The answer to a question, without its number."""
    question = struct.pack(">hhih", api, version, 0, len(_CLIENT)) + _CLIENT + body
    connection.sendall(_INT.pack(len(question)) + question)
    (size,) = _INT.unpack(_received(connection, _INT.size))
    return _received(connection, size)[_INT.size :]


def _received(connection: socket.socket, size: int) -> bytes:
    data = bytearray()
    while len(data) < size:
        more = connection.recv(size - len(data))
        if not more:
            raise ConnectionError("The broker closed the connection.")
        data += more
    return bytes(data)
