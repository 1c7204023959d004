"""A login by SCRAM (RFC 5802): both sides show that they know the password, and none says it."""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets


class ScramLogin:
    """The client's part of one login."""

    def __init__(self, algorithm: str, user: str, password: str, nonce: str | None = None) -> None:
        self._algorithm = algorithm
        self._password = password.encode()
        self._nonce = nonce or secrets.token_urlsafe(24)
        self._first = f"n={user.replace('=', '=3D').replace(',', '=2C')},r={self._nonce}"
        self._final = b""
        self._signature = b""

    def first(self) -> bytes:
        """What the client says first."""
        return f"n,,{self._first}".encode()

    def hear_challenge(self, said: bytes) -> None:
        """Takes the server's salt, and makes the proof."""
        text = said.decode()
        fields = dict(field.split("=", 1) for field in text.split(","))
        if not fields["r"].startswith(self._nonce):
            raise PermissionError("The broker answered another client's login.")
        salted = hashlib.pbkdf2_hmac(self._algorithm, self._password, base64.b64decode(fields["s"]), int(fields["i"]))
        without_proof = f"c=biws,r={fields['r']}"
        whole = f"{self._first},{text},{without_proof}".encode()
        key = self._keyed(salted, b"Client Key")
        stored = hashlib.new(self._algorithm, key).digest()
        proof = bytes(a ^ b for a, b in zip(key, self._keyed(stored, whole), strict=True))
        self._signature = self._keyed(self._keyed(salted, b"Server Key"), whole)
        self._final = f"{without_proof},p={base64.b64encode(proof).decode()}".encode()

    def final(self) -> bytes:
        """The client's proof."""
        return self._final

    def hear_proof(self, said: bytes) -> None:
        """The server must know the password too."""
        fields = dict(field.split("=", 1) for field in said.decode().split(","))
        if not hmac.compare_digest(base64.b64decode(fields.get("v", "")), self._signature):
            raise PermissionError("The broker does not know the password that it asked for.")

    def _keyed(self, key: bytes, message: bytes) -> bytes:
        return hmac.new(key, message, self._algorithm).digest()
