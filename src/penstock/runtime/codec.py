"""Values as bytes. Each stored value starts with one byte: the version of the schema that wrote it.

Version 0 is a pickle (no declared type), version 1 is msgpack of a declared type. A version that was ever released
keeps its reader here.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any, Protocol, get_args, get_origin

import msgspec

from penstock.errors import StateError
from penstock.types import TypeInformation

PICKLED = b"\x00"
TYPED = b"\x01"


class Codec(Protocol):
    """Encodes and decodes the values of one state."""

    schema: str  # compared with the checkpoint's when a job is resumed
    immutable: bool  # no value can be changed in place

    def encode(self, value: Any) -> bytes: ...
    def decode(self, data: bytes) -> Any: ...


class PickleCodec:
    """Values with no declared type: any Python object, readable by the same program only."""

    schema = "pickle"
    immutable = False

    def encode(self, value: Any) -> bytes:
        return PICKLED + pickle.dumps(value, 5)

    def decode(self, data: bytes) -> Any:
        if data[0] != 0:
            raise _unreadable(data, self.schema)
        return pickle.loads(memoryview(data)[1:])


class TypedCodec:
    """Values of a declared type, as msgpack by field name."""

    def __init__(self, type_info: TypeInformation) -> None:
        self.schema = f"msgspec:{type_info.name}"
        self.immutable = _is_immutable_type(type_info.python_type)
        self._encode = msgspec.msgpack.Encoder(decimal_format="string").encode
        try:
            self._decode: Callable[..., Any] = msgspec.msgpack.Decoder(type_info.python_type).decode
        except TypeError as error:
            raise StateError(
                "STATE_TYPE",
                f"{type_info.name} cannot be a state's declared type: {error}. "
                "Declare a dataclass, a msgspec Struct or a built-in type, or leave the type out to have values pickled.",
            ) from error

    def encode(self, value: Any) -> bytes:
        try:
            return TYPED + self._encode(value)
        except (TypeError, OverflowError) as error:
            raise StateError(
                "STATE_VALUE", f"{value!r} does not fit the declared type {self.schema}: {error}."
            ) from error

    def decode(self, data: bytes) -> Any:
        if data[0] == 1:
            return self._decode(memoryview(data)[1:])
        if data[0] == 0:  # written before the type was declared
            return pickle.loads(memoryview(data)[1:])
        raise _unreadable(data, self.schema)


def codec_of(type_info: TypeInformation) -> Codec:
    """The codec of a declared or undeclared type."""
    return TypedCodec(type_info) if type_info.declared else PickleCodec()


class StampedCodec:
    """Pairs of (time, value): eight bytes of time before the value. For state with a time to live."""

    def __init__(self, inner: Codec) -> None:
        self._inner = inner
        self.immutable = inner.immutable
        self.schema = f"ttl:{inner.schema}"

    def encode(self, value: tuple[int, Any]) -> bytes:
        return value[0].to_bytes(8, "big") + self._inner.encode(value[1])

    def decode(self, data: bytes) -> tuple[int, Any]:
        return int.from_bytes(data[:8], "big"), self._inner.decode(data[8:])

    @staticmethod
    def stamp_of(data: bytes) -> int:
        return int.from_bytes(data[:8], "big")


def _unreadable(data: bytes, schema: str) -> StateError:
    return StateError(
        "STATE_FORMAT",
        f"A stored value has format {data[0]}, and this state is read as {schema}. "
        "It was written by another version of the program or of Penstock; resume with that one.",
    )


_IMMUTABLE = frozenset({str, int, float, bool, bytes, type(None), complex})


def _is_immutable_type(declared: Any) -> bool:
    """Whether all values of a declared type are immutable: plain ones, and tuples of such."""
    if declared in _IMMUTABLE:
        return True
    return get_origin(declared) is tuple and all(_is_immutable_type(a) for a in get_args(declared) if a is not ...)


def is_immutable(value: Any) -> bool:
    """Whether a value certainly cannot have been changed in place.

    >>> is_immutable((1, "a")), is_immutable([1])
    (True, False)
    """
    kind = type(value)
    if kind in _IMMUTABLE:
        return True
    return kind is tuple and all(type(v) in _IMMUTABLE for v in value)
