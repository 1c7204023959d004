"""JSON of any type: Structs, dataclasses, dicts."""

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
    """JSON as objects of a type that msgspec knows: a Struct, a dataclass, a TypedDict; without a type, plain values.

    Fields that the type does not have are skipped, which makes a Struct of a few fields the fastest way to read a large
    record. A field without a default must be there, and what is there must be of its type.

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
        self.output_is_exact = defaults_fit(type)
        _decoder(type)

    def deserialize(self, message: bytes) -> T:
        return self.decode([message])[0]  # type: ignore[return-value]

    def decode(self, messages: Sequence[bytes]) -> list[T | None]:
        # One call per message is as fast as joining them to lines (docs/decisions/0020-formats.md), and cannot mix them up.
        decode = _decoder(self.output_type).decode
        return [decode(message) for message in messages]


class JsonSerializationSchema(SerializationSchema[T], Generic[T]):
    """Structs, dataclasses, rows, dicts and all else that msgspec writes as JSON.

    >>> JsonSerializationSchema().encode([{"a": 1}, Row(b=Row(c=2))])
    [b'{"a":1}', b'{"b":{"c":2}}']
    """

    def serialize(self, element: T) -> bytes:
        return _encoder.encode(element)

    def encode(self, values: list[T]) -> list[bytes]:
        encode = _encoder.encode
        return [encode(value) for value in values]


def defaults_fit(annotation: Any) -> bool:
    """Whether the defaults of a Struct are what its annotations say: `x: float = 0` is not. All else msgspec makes as it
    is annotated.
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
    """One decoder per type and process: it cannot be pickled, and making one takes longer than a message."""
    if kind not in _decoders:
        try:
            _decoders[kind] = msgspec.json.Decoder(kind)
        except TypeError as error:
            raise ConfigError(
                "JSON_TYPE",
                f"JSON cannot be decoded to {kind!r}: {error}. Give a msgspec Struct, a dataclass, a TypedDict or an annotation "
                "such as dict[str, int].",
            ) from None
    return _decoders[kind]


def _plain(value: Any) -> Any:
    if isinstance(value, Row):
        return value.as_dict() if value._fields is not None else list(value)
    raise TypeError(f"{value!r:.80} is a {type(value).__name__}, which has no form in JSON")


_encoder = msgspec.json.Encoder(enc_hook=_plain, decimal_format="number")
