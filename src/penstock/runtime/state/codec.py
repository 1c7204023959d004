"""Codecs: values as bytes. The first byte of each stored value is the version of its format.

Version 0 is a pickle (no declared type). Version 2 is the msgpack encoding of the plain form of a declared type
(`plain_values.py`), checked when it is written. Version 1 was the same for fewer types, without the check. All released versions
can be read.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any, Protocol

import msgspec

from penstock.errors import StateError
from penstock.runtime.pickling import dumps
from penstock.runtime.state.plain_values import PlainForm, plain_form
from penstock.types import TypeInformation

PICKLED = b"\x00"
CHECKED = b"\x02"


class Codec(Protocol):
    """Encodes and decodes the values of one state."""

    schema: str  # compared with the one in the checkpoint when a job is resumed
    immutable: bool  # whether no value can be changed in place

    def encode(self, value: Any) -> bytes: ...
    def decode(self, data: bytes) -> Any: ...


class PickleCodec:
    """Values without a declared type: any Python object, readable only by the same program."""

    schema = "pickle"
    immutable = False

    def encode(self, value: Any) -> bytes:
        try:
            return PICKLED + pickle.dumps(value, 5)
        except Exception:  # not `dumps` at once, since this is called for each value
            return self._encode_by_name(value)

    def _encode_by_name(self, value: Any) -> bytes:
        try:
            return PICKLED + dumps(value)
        except Exception as error:
            raise StateError(
                "STATE_NOT_PICKLABLE",
                f"A value of type {type(value).__name__} cannot be pickled: {error}. Store plain values or objects of classes that "
                "the program defines before it starts. Open connections, files and locks in the open() method of the function.",
            ) from error

    def decode(self, data: bytes) -> Any:
        if data[0] != 0:
            raise _unreadable(data, self.schema)
        return pickle.loads(memoryview(data)[1:])


class TypedCodec:
    """Values of a declared type, as msgpack of their plain form."""

    def __init__(self, type_info: TypeInformation, plain: PlainForm) -> None:
        self.schema = f"msgspec:{type_info.name}"
        self.immutable = plain.immutable
        self._type = type_info
        self._pack, self._unpack = plain.pack, plain.unpack
        self._version_1: tuple[Callable[..., Any], Callable[[Any], Any] | None] | None = None  # created on first use
        self._encode = msgspec.msgpack.Encoder(decimal_format="string").encode
        try:
            self._decode: Callable[..., Any] = msgspec.msgpack.Decoder(plain.kind | None).decode
        except TypeError as error:
            raise StateError(
                "STATE_TYPE",
                f"{type_info.name} cannot be the declared type of a state: {error}. "
                "Declare a dataclass, a msgspec Struct or a built-in type, or omit the type to have the values pickled.",
            ) from error

    def encode(self, value: Any) -> bytes:
        pack = self._pack
        try:
            data = self._encode(value if pack is None or value is None else pack(value))
            self._decode(data)  # fails here if the value does not fit, not when a later batch reads it
        except Exception:
            data = self._encode_converted(value)
        return CHECKED + data

    def encode_plain(self, plain: Any) -> bytes:
        """Encodes a plain form, after decoding it with the type, which checks and normalises it."""
        return CHECKED + self._encode(self._decode(self._encode(plain)))

    def from_plain(self, plain: Any) -> Any:
        """Returns the value of a plain form."""
        checked, unpack = self._decode(self._encode(plain)), self._unpack
        return checked if unpack is None or checked is None else unpack(checked)

    def _encode_converted(self, value: Any) -> bytes:
        """Encodes a value of another type, if the declared type can convert it."""
        try:
            value = self._type.convert(value)
            data = self._encode(value if self._pack is None else self._pack(value))
            self._decode(data)
        except Exception as error:
            raise StateError(
                "STATE_VALUE",
                f"A value does not fit the declared type {self._type.name}: {error} (found {_short_repr(value)}). "
                "Change the value or the declared type. The batch was not committed.",
            ) from error
        return data

    def decode(self, data: bytes) -> Any:
        version = data[0]
        if version == 2:
            plain = self._decode(data[1:])  # copies, since msgspec is slower with a view unless values are large
            unpack = self._unpack
            return plain if unpack is None or plain is None else unpack(plain)
        if version == 1:  # not checked when it was written
            return self._decode_version_1(data)
        if version == 0:  # written before the type was declared
            return pickle.loads(memoryview(data)[1:])
        raise _unreadable(data, self.schema)

    def _decode_version_1(self, data: bytes) -> Any:
        if self._version_1 is None:
            plain = plain_form(self._type, version=1)
            assert plain is not None
            self._version_1 = (msgspec.msgpack.Decoder(plain.kind | None).decode, plain.unpack)
        decode, unpack = self._version_1
        value = decode(memoryview(data)[1:])
        return value if unpack is None or value is None else unpack(value)


def codec_of(type_info: TypeInformation) -> Codec:
    """Returns the codec of a declared or undeclared type."""
    plain = plain_form(type_info) if type_info.declared else None
    return PickleCodec() if plain is None else TypedCodec(type_info, plain)


class TtlCodec:
    """Pairs of (timestamp, value) for state with a time to live: eight bytes of timestamp before the value."""

    def __init__(self, inner: Codec) -> None:
        self._inner = inner
        self.immutable = inner.immutable
        self.schema = f"ttl:{inner.schema}"

    def encode(self, value: tuple[int, Any]) -> bytes:
        return value[0].to_bytes(8, "big") + self._inner.encode(value[1])

    def decode(self, data: bytes) -> tuple[int, Any]:
        return int.from_bytes(data[:8], "big"), self._inner.decode(data[8:])

    @staticmethod
    def timestamp_of(data: bytes) -> int:
        return int.from_bytes(data[:8], "big")


def _unreadable(data: bytes, schema: str) -> StateError:
    return StateError(
        "STATE_FORMAT",
        f"A stored value has format {data[0]}, which cannot be read as {schema}. It was written by another version of the "
        "program or of Penstock. Resume with that version.",
    )


_IMMUTABLE = frozenset({str, int, float, bool, bytes, type(None), complex})


def _short_repr(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 200 else text[:200] + "..."


def is_immutable(value: Any) -> bool:
    """Whether a value cannot have been changed in place.

    >>> is_immutable((1, ("a", 2))), is_immutable([1])
    (True, False)
    """
    kind = type(value)
    if kind is tuple:
        return _IMMUTABLE.issuperset(map(type, value)) or all(map(is_immutable, value))
    return kind in _IMMUTABLE
