"""Keys as bytes: a canonical encoding, a stable hash, and the key group of a key.

Keys that are equal in Python have the same encoding, so 1, 1.0 and True are one key, as in a dict.
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

from penstock.errors import InvalidKeyError
from penstock.row import Row
from penstock.runtime.pickling import dumps

_encode = msgspec.msgpack.encode
_decode = msgspec.msgpack.decode
_hash = xxhash.xxh3_64_intdigest

_BIG_INT, _OBJECT, _SET = 1, 2, 3  # msgpack extension codes
_HASH_MASK = (1 << 63) - 1  # hashes are columns of signed 64-bit numbers
CACHED_KEYS = 200_000
_WARM_UP = 4  # batches in which a cache may fill before its misses count
_PAUSE = 40  # batches without the cache; there may be fewer new keys after that


class KeyIdentity(NamedTuple):
    """The values that are derived from a key."""

    hash: int
    group: int
    encoded: bytes
    decodable: bool  # whether the key can be decoded from its encoding
    prefix: bytes  # key group and encoding, with which its entries in a table start


def encode_key(key: Any) -> tuple[bytes, bool]:
    """Returns the canonical encoding of a key, and whether the key can be decoded from it.

    >>> encode_key(1.0) == encode_key(True)
    True
    """
    kind = type(key)
    if kind is str or kind is bytes:
        return _encode(key), True
    if kind is int and -(2**63) <= key < 2**63:
        return _encode(key), True
    canonical, decodable = _canonical(key)
    return _encode(canonical), decodable


def hashable_key(key: Any) -> Any:
    """Returns a key that is a list, a set or a bytearray as a tuple, a frozenset or bytes. Other keys are returned unchanged.

    Flink accepts every key that can be pickled.

    >>> hashable_key([1, [2, {3}]])
    (1, (2, frozenset({3})))
    """
    if type(key) is list or type(key) is tuple:
        return tuple(hashable_key(part) for part in key)
    return frozenset(key) if type(key) is set else bytes(key) if type(key) is bytearray else key


def decode_key(data: bytes) -> Any:
    """Decodes a key whose encoding is decodable.

    >>> decode_key(encode_key(("a", 1))[0])
    ('a', 1)
    """
    return _to_tuples(_decode(data, ext_hook=_from_extension))


def key_hash(encoded: bytes) -> int:
    """Returns a stable hash of 63 bits."""
    return _hash(encoded) & _HASH_MASK


def key_group(hashed: int, max_parallelism: int) -> int:
    """Returns the key group of a hash. Key groups are the unit of rescaling."""
    return hashed % max_parallelism


def encode_keys(keys: Collection[Any]) -> tuple[list[bytes], Any] | None:
    """Encodes many keys and returns them with a column of their hashes; None unless all are str or all are int.

    >>> encoded, hashes = encode_keys(["a", "b"])
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


class CachePolicy:
    """Decides whether a cache of keys is used. A cache that misses most keys of a batch pauses for some batches."""

    __slots__ = ("_batches", "_lookups", "_paused", "misses")

    def __init__(self) -> None:
        self.misses = 0  # counted by the cache
        self._lookups = self._batches = self._paused = 0

    def should_use(self, keys: int) -> bool:
        """Returns whether to use the cache for the next batch, which has this number of keys."""
        if self._paused:
            self._paused -= 1
            return False
        self._batches += 1
        if self._batches > _WARM_UP and self.misses * 2 > self._lookups:
            self._batches, self._paused = 0, _PAUSE
        self._lookups, self.misses = keys, 0
        return True


class KeyTable(dict[Any, KeyIdentity]):
    """A bounded cache from keys to their identities."""

    def __init__(self, max_parallelism: int) -> None:
        super().__init__()
        self.max_parallelism = self._max_parallelism = max_parallelism
        self._groups = [group.to_bytes(2, "big") for group in range(max_parallelism)]
        self._policy = CachePolicy()
        self.pickled_keys: dict[bytes, Any] = {}  # by encoding: new keys that cannot be decoded, to be stored

    def prepare_batch(self, keys: list[Any]) -> None:
        """Prepares the table for the keys of a batch.

        If most keys are new in every batch, all keys of the batch are encoded at once, which takes a third of the time. Older
        entries are dropped, since they would only fill the CPU caches.
        """
        if not self._policy.should_use(len(keys)):
            self._encode_all(dict.fromkeys(keys))

    def _encode_all(self, keys: dict[Any, None]) -> None:
        if len(keys) > CACHED_KEYS or (columns := encode_keys(keys)) is None:
            return
        encoded, hashes = columns
        groups = (hashes % np.uint64(self._max_parallelism)).tolist()
        prefixes = [self._groups[group] + data for group, data in zip(groups, encoded, strict=True)]
        parts = zip(hashes.tolist(), groups, encoded, repeat(True, len(keys)), prefixes, strict=True)
        self.clear()
        self.update(zip(keys, map(partial(tuple.__new__, KeyIdentity), parts), strict=True))

    def __missing__(self, key: Any) -> KeyIdentity:
        self._policy.misses += 1
        if len(self) >= CACHED_KEYS:
            self.clear()
        encoded, decodable = encode_key(key)
        if not decodable:
            self.pickled_keys[encoded] = key
        hashed = key_hash(encoded)
        group = key_group(hashed, self._max_parallelism)
        identity = self[key] = KeyIdentity(hashed, group, encoded, decodable, self._groups[group] + encoded)
        return identity

    def forget_pickled_keys(self) -> None:
        """Forgets keys that cannot be decoded, so that they are stored again. Earlier writes of them may be lost."""
        self.pickled_keys.clear()
        for key in [key for key, identity in self.items() if not identity.decodable]:
            del self[key]


