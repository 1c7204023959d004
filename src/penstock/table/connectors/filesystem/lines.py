"""Reads and writes lines of files as bytes, so that decoders and encoders of columns do the rest."""

from __future__ import annotations

from typing import Any

from penstock.connectors.encoder import Encoder
from penstock.types import TypeInformation


class RawLines:
    """Decodes a block of a file to its lines, as bytes. Empty lines are skipped, as Flink does for JSON.

    >>> RawLines()(b"a\\r\\n\\nb")
    [b'a', b'b']
    """

    output_type = bytes
    output_is_exact = True

    def __call__(self, block: bytes) -> list[bytes]:
        lines = block.split(b"\n")
        if b"\r" in block:
            return [line.removesuffix(b"\r") for line in lines if line]
        return [line for line in lines if line]


class AllLines:
    """The same with empty lines, which are values of the format 'raw'.

    >>> AllLines()(b"a\\n\\nb\\n")
    [b'a', b'', b'b']
    """

    output_type = bytes
    output_is_exact = True
    keeps_empty = True

    def __call__(self, block: bytes) -> list[bytes]:
        lines = block.split(b"\n")
        if lines[-1] == b"":
            lines.pop()
        return [line.removesuffix(b"\r") for line in lines] if b"\r" in block else lines


class RecordLines(Encoder):
    """Writes records that are bytes, each with a line end.

    >>> RecordLines().encode_all([b"a", b"b"], None)
    b'a\\nb\\n'
    """

    def encode(self, values: list[Any], kind: TypeInformation | None) -> list[bytes]:
        return [value + b"\n" for value in values]

    def encode_all(self, values: list[Any], kind: TypeInformation | None) -> bytes:
        return b"\n".join([*values, b""])


class PartitionedLines(Encoder):
    """Writes the second part of pairs of a partition and a record."""

    def encode(self, values: list[Any], kind: TypeInformation | None) -> list[bytes]:
        return [value[1] + b"\n" for value in values]

    def encode_all(self, values: list[Any], kind: TypeInformation | None) -> bytes:
        return b"\n".join([*(value[1] for value in values), b""])
