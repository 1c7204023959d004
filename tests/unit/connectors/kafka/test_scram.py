"""SCRAM authentication with the example of RFC 7677."""

from __future__ import annotations

import pytest

from penstock.connectors.kafka.protocol.scram import ScramLogin

CHALLENGE = b"r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"


def login(password: str = "pencil") -> ScramLogin:
    return ScramLogin("sha256", "user", password, "rOprNGfwEbeRWgbNEkqO")


def test_example_of_the_rfc() -> None:
    client = login()
    assert client.client_first_message() == b"n,,n=user,r=rOprNGfwEbeRWgbNEkqO"
    client.handle_server_first(CHALLENGE)
    assert client.client_final_message() == (
        b"c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="
    )
    client.verify_server_final(b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=")


def test_server_with_wrong_signature_is_rejected() -> None:
    client = login("crayon")
    client.handle_server_first(CHALLENGE)
    with pytest.raises(PermissionError, match="does not know"):
        client.verify_server_final(b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=")


def test_message_with_another_nonce_is_rejected() -> None:
    with pytest.raises(PermissionError, match="another client"):
        login().handle_server_first(b"r=other,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096")
