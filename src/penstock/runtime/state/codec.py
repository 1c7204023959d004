"""Values as bytes. Each stored value starts with one byte: the version of the schema that wrote it.

Version 0 is a pickle (no declared type). Version 2 is msgpack of a declared type's plain form (`runtime/plain.py`), checked
when it is written; version 1 was the same for fewer types, and unchecked. A version that was ever released keeps its
reader here.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any, Protocol

import msgspec

from penstock.errors import StateError
from penstock.runtime.plain import Plain, plain_of
from penstock.types import TypeInformation

PICKLED = b"\x00"
CHECKED = b"\x02"


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
        try:
            return PICKLED + pickle.dumps(value, 5)
        except Exception as error:
            raise StateError(
                "STATE_NOT_PICKLABLE",
                f"A {type(value).__name__} was put into it, which cannot be pickled: {error}. Keep plain values or objects of "
                "classes that stand at the top of a module; open connections, files and locks belong into the function's open().",
            ) from error

    def decode(self, data: bytes) -> Any:
        if data[0] != 0:
            raise _unreadable(data, self.schema)
        return pickle.loads(memoryview(data)[1:])


class TypedCodec:
    """Values of a declared type, as msgpack of their plain form."""

    def __init__(self, type_info: TypeInformation, plain: Plain) -> None:
        self.schema = f"msgspec:{type_info.name}"
        self.immutable = plain.immutable
        self._type = type_info
        self._pack, self._unpack = plain.pack, plain.unpack
        self._old: tuple[Callable[..., Any], Callable[[Any], Any] | None] | None = None  # made when it is needed
        self._encode = msgspec.msgpack.Encoder(decimal_format="string").encode
        try:
            self._decode: Callable[..., Any] = msgspec.msgpack.Decoder(plain.kind | None).decode
        except TypeError as error:
            raise StateError(
                "STATE_TYPE",
                f"{type_info.name} cannot be a state's declared type: {error}. "
                "Declare a dataclass, a msgspec Struct or a built-in type, or leave the type out to have values pickled.",
            ) from error

    def encode(self, value: Any) -> bytes:
        pack = self._pack
        try:
            data = self._encode(value if pack is None or value is None else pack(value))
            self._decode(data)  # what does not fit fails here, not when it is read in a later batch
        except Exception:
            data = self._converted(value)
        return CHECKED + data

    def recode(self, plain: Any) -> bytes:
        """Of a plain form made elsewhere: what the type reads in it, written as the type writes it."""
        return CHECKED + self._encode(self._decode(self._encode(plain)))

    def made(self, plain: Any) -> Any:
        """The same as a value."""
        found, unpack = self._decode(self._encode(plain)), self._unpack
        return found if unpack is None or found is None else unpack(found)

    def _converted(self, value: Any) -> bytes:
        """Of a value that is not of the type itself: one that the type makes of it, if it takes it."""
        try:
            value = self._type.convert(value)
            data = self._encode(value if self._pack is None else self._pack(value))
            self._decode(data)
        except Exception as error:
            raise StateError(
                "STATE_VALUE",
                f"A value for a state of type {self._type.name} does not fit it: {error} (found {_shortened(value)}). "
                "Change the value or the declared type; the batch was not committed.",
            ) from error
        return data

    def decode(self, data: bytes) -> Any:
        version = data[0]
        if version == 2:
            plain = self._decode(data[1:])  # of a copy: msgspec is slower with a view, unless values are large
            unpack = self._unpack
            return plain if unpack is None or plain is None else unpack(plain)
        if version == 1:  # was not checked when it was written
            return self._of_version_1(data)
        if version == 0:  # written before the type was declared
            return pickle.loads(memoryview(data)[1:])
        raise _unreadable(data, self.schema)

    def _of_version_1(self, data: bytes) -> Any:
        if self._old is None:
            plain = plain_of(self._type, version=1)
            assert plain is not None
            self._old = (msgspec.msgpack.Decoder(plain.kind | None).decode, plain.unpack)
        decode, unpack = self._old
        value = decode(memoryview(data)[1:])
        return value if unpack is None or value is None else unpack(value)


def codec_of(type_info: TypeInformation) -> Codec:
    """The codec of a declared or undeclared type."""
    plain = plain_of(type_info) if type_info.declared else None
    return PickleCodec() if plain is None else TypedCodec(type_info, plain)


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


def _shortened(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 200 else text[:200] + "..."


def is_immutable(value: Any) -> bool:
    """Whether a value certainly cannot have been changed in place.

    >>> is_immutable((1, ("a", 2))), is_immutable([1])
    (True, False)
    """
    kind = type(value)
    if kind is tuple:
        return _IMMUTABLE.issuperset(map(type, value)) or all(map(is_immutable, value))
    return kind in _IMMUTABLE
