"""Keys under their new names: pairs by the million are kept as hashes, and a hash alone accuses nobody."""

from __future__ import annotations

import pytest

from penstock import Types
from penstock.errors import CheckpointError
from penstock.runtime.keys import encode_key
from penstock.savepoints import one_to_one
from penstock.savepoints.key_change import KeyChange
from penstock.savepoints.new_keys import NewKeys
from penstock.savepoints.one_to_one import OneToOne
from penstock.types import TypeInformation

TENS = Types.STRING().evolved(version=2, migrate=lambda from_version, old: str(old // 10))
SAME = Types.STRING().evolved(version=2, migrate=lambda from_version, old: str(old))
NUMBERS = [encode_key(n)[0] for n in range(0, 100, 10)]


def kept(wanted: TypeInformation, numbers: list[bytes]) -> NewKeys:
    keys = NewKeys("op", KeyChange({"kind": "int"}, wanted))
    for old in numbers:
        keys.keep(old, keys.of(old))
    return keys


def test_pairs_that_come_again_are_kept_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(one_to_one, "_AT_ONCE", 3)
    pairs = OneToOne()
    for number in [*range(10), *range(10)]:
        pairs.add(b"old %d" % number, b"new %d" % number)
    assert (len(pairs), pairs.suspects()) == (10, set())
    pairs.add(b"old 11", b"new 4")
    assert pairs.suspects() == {OneToOne.hashed(b"new 4")}


def test_keys_that_become_one_are_both_named() -> None:
    numbers = [*NUMBERS, encode_key(35)[0]]
    with pytest.raises(CheckpointError, match=r"Keys 30 and 35 of operator 'op' both become '3'"):
        kept(TENS, numbers).check(numbers)
    kept(TENS, NUMBERS).check(NUMBERS)


def test_equal_hashes_are_no_equal_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(one_to_one, "_hash", lambda data: len(data) + 10 * data[-1] * (data in NUMBERS))
    keys = kept(SAME, NUMBERS)
    assert keys.kept == len(NUMBERS)
    keys.check(NUMBERS)
