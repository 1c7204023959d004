"""Keys as bytes: a canonical encoding, a stable hash, and the key group that a key belongs to.

Keys that are equal in Python have one encoding, so 1, 1.0 and True are the same key, as they are in a dict.
"""

from __future__ import annotations

import datetime
import decimal
import enum
import math
import pickle
import uuid
from collections.abc import Collection
from dataclasses import fields, is_dataclass
from functools import partial
from itertools import repeat
from typing import Any, NamedTuple

import msgspec
import numpy as np
import xxhash

from penstock.errors import KeyError_
from penstock.row import Row

_encode = msgspec.msgpack.encode
_decode = msgspec.msgpack.decode
_hash = xxhash.xxh3_64_intdigest

_BIG_INT, _OBJECT, _SET = 1, 2, 3  # msgpack extension codes
_HASH_MASK = (1 << 63) - 1  # hashes are columns of signed 64-bit numbers
CACHED_KEYS = 200_000
_TRIALS = 4  # batches in which a cache may fill before it is judged
_WITHOUT = 40  # batches until it is tried again: there may be fewer new keys then


class KeyIdentity(NamedTuple):
    """All that is derived from a key."""

    hash: int
    group: int
    encoded: bytes
    plain: bool  # the key can be decoded from its encoding alone
    prefix: bytes  # of its entries in a table: group and encoding


def encode_key(key: Any) -> tuple[bytes, bool]:
    """The canonical bytes of a key, and whether they alone give the key back.

    >>> encode_key(1.0) == encode_key(True)
    True
    """
    kind = type(key)
    if kind is str or kind is bytes:
        return _encode(key), True
    if kind is int and -(2**63) <= key < 2**63:
        return _encode(key), True
    canonical, plain = _canonical(key)
    return _encode(canonical), plain


def decode_key(data: bytes) -> Any:
    """The key of an encoding that is plain.

    >>> decode_key(encode_key(("a", 1))[0])
    ('a', 1)
    """
    return _thaw(_decode(data, ext_hook=_from_extension))


def key_hash(encoded: bytes) -> int:
    """A stable hash of 63 bits."""
    return _hash(encoded) & _HASH_MASK


def key_group(hashed: int, max_parallelism: int) -> int:
    """The key group of a hash: the unit of rescaling."""
    return hashed % max_parallelism


def encoded_at_once(keys: Collection[Any]) -> tuple[list[bytes], Any] | None:
    """The bytes of many keys and the column of their hashes; None when they are not all texts, or all whole numbers.

    >>> encoded, hashes = encoded_at_once(["a", "b"])
    >>> encoded[1] == encode_key("b")[0], int(hashes[1]) == key_hash(encoded[1])
    (True, True)
    """
    kinds = set(map(type, keys))
    if kinds == {int}:
        if min(keys) < -(2**63) or max(keys) >= 2**63:
            return None
    elif kinds != {str}:
        return None
    encoded = list(map(_encode, keys))
    return encoded, np.fromiter(map(_hash, encoded), np.uint64, len(encoded)) & np.uint64(_HASH_MASK)


class CacheTrial:
    """Whether a cache of keys is worth asking. One that lacks most keys of a batch is not, for a while."""

    __slots__ = ("_met", "_tried", "_without", "lacked")

    def __init__(self) -> None:
        self.lacked = 0  # keys that it was asked for in vain, counted by the cache
        self._met = self._tried = self._without = 0

    def is_worth(self, keys: int) -> bool:
        """Asked before each batch of so many keys."""
        if self._without:
            self._without -= 1
            return False
        self._tried += 1
        if self._tried > _TRIALS and self.lacked * 2 > self._met:
            self._tried, self._without = 0, _WITHOUT
        self._met, self.lacked = keys, 0
        return True