def _canonical(key: Any) -> tuple[Any, bool]:
    """Returns a value with exactly one msgpack encoding, and whether it decodes to an equal key."""
    if key is None:
        raise InvalidKeyError(
            "KEY_IS_NONE",
            "The key of an element is None. A key must have a value; filter such elements out before key_by.",
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
        return [p for p, _ in parts], type(key) is tuple and all(decodable for _, decodable in parts)
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
        return _object("Row", [key.get_row_kind().value, *(_part(v)[0] for v in key.values_by_name())])
    # By default an object is equal only to itself, so never to an object in another process.
    by_identity = getattr(type(key), "__hash__", None) is object.__hash__
    if not by_identity and (content := _compared_values(key)) is not None:
        return _object(type(key).__qualname__, [_part(value)[0] for value in content])
    raise InvalidKeyError(
        "KEY_TYPE",
        f"{key!r} of type {type(key).__name__} cannot be a key, because it would not be the same key in every process: its class "
        "does not declare the values that identify it. Return these values from the key selector, as a tuple if there are several, "
        f"or make {type(key).__name__} a frozen dataclass, Struct, attrs class or pydantic model. Their fields may be str, int, "
        "float, bytes, tuple, date, UUID, enum or Row.",
    )


def _compared_values(key: Any) -> list[Any] | None:
    """The values by which objects of a class with fields are equal; None for other objects."""
    kind: Any = type(key)
    if is_dataclass(kind):
        return [getattr(key, f.name) for f in fields(kind) if f.compare]
    if isinstance(key, msgspec.Struct):
        return [getattr(key, name) for name in key.__struct_fields__]
    if (attributes := getattr(kind, "__attrs_attrs__", None)) is not None:
        values = ((a.eq_key, getattr(key, a.name)) for a in attributes if a.eq)
        return [value if convert is None else convert(value) for convert, value in values]
    if (names := getattr(kind, "__pydantic_fields__", None)) is not None:
        others = (key.__pydantic_extra__, key.__pydantic_private__)
        return [*(getattr(key, n) for n in names), *(item for more in others for item in sorted((more or {}).items()))]
    return None


def _part(key: Any) -> tuple[Any, bool]:
    """The same for a part of a key, which may be None."""
    return (None, True) if key is None else _canonical(key)


def _number(key: Any) -> tuple[Any, bool]:
    if key != key:
        raise InvalidKeyError(
            "KEY_IS_NAN",
            "The key of an element is NaN, which equals no other key. Filter such elements out before key_by.",
        )
    if key in (math.inf, -math.inf):
        return float(key), type(key) is float
    if key == (integer := int(key)):
        small = -(2**63) <= integer < 2**63
        return integer if small else msgspec.msgpack.Ext(_BIG_INT, b"%x" % integer), type(key) is int
    if (binary := float(key)) == key:
        return binary, type(key) is float
    sign, digits, exponent = key.as_tuple()  # a decimal that equals no float
    text = "".join(map(str, digits))
    return _object("Decimal", [sign, text.rstrip("0"), exponent + len(text) - len(text.rstrip("0"))])


def _object(kind: str, content: Any) -> tuple[Any, bool]:
    return msgspec.msgpack.Ext(_OBJECT, _encode([kind, content])), False


def _from_extension(code: int, data: memoryview) -> Any:
    if code == _BIG_INT:
        return int(bytes(data), 16)
    raise InvalidKeyError(
        "KEY_NOT_PLAIN",
        f"A key with msgpack extension {code} cannot be decoded from its encoding; it is stored as a pickle.",
    )


def _to_tuples(key: Any) -> Any:
    return tuple(_to_tuples(k) for k in key) if isinstance(key, list) else key


def encoded_length(data: bytes, at: int) -> int:
    """Returns the number of bytes of the encoded key at a position.

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


# msgpack codes with a fixed total length, and with a length field of (bytes, extra type byte of extensions).
_FIXED = {0xCA: 5, 0xCB: 9, 0xCC: 2, 0xCD: 3, 0xCE: 5, 0xCF: 9, 0xD0: 2, 0xD1: 3, 0xD2: 5, 0xD3: 9}
_FIXED |= {0xD4: 3, 0xD5: 4, 0xD6: 6, 0xD7: 10, 0xD8: 18}
_COUNTED = {0xC4: (1, 0), 0xC5: (2, 0), 0xC6: (4, 0), 0xC7: (1, 1), 0xC8: (2, 1), 0xC9: (4, 1)}
_COUNTED |= {0xD9: (1, 0), 0xDA: (2, 0), 0xDB: (4, 0)}


def pickle_undecodable(key: Any, decodable: bool) -> bytes:
    """Returns the pickle to store with an encoded key; empty if the key can be decoded from its encoding."""
    return b"" if decodable else dumps(key)


def restore_key(encoded: bytes, pickled: bytes) -> Any:
    """Returns the key of an encoding and the result of `pickle_undecodable`."""
    return pickle.loads(pickled) if pickled else decode_key(encoded)
