"""SCRAM authentication (RFC 5802): client and server prove that they know the password without sending it."""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets


class ScramLogin:
    """The client side of one SCRAM exchange."""

    def __init__(self, algorithm: str, user: str, password: str, nonce: str | None = None) -> None:
        self._algorithm = algorithm
        self._password = password.encode()
        self._nonce = nonce or secrets.token_urlsafe(24)
        self._client_first_bare = f"n={user.replace('=', '=3D').replace(',', '=2C')},r={self._nonce}"
        self._client_final = b""
        self._server_signature = b""

    def client_first_message(self) -> bytes:
        """Returns the message that starts the exchange."""
        return f"n,,{self._client_first_bare}".encode()

    def handle_server_first(self, message: bytes) -> None:
        """Reads salt and iteration count from the server's first message and computes the client proof."""
        text = message.decode()
        fields = dict(field.split("=", 1) for field in text.split(","))
        if not fields["r"].startswith(self._nonce):
            raise PermissionError("The broker's SCRAM message has the nonce of another client.")
        salted = hashlib.pbkdf2_hmac(self._algorithm, self._password, base64.b64decode(fields["s"]), int(fields["i"]))
        without_proof = f"c=biws,r={fields['r']}"
        auth_message = f"{self._client_first_bare},{text},{without_proof}".encode()
        client_key = self._hmac(salted, b"Client Key")
        stored_key = hashlib.new(self._algorithm, client_key).digest()
        client_signature = self._hmac(stored_key, auth_message)
        proof = bytes(a ^ b for a, b in zip(client_key, client_signature, strict=True))
        self._server_signature = self._hmac(self._hmac(salted, b"Server Key"), auth_message)
        self._client_final = f"{without_proof},p={base64.b64encode(proof).decode()}".encode()

    def client_final_message(self) -> bytes:
        """Returns the message with the client proof."""
        return self._client_final

    def verify_server_final(self, message: bytes) -> None:
        """Raises PermissionError if the server's signature shows that it does not know the password."""
        fields = dict(field.split("=", 1) for field in message.decode().split(","))
        if not hmac.compare_digest(base64.b64decode(fields.get("v", "")), self._server_signature):
            raise PermissionError("The broker's SCRAM signature is wrong: it does not know the user's password.")

    def _hmac(self, key: bytes, message: bytes) -> bytes:
        return hmac.new(key, message, self._algorithm).digest()
