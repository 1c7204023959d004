"""Codecs: values as bytes. The first byte of each stored value is the version of its format.

Version 0 is a pickle (no declared type). Version 2 is the msgpack encoding of the plain form of a declared type
(`plain_values.py`), checked when it is written. Version 1 was the same for fewer types, without the check. All released versions
can be read.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Container
from functools import cached_property
from typing import Any, Protocol

import msgspec

from penstock.errors import StateError
from penstock.runtime.pickling import dumps
from penstock.runtime.state.normal_values import Normalise, compile_function, compile_normal, compile_writer
from penstock.runtime.state.plain_values import PlainForm, plain_form
from penstock.runtime.state.stored_changes import is_unchanged
from penstock.types import Misfit, PythonTypeInfo, TypeInformation, Types

_IMMUTABLE: frozenset[type] = frozenset({str, int, float, bool, bytes, type(None), complex})
_CLASSES: dict[TypeInformation, type] = {Types.STRING(): str, Types.DOUBLE(): float, Types.BOOLEAN(): bool}
PICKLED = b"\x00"
CHECKED = b"\x02"


class Codec(Protocol):
    """Encodes and decodes the values of one state."""

    schema: str  # compared with the one in the checkpoint when a job is resumed
    immutable: bool  # whether no value can be changed in place

    @property
    def normal_classes(self) -> Container[type]:
        """Classes whose objects are always in normal form."""
        ...

    @property
    def normal(self) -> Normalise:
        """Returns a value as it will be read after a restore: the same object, or a converted one. Raises STATE_VALUE."""
        ...

    def writer(self, parameters: str, body: str, names: dict[str, Any]) -> Callable[..., Any]:
        """Compiles a function with a parameter `value`, which is in normal form when the body runs."""
        ...

    def encode(self, value: Any) -> bytes: ...

    @property
    def encode_normal(self) -> Callable[[Any], bytes]:
        """Encodes a value that `normal` returned. If it cannot have been changed since, it is not checked again."""
        ...

    def decode(self, data: bytes) -> Any: ...


class PickleCodec:
    """Values without a declared type: any Python object, readable only by the same program."""

    schema = "pickle"
    immutable = False

    def __init__(self, state: str = "") -> None:
        self._state = state
        self.normal_classes: set[type] = set(_IMMUTABLE)  # and those of which a value was pickled

    def normal(self, value: Any) -> Any:
        """Returns the value. Raises STATE_NOT_PICKLABLE for the first value of a class that cannot be pickled."""
        if type(value) not in self.normal_classes:
            self.encode(value)
            self.normal_classes.add(type(value))
        return value

    def writer(self, parameters: str, body: str, names: dict[str, Any]) -> Callable[..., Any]:
        names = {**names, "picklable": self.normal_classes, "convert": self.normal}
        return compile_function("type(value) in picklable", parameters, body, names)

    def encode_normal(self, value: Any) -> bytes:
        return self.encode(value)

    def encode(self, value: Any) -> bytes:
        try:
            return PICKLED + pickle.dumps(value, 5)
        except Exception:  # not `dumps` at once, since this is called for each value
            return self._encode_by_name(value)

    def _encode_by_name(self, value: Any) -> bytes:
        try:
            return PICKLED + dumps(value)
        except Exception as error:
            raise _of_state(
                self._state,
                StateError(
                    "STATE_NOT_PICKLABLE",
                    f"A value of type {type(value).__name__} cannot be pickled: {error}. Store plain values or objects of "
                    "classes that the program defines before it starts. Open connections, files and locks in the open() method "
                    "of the function.",
                ),
            ) from error

    def decode(self, data: bytes) -> Any:
        if data[0] != 0:
            raise _unreadable(data, self.schema)
        return pickle.loads(memoryview(data)[1:])


class TypedCodec:
    """Values of a declared type, as msgpack of their plain form."""

    def __init__(self, type_info: TypeInformation, plain: PlainForm, state: str = "") -> None:
        self._state = state
        self.schema = f"msgspec:{type_info.name}"
        self.immutable = plain.immutable
        self._type = type_info
        self._pack, self._unpack = plain.pack, plain.unpack
        self._version_1: tuple[Callable[..., Any], Callable[[Any], Any] | None] | None = None  # created on first use
        self._encode = msgspec.msgpack.Encoder(decimal_format="string", enc_hook=_plain_item).encode
        self.encode_normal = self._encoder_of_normal()
        try:
            self._decode: Callable[..., Any] = msgspec.msgpack.Decoder(plain.kind | None).decode
        except TypeError as error:
            raise StateError(
                "STATE_TYPE",
                f"{type_info.name} cannot be the declared type of a state: {error}. "
                "Declare a dataclass, a msgspec Struct or a built-in type, or omit the type to have the values pickled.",
            ) from error

    @cached_property
    def normal_classes(self) -> frozenset[type]:
        kind = self._type.python_type if isinstance(self._type, PythonTypeInfo) else _CLASSES.get(self._type)
        return frozenset({kind}) if kind in (str, float, bool, bytes) else frozenset()

    @cached_property
    def normal(self) -> Normalise:
        return compile_normal(self._type, self._normalise)

    def writer(self, parameters: str, body: str, names: dict[str, Any]) -> Callable[..., Any]:
        return compile_writer(self._type, self._normalise, parameters, body, names)

    def _normalise(self, value: Any) -> Any:
        """Returns the value as it is read after a restore."""
        if value is None:
            return None
        value, data = self._convert(value)
        stored = self._restore(self._decode(data))
        try:
            return value if is_unchanged(value, stored) else stored
        except Misfit as misfit:
            raise self._misfit(value, misfit) from None

    def encode(self, value: Any) -> bytes:
        pack = self._pack
        try:
            data = self._encode(value if pack is None or value is None else pack(value))
            self._decode(data)  # fails here if the value does not fit, not when a later batch reads it
        except Exception:
            data = self._convert(value)[1]
        return CHECKED + data

    def _encoder_of_normal(self) -> Callable[[Any], bytes]:
        """Returns the function that encodes values that `normal` returned."""
        if not self.immutable:
            return self.encode
        pack, to_msgpack, encode = self._pack, self._encode, self.encode

        def encode_normal(value: Any) -> bytes:
            try:
                return CHECKED + to_msgpack(value if pack is None or value is None else pack(value))
            except Exception:  # text that is not valid Unicode, which `normal` does not look for
                return encode(value)

        return encode_normal

    def encode_plain(self, plain: Any) -> bytes:
        """Encodes a plain form, after decoding it with the type, which checks and normalises it."""
        return CHECKED + self._encode(self._decode(self._encode(plain)))

    def from_plain(self, plain: Any) -> Any:
        """Returns the value of a plain form."""
        return self._restore(self._decode(self._encode(plain)))

    def _restore(self, plain: Any) -> Any:
        unpack = self._unpack
        return plain if unpack is None or plain is None else unpack(plain)

    def _convert(self, value: Any) -> tuple[Any, bytes]:
        """Encodes a value, after converting it if it is of another type. Returns the value that was encoded."""
        try:
            return value, self._check(value)
        except Exception:
            found = value
        try:
            value = self._type.convert(_named_tuple(found, self._type))
            return value, self._check(value)
        except Exception as error:
            raise self._misfit(found, error) from error

    def _check(self, value: Any) -> bytes:
        """Encodes a value. Raises an error now if it does not fit, not when a later batch reads it."""
        pack = self._pack
        data = self._encode(value if pack is None else pack(value))
        self._decode(data)
        return data

    def _misfit(self, value: Any, error: Exception) -> StateError:
        return _of_state(
            self._state,
            StateError(
                "STATE_VALUE",
                f"A value does not fit the declared type {self._type.name}: {error} (found {_short_repr(value)}). "
                "Change the value or the declared type. The batch was not committed.",
            ),
        )

    def decode(self, data: bytes) -> Any:
        version = data[0]
        if version == 2:
            plain = self._decode(data[1:])  # copies, since msgspec is slower with a view unless values are large
            unpack = self._unpack
            return plain if unpack is None or plain is None else unpack(plain)
        if version == 1:  # not checked when it was written
            return self._decode_version_1(data)
        if version == 0:  # written before the type was declared
            return self._restore_pickled(pickle.loads(memoryview(data)[1:]))
        raise _unreadable(data, self.schema)

    def _restore_pickled(self, value: Any) -> Any:
        """Returns the value as it is read when it has been written again, or unchanged if the type does not fit it."""
        try:
            return self.normal(value)
        except StateError:
            return value

    def _decode_version_1(self, data: bytes) -> Any:
        if self._version_1 is None:
            plain = plain_form(self._type, version=1)
            assert plain is not None
            self._version_1 = (msgspec.msgpack.Decoder(plain.kind | None).decode, plain.unpack)
        decode, unpack = self._version_1
        value = decode(memoryview(data)[1:])
        return value if unpack is None or value is None else unpack(value)


def codec_of(type_info: TypeInformation, state: str = "") -> Codec:
    """Returns the codec of a declared or undeclared type. Its errors contain the name of the state."""
    plain = plain_form(type_info) if type_info.declared else None
    return PickleCodec(state) if plain is None else TypedCodec(type_info, plain, state)


class TtlCodec:
    """Pairs of (timestamp, value) for state with a time to live: eight bytes of timestamp before the value."""

    normal_classes: frozenset[type] = frozenset()

    def __init__(self, inner: Codec) -> None:
        self._inner = inner
        self.immutable = inner.immutable
        self.schema = f"ttl:{inner.schema}"
        self._normal = inner.normal

    def normal(self, value: tuple[int, Any] | None) -> tuple[int, Any] | None:
        if value is None:
            return None
        normal = self._normal(value[1])
        return value if normal is value[1] else (value[0], normal)

    def writer(self, parameters: str, body: str, names: dict[str, Any]) -> Callable[..., Any]:
        return compile_function(None, parameters, body, {**names, "convert": self.normal})

    def encode_normal(self, value: tuple[int, Any]) -> bytes:
        return value[0].to_bytes(8, "big") + self._inner.encode_normal(value[1])

    def encode(self, value: tuple[int, Any]) -> bytes:
        return value[0].to_bytes(8, "big") + self._inner.encode(value[1])

    def decode(self, data: bytes) -> tuple[int, Any]:
        return int.from_bytes(data[:8], "big"), self._inner.decode(data[8:])

    @staticmethod
    def timestamp_of(data: bytes) -> int:
        return int.from_bytes(data[:8], "big")


def _of_state(state: str, error: StateError) -> StateError:
    """Returns the error with the name of the state, if it is known."""
    return StateError(error.code, f"State '{state}': {error.text}") if state else error


def _unreadable(data: bytes, schema: str) -> StateError:
    return StateError(
        "STATE_FORMAT",
        f"A stored value has format {data[0]}, which cannot be read as {schema}. It was written by another version of the "
        "program or of Penstock. Resume with that version.",
    )


def _named_tuple(value: Any, type_info: TypeInformation) -> Any:
    """Returns the named tuple of a dict of its fields, such as a `migrate` function returns. Returns other values unchanged."""
    kind = type_info.python_type if isinstance(type_info, PythonTypeInfo) else None
    if isinstance(value, dict) and isinstance(kind, type) and issubclass(kind, tuple) and hasattr(kind, "_fields"):
        return kind(**value)
    return value


def _plain_item(value: Any) -> Any:
    """Returns a number, text or Boolean of numpy, or of a subclass of a plain class, as the plain value."""
    if type(value).__module__ == "numpy" and getattr(value, "ndim", None) == 0:
        item = value.item()
        if type(item).__module__ != "numpy":  # the item of a long double is a long double
            return item
    for plain, convert in _PLAIN_CLASSES:
        if isinstance(value, plain):
            return convert(value)
    raise TypeError(f"a {type(value).__name__} cannot be stored as part of this type")


_PLAIN_CLASSES: tuple[tuple[type, Callable[[Any], Any]], ...] = (
    (str, str.__str__),
    (int, int.__int__),
    (float, float.__float__),
    (bytes, bytes),
)


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
