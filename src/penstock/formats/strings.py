"""Schemas of strings and raw bytes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from penstock.errors import ConfigError
from penstock.formats.charset import resolve_charset
from penstock.formats.schema import DeserializationSchema, SerializationSchema


class SimpleStringSchema(DeserializationSchema[str], SerializationSchema[str]):
    """Serializes and deserializes strings, in UTF-8 by default.

    >>> SimpleStringSchema().decode([b"caf\\xc3\\xa9"]), SimpleStringSchema("ISO-8859-1").encode(["café"])
    (['café'], [b'caf\\xe9'])
    """

    output_type = str
    output_is_exact = True
    drops_none = False

    def __init__(self, charset: str = "UTF-8") -> None:
        self._charset = resolve_charset(charset)

    def deserialize(self, message: bytes) -> str:
        return str(message, self._charset)

    def decode(self, messages: Sequence[bytes]) -> list[str | None]:
        charset = self._charset
        return [str(message, charset) for message in messages]

    def serialize(self, element: str) -> bytes:
        return self.encode([element])[0]

    def encode(self, values: list[str]) -> list[bytes]:
        charset = self._charset
        try:
            return [value.encode(charset) for value in values]
        except AttributeError:
            elements: list[Any] = list(values)
            wrong = next(value for value in elements if not isinstance(value, str))
            raise ConfigError(
                "NOT_TEXT",
                f"SimpleStringSchema got {wrong!r:.80}, a {type(wrong).__name__}; expected a str. Map the elements to str before "
                "the sink.",
            ) from None


class ByteArraySchema(DeserializationSchema[bytes], SerializationSchema[bytes]):
    """Serializes and deserializes bytes without conversion.

    >>> ByteArraySchema().decode([b"\\x00\\xff"])
    [b'\\x00\\xff']
    """

    output_type = bytes
    output_is_exact = True
    drops_none = False

    def deserialize(self, message: bytes) -> bytes:
        return bytes(message)

    def decode(self, messages: Sequence[bytes]) -> list[bytes | None]:
        return [bytes(message) for message in messages]

    def serialize(self, element: bytes) -> bytes:
        return bytes(element)

    def encode(self, values: list[bytes]) -> list[bytes]:
        return [bytes(value) for value in values]
