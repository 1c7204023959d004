"""Rewritten keys: pairs are stored as hashes, and equal hashes alone are not a collision of keys."""

from __future__ import annotations

import pytest

from penstock import Types
from penstock.errors import CheckpointError
from penstock.runtime.state.keys import encode_key
from penstock.savepoints import rekeying
from penstock.savepoints.evolution import KeyChange
from penstock.savepoints.rekeying import KeyPairs, KeyRewriter
from penstock.types import TypeInformation

TENS = Types.STRING().evolved(version=2, migrate=lambda from_version, old: str(old // 10))
SAME = Types.STRING().evolved(version=2, migrate=lambda from_version, old: str(old))
NUMBERS = [encode_key(n)[0] for n in range(0, 100, 10)]


def rewrite_all(declared: TypeInformation, numbers: list[bytes]) -> KeyRewriter:
    keys = KeyRewriter("op", KeyChange({"kind": "int"}, declared))
    for old in numbers:
        keys.record(old, keys.rewrite(old))
    return keys


def test_repeated_pairs_are_stored_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rekeying, "_MAX_PENDING", 3)
    pairs = KeyPairs()
    for number in [*range(10), *range(10)]:
        pairs.add(b"old %d" % number, b"new %d" % number)
    assert (len(pairs), pairs.collisions()) == (10, set())
    pairs.add(b"old 11", b"new 4")
    assert pairs.collisions() == {KeyPairs.hash_key(b"new 4")}


def test_the_error_names_both_colliding_keys() -> None:
    numbers = [*NUMBERS, encode_key(35)[0]]
    with pytest.raises(CheckpointError, match=r"Keys 30 and 35 of operator 'op' both become '3'"):
        rewrite_all(TENS, numbers).check_collisions(numbers)
    rewrite_all(TENS, NUMBERS).check_collisions(NUMBERS)


def test_equal_hashes_of_different_keys_are_no_collision(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rekeying, "_hash", lambda data: len(data) + 10 * data[-1] * (data in NUMBERS))
    keys = rewrite_all(SAME, NUMBERS)
    assert keys.count == len(NUMBERS)
    keys.check_collisions(NUMBERS)
