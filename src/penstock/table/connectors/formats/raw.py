"""The format 'raw'."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from penstock.errors import ConfigError
from penstock.formats.columns.interface import Decoder, Encoder
from penstock.formats.columns.raw import RawValues
from penstock.table.connectors.formats.format import ReadRequest, TableFormat
from penstock.table.connectors.options import Option
from penstock.types.logical.kinds import Field


class RawFormat(TableFormat):
    """The bytes of a record are the value of the only column."""

    name = "raw"
    options = (
        Option("charset", default="UTF-8"),
        Option("endianness", "enum", "big-endian", choices=("big-endian", "little-endian")),
    )

    def decoder(self, request: ReadRequest, values: dict[str, Any]) -> Decoder:
        return _values(request.all_fields, values, bool(request.fields))

    def encoder(self, fields: Sequence[Field], values: dict[str, Any]) -> Encoder:
        return _values(fields, values)


def _values(fields: Sequence[Field], values: dict[str, Any], wanted: bool = True) -> RawValues:
    if len(fields) != 1:
        raise ConfigError(
            "TABLE_FORMAT", f"The 'raw' format only supports single physical column. But the columns are {len(fields)}."
        )
    return RawValues(fields[0], values["charset"], values["endianness"] == "little-endian", wanted)
