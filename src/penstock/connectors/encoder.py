"""Encoders of the file sink."""

from __future__ import annotations

from typing import Any

import msgspec

from penstock.formats.charset import resolve_charset
from penstock.types import TypeInformation
from penstock.types.flink_text import flink_formatter


class Encoder:
    """Encodes elements as bytes of a file. Subclasses can write any format in which elements simply follow each other."""

    def encode(self, values: list[Any], kind: TypeInformation | None) -> list[bytes]:
        """Returns the bytes of each element. `kind` is the declared type of the elements, if there is one."""
        raise NotImplementedError

    def encode_all(self, values: list[Any], kind: TypeInformation | None) -> bytes:
        """Returns the bytes of all elements together. Override it if the format has a faster way."""
        return b"".join(self.encode(values, kind))

    @staticmethod
    def simple_string_encoder(charset_name: str = "UTF-8") -> Encoder:
        """Returns an encoder that writes one line per element, in Flink's format if the type is declared, else as `str`.

        >>> Encoder.simple_string_encoder().encode([("a", 1), "b"], None)
        [b"('a', 1)\\n", b'b\\n']
        """
        return _Lines(resolve_charset(charset_name))

    @staticmethod
    def json_lines() -> Encoder:
        """Returns an encoder that writes one line of JSON per element.

        >>> Encoder.json_lines().encode([{"a": 1}], None)
        [b'{"a":1}\\n']
        """
        return _JsonLines()


class _Lines(Encoder):
    def __init__(self, charset: str) -> None:
        self._charset = charset

    def encode(self, values: list[Any], kind: TypeInformation | None) -> list[bytes]:
        text = str if kind is None else flink_formatter(kind)
        charset = self._charset
        return [f"{text(value)}\n".encode(charset) for value in values]


class _JsonLines(Encoder):
    def encode(self, values: list[Any], kind: TypeInformation | None) -> list[bytes]:
        encode = msgspec.json.Encoder().encode
        return [encode(value) + b"\n" for value in values]

    def encode_all(self, values: list[Any], kind: TypeInformation | None) -> bytes:
        return msgspec.json.Encoder().encode_lines(values)
