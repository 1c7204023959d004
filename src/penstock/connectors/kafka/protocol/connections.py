"""Opens connections to brokers according to the client options: plain or TLS, with or without SASL."""

from __future__ import annotations

import socket
import ssl
import struct
from collections.abc import Callable, Mapping
from typing import Any

from penstock.connectors.kafka.protocol.scram import ScramLogin
from penstock.connectors.kafka.protocol.wire import INT, SHORT, encode_string, receive_into, receive_size, send_request
from penstock.connectors.secret import reveal_secrets

Address = tuple[str, int]
Connect = Callable[[Address, float], socket.socket]  # address, timeout in seconds

_SASL_HANDSHAKE, _SASL_HANDSHAKE_VERSION = 17, 1  # api key and api version
_SASL_AUTHENTICATE, _SASL_AUTHENTICATE_VERSION = 36, 0
_CONNECT_TIMEOUT = 3.0  # seconds; short, because the client library has connected to this broker before
_PROTOCOLS = ("plaintext", "ssl", "sasl_plaintext", "sasl_ssl")
_HASHES = {"SCRAM-SHA-256": "sha256", "SCRAM-SHA-512": "sha512"}
_TLS_OPTIONS = frozenset(
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
_SASL_OPTIONS = frozenset({"sasl.mechanism", "sasl.mechanisms", "sasl.username", "sasl.password"})
SUPPORTED_OPTIONS = frozenset({"security.protocol", *_TLS_OPTIONS, *_SASL_OPTIONS})


def connector(options: Mapping[str, Any]) -> Connect | None:
    """Returns the function that connects with these options, or None if only the client library supports them.

    >>> connector({"security.protocol": "plaintext"}) is not None, connector({"sasl.mechanism": "GSSAPI"}) is not None
    (True, False)
    """
    protocol = str(options.get("security.protocol", "plaintext")).lower()
    mechanism = str(options.get("sasl.mechanisms", options.get("sasl.mechanism", "PLAIN"))).upper()
    if protocol not in _PROTOCOLS or (mechanism != "PLAIN" and mechanism not in _HASHES):
        return None

    def connect(address: Address, timeout: float) -> socket.socket:
        plain = socket.create_connection(address, min(timeout, _CONNECT_TIMEOUT))
        try:
            plain.settimeout(timeout)
            plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            clear = reveal_secrets(options)
            connection = plain
            if protocol.endswith("ssl"):
                connection = _tls_context(clear).wrap_socket(plain, server_hostname=address[0])
            if protocol.startswith("sasl"):
                _log_in(connection, mechanism, clear["sasl.username"], clear["sasl.password"])
        except BaseException:
            plain.close()
            raise
        return connection

    return connect


def _tls_context(options: Mapping[str, Any]) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=options.get("ssl.ca.location"), cadata=options.get("ssl.ca.pem"))
    context.check_hostname = str(options.get("ssl.endpoint.identification.algorithm", "https")).lower() == "https"
    if str(options.get("enable.ssl.certificate.verification", "true")).lower() == "false":
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    if certificate := options.get("ssl.certificate.location"):
        context.load_cert_chain(certificate, options.get("ssl.key.location"), options.get("ssl.key.password"))
    return context


def _log_in(connection: socket.socket, mechanism: str, user: str, password: str) -> None:
    response = _request(connection, _SASL_HANDSHAKE, _SASL_HANDSHAKE_VERSION, encode_string(mechanism))
    _check(SHORT.unpack_from(response)[0], mechanism)
    if mechanism == "PLAIN":
        _authenticate(connection, f"\0{user}\0{password}".encode())
        return
    login = ScramLogin(_HASHES[mechanism], user, password)
    login.handle_server_first(_authenticate(connection, login.client_first_message()))
    login.verify_server_final(_authenticate(connection, login.client_final_message()))


def _authenticate(connection: socket.socket, token: bytes) -> bytes:
    body = INT.pack(len(token)) + token
    response = _request(connection, _SASL_AUTHENTICATE, _SASL_AUTHENTICATE_VERSION, body)
    error_code, length = struct.unpack_from(">hh", response)
    at = 4 + max(0, length)
    _check(error_code, bytes(response[4:at]).decode(errors="replace"))
    (size,) = INT.unpack_from(response, at)
    return bytes(response[at + 4 : at + 4 + size])


def _check(error_code: int, message: str) -> None:
    if error_code:
        raise PermissionError(f"The broker rejects the login (error code {error_code}): {message}")


def _request(connection: socket.socket, api_key: int, api_version: int, body: bytes) -> memoryview:
    """Sends a request and returns the response without its correlation id."""
    send_request(connection, api_key, api_version, 0, body)
    return receive_into(connection, memoryview(bytearray(receive_size(connection))))[INT.size :]
