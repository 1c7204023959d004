"""How the bytes of lines become elements."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import IO, Any

import msgspec

from penstock.errors import UnsupportedOperation
from penstock.formats.bulk import BulkFormat
from penstock.formats.charset import known_charset
from penstock.formats.json_schema import defaults_fit
from penstock.formats.schema import DeserializationSchema

Decoder = Callable[[bytes], list[Any]]  # whole lines in, one value per line that is not empty out


class StreamFormat:
    """How the bytes of whole lines become elements: by a decoder of blocks of lines, or by a schema of single ones."""

    def __init__(self, decode: Decoder | DeserializationSchema[Any]) -> None:
        self.decode = decode

    @staticmethod
    def text_line_format(charset_name: str = "UTF-8") -> StreamFormat:
        """Each line is an element, empty ones too."""
        return StreamFormat(TextLines(charset_name))

    @staticmethod
    def json_line_format(type: Any = Any) -> StreamFormat:
        """Each line is JSON, decoded to plain values or to a type that msgspec understands; empty lines are left out."""
        return StreamFormat(JsonLines(type))

    @staticmethod
    def line_format(schema: DeserializationSchema[Any]) -> StreamFormat:
        """Each line that is not empty is a message of a schema, such as a row of CSV."""
        return StreamFormat(schema)


class TextLines:
    """Decodes lines of text; the ends of lines are left out.

    >>> TextLines()(b"a\\r\\n\\nb")
    ['a', '', 'b']
    """

    output_type = str
    output_is_exact = True
    keeps_empty = True

    def __init__(self, charset_name: str = "UTF-8") -> None:
        self._charset = known_charset(charset_name)
        if "\n".encode(self._charset) != b"\n":
            raise UnsupportedOperation(
                "CHARSET",
                f"Text in {charset_name} was asked for, in which the end of a line has more than one byte, so that files cannot be "
                "cut there. Convert the files to UTF-8.",
            )

    def __call__(self, block: bytes) -> list[Any]:
        lines = block.decode(self._charset).split("\n")
        if lines[-1] == "":
            lines.pop()
        return [line.removesuffix("\r") for line in lines] if b"\r" in block else lines


def decode_text(block: bytes) -> list[Any]:
    """Lines as text."""
    return [line for line in block.decode().split("\n") if line]


class JsonLines:
    """Decodes JSON lines in one call."""

    def __init__(self, type: Any = Any) -> None:
        self.output_type = type
        self.output_is_exact = defaults_fit(type)  # all else msgspec makes as it is annotated

    def __call__(self, block: bytes) -> list[Any]:
        return msgspec.json.Decoder(self.output_type).decode_lines(block)


class WholeFile(BulkFormat):
    """Each file is one element: its bytes."""

    output_type = bytes
    output_is_exact = True

    def read(self, file_object: IO[bytes]) -> Iterator[list[Any]]:
        """One element."""
        yield [file_object.read()]
