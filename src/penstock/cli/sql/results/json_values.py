"""Values of SQL types as JSON, as Flink's format json writes them."""

from __future__ import annotations

from base64 import b64encode
from typing import Any

import msgspec

from penstock.cli.sql.results.cells import Cells
from penstock.types.logical.kinds import (
    ArrayType,
    BinaryType,
    BooleanType,
    CharType,
    DecimalType,
    FloatType,
    IntegerType,
    LogicalType,
    MapType,
    MultisetType,
    RowType,
)


def json_encoder() -> msgspec.json.Encoder:
    """An encoder that writes decimals as numbers."""
    return msgspec.json.Encoder(decimal_format="number")


def json_value(value: Any, type_: LogicalType, cells: Cells) -> Any:
    """Returns a value that JSON has. Bytes are written in Base64, and times as SQL writes them."""
    if value is None:
        return None
    match type_:
        case BooleanType() | IntegerType() | FloatType() | DecimalType() | CharType():
            return value
        case BinaryType():
            return b64encode(value).decode()
        case ArrayType():
            return [json_value(v, type_.element, cells) for v in value]
        case MapType():
            return {cells.text(k, type_.key): json_value(v, type_.value, cells) for k, v in value.items()}
        case MultisetType():
            return {cells.text(k, type_.element): n for k, n in value.items()}
        case RowType():
            return {f.name: json_value(v, f.type, cells) for f, v in zip(type_.fields, value, strict=True)}
    return cells.text(value, type_)
