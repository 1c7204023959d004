"""Formats that decode lines of files to elements."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import IO, Any

import msgspec

from penstock.errors import UnsupportedOperation
from penstock.formats.bulk import BulkFormat
from penstock.formats.charset import resolve_charset
from penstock.formats.json.objects import defaults_match_annotations
from penstock.formats.schema import DeserializationSchema

Decoder = Callable[[bytes], list[Any]]  # complete lines -> one value per non-empty line


class StreamFormat:
    """Decodes lines to elements, with a decoder of line blocks or a deserialization schema of single lines."""

    def __init__(self, decode: Decoder | DeserializationSchema[Any]) -> None:
        self.decode = decode

    @staticmethod
    def text_line_format(charset_name: str = "UTF-8") -> StreamFormat:
        """Returns a format in which each line is an element, including empty lines."""
        return StreamFormat(TextLines(charset_name))

    @staticmethod
    def json_line_format(type: Any = Any) -> StreamFormat:
        """Returns a format of JSON lines, decoded to plain values or to a type that msgspec supports. Skips empty lines."""
        return StreamFormat(JsonLines(type))

    @staticmethod
    def line_format(schema: DeserializationSchema[Any]) -> StreamFormat:
        """Returns a format that decodes each non-empty line with a deserialization schema, for example a CSV row."""
        return StreamFormat(schema)


class TextLines:
    """Decodes lines of text, without the line endings.

    >>> TextLines()(b"a\\r\\n\\nb")
    ['a', '', 'b']
    """

    output_type = str
    output_is_exact = True
    keeps_empty = True

    def __init__(self, charset_name: str = "UTF-8") -> None:
        self._charset = resolve_charset(charset_name)
        if "\n".encode(self._charset) != b"\n":
            raise UnsupportedOperation(
                "CHARSET",
                f"The charset {charset_name} is not supported for text lines, because its line end has more than one byte and "
                "files could not be split. Convert the files to UTF-8.",
            )

    def __call__(self, block: bytes) -> list[Any]:
        lines = block.decode(self._charset).split("\n")
        if lines[-1] == "":
            lines.pop()
        return [line.removesuffix("\r") for line in lines] if b"\r" in block else lines


def decode_text(block: bytes) -> list[Any]:
    """Decodes non-empty lines of UTF-8 text."""
    return [line for line in block.decode().split("\n") if line]


class JsonLines:
    """Decodes JSON lines to plain values or to a type that msgspec supports."""

    def __init__(self, type: Any = Any) -> None:
        self.output_type = type
        self.output_is_exact = defaults_match_annotations(type)  # msgspec creates all other values as annotated

    def __call__(self, block: bytes) -> list[Any]:
        return msgspec.json.Decoder(self.output_type).decode_lines(block)


class WholeFile(BulkFormat):
    """A format in which each file is one element of type bytes."""

    output_type = bytes
    output_is_exact = True

    def read(self, file_object: IO[bytes]) -> Iterator[list[Any]]:
        """Yields one element."""
        yield [file_object.read()]