class KeyTable(dict[Any, KeyIdentity]):
    """A bounded cache from keys to their identities."""

    def __init__(self, max_parallelism: int) -> None:
        super().__init__()
        self._max_parallelism = max_parallelism
        self._groups = [group.to_bytes(2, "big") for group in range(max_parallelism)]
        self._trial = CacheTrial()
        self.exotic: dict[bytes, Any] = {}  # keys that their bytes alone do not give back, met since last asked

    def expect(self, keys: list[Any]) -> None:
        """Told the keys of a batch before it runs.

        While most keys are new in every batch, those of a batch are made known all at once: a third of the time that they take
        one by one. What the table had before would only be in the way of the processor's caches.
        """
        if not self._trial.is_worth(len(keys)):
            self._learn(dict.fromkeys(keys))

    def _learn(self, keys: dict[Any, None]) -> None:
        if len(keys) > CACHED_KEYS or (found := encoded_at_once(keys)) is None:
            return
        encoded, hashes = found
        groups = (hashes % np.uint64(self._max_parallelism)).tolist()
        prefixes = [self._groups[group] + data for group, data in zip(groups, encoded, strict=True)]
        parts = zip(hashes.tolist(), groups, encoded, repeat(True, len(keys)), prefixes, strict=True)
        self.clear()
        self.update(zip(keys, map(partial(tuple.__new__, KeyIdentity), parts), strict=True))

    def __missing__(self, key: Any) -> KeyIdentity:
        self._trial.lacked += 1
        if len(self) >= CACHED_KEYS:
            self.clear()
        encoded, plain = encode_key(key)
        if not plain:
            self.exotic[encoded] = key
        hashed = key_hash(encoded)
        group = key_group(hashed, self._max_parallelism)
        identity = self[key] = KeyIdentity(hashed, group, encoded, plain, self._groups[group] + encoded)
        return identity

    def forget_exotic(self) -> None:
        """What was written of exotic keys may be lost: they count as new when they are met again."""
        self.exotic.clear()
        for key in [key for key, identity in self.items() if not identity.plain]:
            del self[key]


def _canonical(key: Any) -> tuple[Any, bool]:
    """A value that msgpack encodes in one way only, and whether it decodes to an equal key."""
    if key is None:
        raise KeyError_(
            "KEY_IS_NONE", "The key of an element is None. A key must be a value; filter such elements out first."
        )
    if isinstance(key, enum.Enum) and not isinstance(key, (str, int)):
        return _object(type(key).__qualname__, key.name)
    if isinstance(key, str):
        return str.__str__(key), type(key) is str
    if isinstance(key, (int, float, decimal.Decimal)):
        return _number(key)
    if isinstance(key, (bytes, memoryview)):
        return bytes(key), True
    if isinstance(key, tuple):
        parts = [_part(k) for k in key]
        return [p for p, _ in parts], type(key) is tuple and all(plain for _, plain in parts)
    if isinstance(key, frozenset):
        members = sorted(_encode(_part(k)[0]) for k in key)
        return msgspec.msgpack.Ext(_SET, _encode(members)), False
    if isinstance(key, datetime.datetime):
        return _object("datetime", (key if key.tzinfo is None else key.astimezone(datetime.UTC)).isoformat())
    if isinstance(key, datetime.date):
        return _object("date", key.isoformat())
    if isinstance(key, datetime.time):
        return _object("time", key.isoformat())
    if isinstance(key, uuid.UUID):
        return _object("UUID", key.hex)
    if isinstance(key, Row):
        return _object("Row", [key.get_row_kind().value, *(_part(v)[0] for v in key.by_name())])
    # By default objects are equal to themselves only, so to nothing in another process.
    by_identity = getattr(type(key), "__hash__", None) is object.__hash__
    if is_dataclass(key) and not isinstance(key, type) and not by_identity:
        return _object(type(key).__qualname__, [_part(getattr(key, f.name))[0] for f in fields(key) if f.compare])
    if isinstance(key, msgspec.Struct) and not by_identity:
        return _object(type(key).__qualname__, [_part(getattr(key, f))[0] for f in key.__struct_fields__])
    raise KeyError_(
        "KEY_TYPE",
        f"{key!r} of type {type(key).__name__} cannot be a key: it would not be the same key in every process. "
        "Use a str, int, float, bytes, tuple, date, UUID, enum, a Row, or a frozen dataclass or Struct of these.",
    )


