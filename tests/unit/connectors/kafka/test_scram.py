"""SCRAM, by the example of RFC 7677."""

from __future__ import annotations

import pytest

from penstock.connectors.kafka.scram import ScramLogin

CHALLENGE = b"r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"


def login(password: str = "pencil") -> ScramLogin:
    return ScramLogin("sha256", "user", password, "rOprNGfwEbeRWgbNEkqO")


def test_the_example_of_the_standard() -> None:
    made = login()
    assert made.first() == b"n,,n=user,r=rOprNGfwEbeRWgbNEkqO"
    made.hear_challenge(CHALLENGE)
    assert made.final() == (
        b"c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="
    )
    made.hear_proof(b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=")


def test_a_server_that_does_not_know_the_password_is_not_believed() -> None:
    made = login("crayon")
    made.hear_challenge(CHALLENGE)
    with pytest.raises(PermissionError, match="does not know"):
        made.hear_proof(b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=")


def test_an_answer_to_another_client_is_not_taken() -> None:
    with pytest.raises(PermissionError, match="another client"):
        login().hear_challenge(b"r=other,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096")
