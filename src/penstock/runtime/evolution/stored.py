"""Stored entries of a state, bytes to bytes: finds the value in an entry, and puts another in its place."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import msgspec

from penstock.errors import PenstockError, StateError
from penstock.runtime.codec import Codec, TypedCodec
from penstock.runtime.failure import shortened

Rewrite = Callable[[bytes], bytes]

_BOUNDS = 0xFE  # the first byte of a list's bounds; see `runtime/state/list.py`
_STAMP = 8  # bytes of a time, before values that expire
_untyped = msgspec.msgpack.Decoder().decode


def rewriting(change: Callable[[Any], Any] | None, codec: Codec) -> Rewrite:
    """Rewrites a stored value: its plain form is changed, and the new type's codec checks and writes it."""
    recode = codec.recode if isinstance(codec, TypedCodec) else None

    def rewrite(data: bytes) -> bytes:
        if data[0] == 0 or recode is None:  # a pickle says itself what it is
            return _checked(codec.encode, pickle.loads(memoryview(data)[1:]))
        plain = _untyped(data[1:])
        return _checked(recode, plain if change is None or plain is None else change(plain))

    return rewrite


def rewriting_natural(read: Callable[[bytes], Any], change: Callable[[Any], Any], codec: Codec) -> Rewrite:
    """The same for values that a function makes of Python values."""
    return lambda data: _checked(codec.encode, change(read(data)))


def _checked(encode: Callable[[Any], bytes], value: Any) -> bytes:
    try:
        return encode(value)
    except PenstockError:
        raise
    except Exception as error:
        raise StateError(
            "STATE_MIGRATION",
            f"A saved value does not fit the state's type: {error} (found {shortened(value)}). "
            "Give the type a migrate function that takes such values, or change the type back.",
        ) from error


def in_entry(rewrite: Rewrite | None, kind: str, stamped: bool, stamp: int | None, keeps_stamp: bool) -> Rewrite:
    """The same for the whole entry of a kind of state.

    `stamped` says whether saved values have a time before them; the new ones have if `keeps_stamp`. Values that had none
    get `stamp`.
    """
    inner = rewrite or _same
    new_stamp = b"" if stamp is None else stamp.to_bytes(_STAMP, "big")

    def of_value(data: bytes) -> bytes:
        if not stamped:
            return new_stamp + inner(data) if keeps_stamp else inner(data)
        return data[:_STAMP] + inner(data[_STAMP:]) if keeps_stamp else inner(data[_STAMP:])

    def of_list(data: bytes) -> bytes:
        return data if data[0] == _BOUNDS else of_value(data)

    def of_map(data: bytes) -> bytes:
        end = 4 + int.from_bytes(data[:4], "big")  # behind the map's key, where its bytes do not give it back
        return data[:end] + of_value(data[end:])

    def of_timeline(data: bytes) -> bytes:
        # One entry of a key numbers the others: eight bytes, far from using the first two. A pickle's second byte is 0x80.
        return data if len(data) == 8 and data[:2] == b"\x00\x00" else of_value(data)

    return {"list": of_list, "map": of_map, "timeline": of_timeline}.get(kind, of_value)


def _same(data: bytes) -> bytes:
    return data
