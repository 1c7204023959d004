"""How a file sink writes elements."""

from __future__ import annotations

from typing import Any

import msgspec

from penstock.formats.charset import known_charset
from penstock.types import TypeInformation
from penstock.types.flink_text import flink_text


class Encoder:
    """Turns elements into the bytes of a file. Subclasses may write any format that is a row of elements."""

    def encode(self, values: list[Any], kind: TypeInformation | None) -> list[bytes]:
        """The bytes of each element; `kind` is the type that was declared for them, if one was."""
        raise NotImplementedError

    def encode_all(self, values: list[Any], kind: TypeInformation | None) -> bytes:
        """The bytes of all elements, one after the other; for formats that have a faster way."""
        return b"".join(self.encode(values, kind))

    @staticmethod
    def simple_string_encoder(charset_name: str = "UTF-8") -> Encoder:
        """One line per element: in Flink's form where a type was declared for them, else as `str` gives it.

        >>> Encoder.simple_string_encoder().encode([("a", 1), "b"], None)
        [b"('a', 1)\\n", b'b\\n']
        """
        return _Lines(known_charset(charset_name))

    @staticmethod
    def json_lines() -> Encoder:
        """One line of JSON per element.

        >>> Encoder.json_lines().encode([{"a": 1}], None)
        [b'{"a":1}\\n']
        """
        return _JsonLines()


class _Lines(Encoder):
    def __init__(self, charset: str) -> None:
        self._charset = charset

    def encode(self, values: list[Any], kind: TypeInformation | None) -> list[bytes]:
        text = str if kind is None else flink_text(kind)
        charset = self._charset
        return [f"{text(value)}\n".encode(charset) for value in values]


class _JsonLines(Encoder):
    def encode(self, values: list[Any], kind: TypeInformation | None) -> list[bytes]:
        encode = msgspec.json.Encoder().encode
        return [encode(value) + b"\n" for value in values]

    def encode_all(self, values: list[Any], kind: TypeInformation | None) -> bytes:
        return msgspec.json.Encoder().encode_lines(values)