def _part(key: Any) -> tuple[Any, bool]:
    """Of a key that is a part of another: it may be None."""
    return (None, True) if key is None else _canonical(key)


def _number(key: Any) -> tuple[Any, bool]:
    if key != key:
        raise KeyError_(
            "KEY_IS_NAN", "The key of an element is NaN, which equals no key. Filter such elements out first."
        )
    if key in (math.inf, -math.inf):
        return float(key), type(key) is float
    if key == (whole := int(key)):
        small = -(2**63) <= whole < 2**63
        return whole if small else msgspec.msgpack.Ext(_BIG_INT, b"%x" % whole), type(key) is int
    if (binary := float(key)) == key:
        return binary, type(key) is float
    sign, digits, exponent = key.as_tuple()  # a decimal that no float equals
    text = "".join(map(str, digits))
    return _object("Decimal", [sign, text.rstrip("0"), exponent + len(text) - len(text.rstrip("0"))])


def _object(kind: str, content: Any) -> tuple[Any, bool]:
    return msgspec.msgpack.Ext(_OBJECT, _encode([kind, content])), False


def _from_extension(code: int, data: memoryview) -> Any:
    if code == _BIG_INT:
        return int(bytes(data), 16)
    raise KeyError_(
        "KEY_NOT_PLAIN", f"A key with extension {code} is not decoded from its bytes; it is stored beside them."
    )


def _thaw(key: Any) -> Any:
    return tuple(_thaw(k) for k in key) if isinstance(key, list) else key


def encoded_length(data: bytes, at: int) -> int:
    """How many bytes the encoded key at a position takes.

    >>> encoded_length(encode_key(("a", 1))[0] + b"rest", 0)
    4
    """
    first = data[at]
    if first < 0x80 or first >= 0xE0 or first in (0xC0, 0xC2, 0xC3):
        return 1
    if 0xA0 <= first < 0xC0:
        return 1 + first - 0xA0
    if 0x90 <= first < 0xA0 or first in (0xDC, 0xDD):
        width = {0xDC: 2, 0xDD: 4}.get(first, 0)
        count = int.from_bytes(data[at + 1 : at + 1 + width], "big") if width else first - 0x90
        end = at + 1 + width
        for _ in range(count):
            end += encoded_length(data, end)
        return end - at
    if first in _FIXED:
        return _FIXED[first]
    width, extra = _COUNTED[first]
    return 1 + width + extra + int.from_bytes(data[at + 1 : at + 1 + width], "big")


# msgpack's codes: with a fixed length in all; with a count of so many bytes (and a type byte of extensions)
_FIXED = {0xCA: 5, 0xCB: 9, 0xCC: 2, 0xCD: 3, 0xCE: 5, 0xCF: 9, 0xD0: 2, 0xD1: 3, 0xD2: 5, 0xD3: 9}
_FIXED |= {0xD4: 3, 0xD5: 4, 0xD6: 6, 0xD7: 10, 0xD8: 18}
_COUNTED = {0xC4: (1, 0), 0xC5: (2, 0), 0xC6: (4, 0), 0xC7: (1, 1), 0xC8: (2, 1), 0xC9: (4, 1)}
_COUNTED |= {0xD9: (1, 0), 0xDA: (2, 0), 0xDB: (4, 0)}


def freeze_key(key: Any, plain: bool) -> bytes:
    """What must be kept beside the encoding so that the key can be given back: nothing, when it is plain."""
    return b"" if plain else pickle.dumps(key, 5)


def thaw_key(encoded: bytes, frozen: bytes) -> Any:
    """The key of an encoding and of what `freeze_key` kept beside it."""
    return pickle.loads(frozen) if frozen else decode_key(encoded)
