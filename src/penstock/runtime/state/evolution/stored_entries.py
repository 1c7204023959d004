"""Rewrites stored entries of a state: finds the value in an entry and replaces it."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import msgspec

from penstock.errors import PenstockError, StateError
from penstock.runtime.failure import short_repr
from penstock.runtime.state.codec import Codec, TypedCodec
from penstock.runtime.state.kinds import value_offset_of

Rewrite = Callable[[bytes], bytes]

_TIMESTAMP = 8  # bytes of the timestamp before values that expire
_untyped = msgspec.msgpack.Decoder().decode


def value_rewriter(convert: Callable[[Any], Any] | None, codec: Codec) -> Rewrite:
    """Returns a function that converts the plain form of a stored value; the codec of the current type checks and writes it."""
    encode_plain = codec.encode_plain if isinstance(codec, TypedCodec) else None

    def rewrite(data: bytes) -> bytes:
        if data[0] == 0 or encode_plain is None:  # a pickle can be read without its type
            return _encode_checked(codec.encode, pickle.loads(memoryview(data)[1:]))
        plain = _untyped(data[1:])
        return _encode_checked(encode_plain if convert is None else encode_converted, plain)

    def encode_converted(plain: Any) -> bytes:
        assert encode_plain is not None
        assert convert is not None
        return encode_plain(None if plain is None else convert(plain))

    return rewrite


def migration_rewriter(read: Callable[[bytes], Any], migrate: Callable[[Any], Any], codec: Codec) -> Rewrite:
    """The same for a migrate function, which converts Python values."""
    return lambda data: _encode_checked(codec.encode, migrate(read(data)))


def _encode_checked(encode: Callable[[Any], bytes], value: Any) -> bytes:
    try:
        return encode(value)
    except PenstockError:
        raise
    except Exception as error:
        raise StateError(
            "STATE_MIGRATION",
            f"A saved value does not fit the type of the state: {error} (found {short_repr(value)}). "
            "Give the type a migrate function that accepts such values, or change the type back.",
        ) from error


def entry_rewriter(rewrite: Rewrite | None, kind: str, stamped: bool, stamp: int | None, keeps_stamp: bool) -> Rewrite:
    """Returns a function that rewrites the value in the entries of a kind of state.

    `stamped` is true if saved values have a timestamp (of a time to live), `keeps_stamp` if the new ones have. Values that had
    none get `stamp`.
    """
    rewrite_value = rewrite or _identity
    value_offset = value_offset_of(kind)
    new_stamp = b"" if stamp is None else stamp.to_bytes(_TIMESTAMP, "big")

    def rewrite_stamped(data: bytes) -> bytes:
        if not stamped:
            return new_stamp + rewrite_value(data) if keeps_stamp else rewrite_value(data)
        value = rewrite_value(data[_TIMESTAMP:])
        return data[:_TIMESTAMP] + value if keeps_stamp else value

    def rewrite_entry(data: bytes) -> bytes:
        at = value_offset(data)
        return data if at is None else data[:at] + rewrite_stamped(data[at:])

    return rewrite_entry


def _identity(data: bytes) -> bytes:
    return data
