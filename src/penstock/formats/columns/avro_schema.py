"""The Avro schema of a table, as Flink derives it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from penstock.errors import ConfigError
from penstock.types.logical.kinds import (
    INT,
    ArrayType,
    BinaryType,
    BooleanType,
    CharType,
    DateType,
    DecimalType,
    Field,
    FloatType,
    IntegerType,
    LogicalType,
    MapType,
    MultisetType,
    RowType,
    TimestampType,
    TimeType,
)

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_RECORD = "org.apache.flink.avro.generated.record"


def avro_schema(fields: Sequence[Field], legacy: bool = True, name: str = _RECORD) -> dict[str, Any]:
    """Returns the schema of records with some fields.

    `legacy`: TIMESTAMP is an instant in Avro, and there is no TIMESTAMP_LTZ, as in the first versions of Flink's format.

    >>> avro_schema([Field("a", INT.with_nullable(False))])["fields"]
    [{'name': 'a', 'type': 'int'}]
    """
    return {
        "type": "record",
        "name": name,
        "fields": [_field(field, f"{name}_{field.name}", legacy) for field in fields],
    }


def _field(field: Field, name: str, legacy: bool) -> dict[str, Any]:
    if not _NAME.fullmatch(field.name):
        raise ConfigError(
            "AVRO_SCHEMA", f"Column '{field.name}' cannot be in an Avro schema. Names consist of a-z, A-Z, 0-9 and '_'."
        )
    schema = _schema(field.type, name, legacy)
    return {"name": field.name, "type": schema} | ({"default": None} if field.type.nullable else {})


def _schema(type_: LogicalType, name: str, legacy: bool) -> Any:
    plain = _plain(type_, name, legacy)
    return ["null", plain] if type_.nullable else plain


def _plain(type_: LogicalType, name: str, legacy: bool) -> Any:
    match type_:
        case BooleanType():
            return "boolean"
        case IntegerType():
            return "long" if type_.bits == 64 else "int"
        case FloatType():
            return "float" if type_.bits == 32 else "double"
        case CharType():
            return "string"
        case BinaryType():
            return "bytes"
        case DecimalType():
            return {"type": "bytes", "logicalType": "decimal", "precision": type_.precision, "scale": type_.scale}
        case DateType():
            return {"type": "int", "logicalType": "date"}
        case TimeType():
            if type_.precision > 3:
                raise _unsupported(type_, "the precision of a time must be at most 3")
            return {"type": "int", "logicalType": "time-millis"}
        case TimestampType():
            return {"type": "long", "logicalType": _timestamp(type_, legacy)}
        case ArrayType():
            return {"type": "array", "items": _schema(type_.element, name, legacy)}
        case MapType() | MultisetType():
            key = type_.key if isinstance(type_, MapType) else type_.element
            if not isinstance(key, CharType):
                raise _unsupported(type_, "the keys of a map must be text")
            value = type_.value if isinstance(type_, MapType) else INT
            return {"type": "map", "values": _schema(value, name, legacy)}
        case RowType():
            return avro_schema(type_.fields, legacy, name)
    raise _unsupported(type_, "it has no counterpart")


def _timestamp(type_: TimestampType, legacy: bool) -> str:
    if legacy and type_.local:
        raise _unsupported(type_, "set 'avro.timestamp_mapping.legacy' to false")
    if type_.precision > (3 if legacy else 6):
        raise _unsupported(type_, f"the precision of a timestamp must be at most {3 if legacy else 6}")
    unit = "millis" if type_.precision <= 3 else "micros"
    return f"timestamp-{unit}" if legacy or type_.local else f"local-timestamp-{unit}"


def _unsupported(type_: LogicalType, reason: str) -> ConfigError:
    return ConfigError("AVRO_SCHEMA", f"Avro does not support the type {type_}: {reason}.")


def without_logical_types(schema: Any) -> Any:
    """Returns a schema whose dates, times and decimals are plain numbers and bytes, which convert to columns exactly."""
    if isinstance(schema, list):
        return [without_logical_types(part) for part in schema]
    if isinstance(schema, dict):
        return {
            key: without_logical_types(value) if key in ("type", "items", "values", "fields") else value
            for key, value in schema.items()
            if key not in ("logicalType", "precision", "scale")
        }
    return schema
