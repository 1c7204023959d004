"""Casts metadata columns to the types that a table declares for them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from penstock.formats.columns.interface import Decoded, Decoder
from penstock.runtime.relational.casts.cast import cast_column
from penstock.runtime.relational.changes import Changes
from penstock.runtime.relational.expressions.frame import Session
from penstock.table.connectors.formats.format import ReadRequest
from penstock.types.logical.kinds import LogicalType, TimestampType
from penstock.types.logical.text import parse_type


def cast_metadata(column: pa.Array, source: LogicalType, target: LogicalType, zone: str) -> pa.Array:
    """Returns a metadata column with the declared type."""
    if plain(source) == plain(target):
        return column
    return cast_column(column, source, target, Session(zone=zone), False)


def plain(type_: LogicalType) -> LogicalType:
    """Returns a type without nullability and time attribute, which do not change its values."""
    if isinstance(type_, TimestampType):
        return TimestampType(type_.precision, type_.local)
    return type_.with_nullable(True)


class CastMetadata:
    """A decoder whose last columns are cast."""

    def __init__(self, decoder: Decoder, types: Sequence[tuple[LogicalType, LogicalType]], zone: str) -> None:
        self.decoder = decoder
        self.types = tuple(types)  # found and declared
        self.zone = zone

    @staticmethod
    def if_needed(decoder: Decoder, request: ReadRequest, known: Mapping[str, str]) -> Decoder:
        """Returns the decoder, with casts if a declared type is another one."""
        types = [(parse_type(known[key]), field.type) for key, field in request.metadata]
        if all(plain(found) == plain(declared) for found, declared in types):
            return decoder
        return CastMetadata(decoder, types, request.zone)

    def decode(self, elements: list[Any]) -> Decoded:
        """Decodes the elements of one chunk."""
        decoded = self.decoder.decode(elements)
        changes = decoded.changes
        first = len(changes.columns) - len(self.types)
        columns = changes.columns[:first] + [
            cast_metadata(column, found, declared, self.zone)
            for column, (found, declared) in zip(changes.columns[first:], self.types, strict=True)
        ]
        return Decoded(Changes(columns, changes.length, changes.kinds), decoded.origins, decoded.bad)
