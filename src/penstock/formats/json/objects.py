"""JSON schemas for Structs, dataclasses, dicts and other types that msgspec supports."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Generic, TypeVar, overload

import msgspec

from penstock.errors import ConfigError
from penstock.formats.schema import DeserializationSchema, SerializationSchema
from penstock.row import Row
from penstock.types import Types

T = TypeVar("T")


class JsonDeserializationSchema(DeserializationSchema[T], Generic[T]):
    """Deserializes JSON to a type that msgspec supports, such as a Struct, dataclass or TypedDict, or to plain values.

    Unknown fields are skipped, so a Struct with a few fields is the fastest way to read large records. Fields without a default
    are required, and all values must have the declared type.

    >>> class View(msgspec.Struct):
    ...     ad: str
    ...     price: float = 0.0
    >>> JsonDeserializationSchema(View).decode([b'{"ad": "a", "price": 2}', b'{"ad": "b", "page": "p"}'])
    [View(ad='a', price=2.0), View(ad='b', price=0.0)]
    """

    drops_none = False

    @overload
    def __init__(self: JsonDeserializationSchema[Any]) -> None: ...

    @overload
    def __init__(self, type: type[T]) -> None: ...

    @overload
    def __init__(self: JsonDeserializationSchema[Any], type: Any) -> None: ...

    def __init__(self, type: Any = Any) -> None:
        self.output_type = type
        self.output_is_exact = defaults_match_annotations(type)
        _decoder(type)

    def deserialize(self, message: bytes) -> T:
        return self.decode([message])[0]  # type: ignore[return-value]

    def decode(self, messages: Sequence[bytes]) -> list[T | None]:
        # One call per message is as fast as joining messages to lines (docs/decisions/0020-formats.md), and safer.
        decode = _decoder(self.output_type).decode
        return [decode(message) for message in messages]


class JsonSerializationSchema(SerializationSchema[T], Generic[T]):
    """Serializes Structs, dataclasses, rows, dicts and other values that msgspec supports as JSON.

    >>> JsonSerializationSchema().encode([{"a": 1}, Row(b=Row(c=2))])
    [b'{"a":1}', b'{"b":{"c":2}}']
    """

    def serialize(self, element: T) -> bytes:
        return _encoder.encode(element)

    def encode(self, values: list[T]) -> list[bytes]:
        encode = _encoder.encode
        return [encode(value) for value in values]


def defaults_match_annotations(annotation: Any) -> bool:
    """Whether the defaults of a Struct have the annotated types, unlike `x: float = 0`.

    msgspec creates all other values as annotated.
    """
    if not (isinstance(annotation, type) and issubclass(annotation, msgspec.Struct)):
        return False
    return all(
        f.default is msgspec.NODEFAULT or Types.of(f.type).fits([f.default])
        for f in msgspec.structs.fields(annotation)
        if f.default_factory is msgspec.NODEFAULT
    )


_decoders: dict[Any, msgspec.json.Decoder[Any]] = {}


def _decoder(kind: Any) -> msgspec.json.Decoder[Any]:
    """Returns the decoder of a type. Decoders cannot be pickled, and creating one takes longer than decoding a message."""
    if kind not in _decoders:
        try:
            _decoders[kind] = msgspec.json.Decoder(kind)
        except TypeError as error:
            raise ConfigError(
                "JSON_TYPE",
                f"JSON cannot be decoded to {kind!r}: {error}. Use a msgspec Struct, a dataclass, a TypedDict or an annotation "
                "such as dict[str, int].",
            ) from None
    return _decoders[kind]


def _encode_row(value: Any) -> Any:
    if isinstance(value, Row):
        return value.as_dict() if value._fields is not None else list(value)
    raise TypeError(f"{value!r:.80} is a {type(value).__name__}, which cannot be written as JSON")


_encoder = msgspec.json.Encoder(enc_hook=_encode_row, decimal_format="number")
