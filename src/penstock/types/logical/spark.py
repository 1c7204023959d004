"""Spark's types as logical types, and back.

A TIMESTAMP of Spark is an instant, TIMESTAMP_LTZ(6); its TIMESTAMP_NTZ is a TIMESTAMP(6).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from penstock.errors import UnsupportedOperation
from penstock.types.logical.kinds import (
    BIGINT,
    BOOLEAN,
    BYTES,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    MAX_LENGTH,
    SMALLINT,
    STRING,
    TINYINT,
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
    VariantType,
)

_SIMPLE: dict[str, LogicalType] = {
    "string": STRING,
    "boolean": BOOLEAN,
    "byte": TINYINT,
    "short": SMALLINT,
    "integer": INT,
    "long": BIGINT,
    "float": FLOAT,
    "double": DOUBLE,
    "binary": BYTES,
    "date": DATE,
    "timestamp": TimestampType(6, local=True),
    "timestamp_ntz": TimestampType(6),
    "variant": VariantType(),
}
_INTEGERS = {8: "TINYINT", 16: "SMALLINT", 32: "INT", 64: "BIGINT"}
_WITH_LENGTH = re.compile(r"(char|varchar|decimal|time)\((\d+)(?:,\s*(-?\d+))?\)")
_LENGTH = "__CHAR_VARCHAR_TYPE_STRING"  # where a schema of Spark keeps the length of a text
MICROSECONDS = 6


def fields_from_spark(schema: dict[str, Any], of: str = "The DataFrame") -> tuple[Field, ...]:
    """Returns the columns of a Spark schema, which is given in its JSON form. `of` says what has the columns, for errors.

    >>> some = {"fields": [{"name": "id", "type": "long", "nullable": False}, {"name": "at", "type": "timestamp_ntz"}]}
    >>> [f"{field.name} {field.type}" for field in fields_from_spark(some)]
    ['id BIGINT NOT NULL', 'at TIMESTAMP(6)']
    """
    return tuple(
        Field(
            field["name"],
            _from_spark(_declared(field), field["name"], of).with_nullable(field.get("nullable", True)),
            (field.get("metadata") or {}).get("comment"),
        )
        for field in schema["fields"]
    )


def _declared(field: dict[str, Any]) -> Any:
    return (field.get("metadata") or {}).get(_LENGTH) or field["type"]


def _from_spark(kind: Any, column: str, of: str) -> LogicalType:
    if isinstance(kind, str):
        if kind in _SIMPLE:
            return _SIMPLE[kind]
        if kind.startswith("string "):  # with a collation
            return STRING
        if match := _WITH_LENGTH.fullmatch(kind):
            name, first = match[1], int(match[2])
            if name == "decimal":
                return DecimalType(first, int(match[3] or 0))
            return TimeType(first) if name == "time" else CharType(first, varying=name == "varchar")
    elif kind["type"] == "struct":
        return RowType(fields_from_spark(kind, of))
    elif kind["type"] == "array":
        element = _from_spark(kind["elementType"], column, of)
        return ArrayType(element.with_nullable(kind.get("containsNull", True)))
    elif kind["type"] == "map":
        value = _from_spark(kind["valueType"], column, of).with_nullable(kind.get("valueContainsNull", True))
        return MapType(_from_spark(kind["keyType"], column, of).with_nullable(False), value)
    elif kind["type"] == "udt":
        return _from_spark(kind["sqlType"], column, of)
    raise UnsupportedOperation(
        "SPARK_TYPE",
        f"{of} has a column '{column}' of the Spark type {kind if isinstance(kind, str) else kind['type']}, which has no SQL type. "
        "Read a view of Spark that casts or leaves out the column.",
    )


def spark_type(type_: LogicalType, column: str, lengths: bool = True) -> str:
    """Returns a type as Spark's SQL writes it. Without `lengths`, texts are STRING.

    >>> spark_type(TimestampType(3, local=True), "ts"), spark_type(ArrayType(CharType(3, varying=False)), "a")
    ('TIMESTAMP', 'ARRAY<CHAR(3)>')
    """
    match type_:
        case BooleanType():
            return "BOOLEAN"
        case IntegerType():
            return _INTEGERS[type_.bits]
        case FloatType():
            return "FLOAT" if type_.bits == 32 else "DOUBLE"
        case DecimalType():
            return f"DECIMAL({type_.precision}, {type_.scale})"
        case CharType():
            if not lengths or (type_.varying and type_.length == MAX_LENGTH):
                return "STRING"
            return f"{'VARCHAR' if type_.varying else 'CHAR'}({type_.length})"
        case BinaryType():
            return "BINARY"
        case DateType():
            return "DATE"
        case TimeType():
            return f"TIME({min(type_.precision, MICROSECONDS)})"
        case TimestampType() if type_.precision <= MICROSECONDS:
            return "TIMESTAMP" if type_.local else "TIMESTAMP_NTZ"
        case VariantType():
            return "VARIANT" if lengths else "STRING"
        case ArrayType():
            return f"ARRAY<{spark_type(type_.element, column, lengths)}>"
        case MultisetType():
            return f"MAP<{spark_type(type_.element, column, lengths)}, INT>"
        case MapType():
            return f"MAP<{spark_type(type_.key, column, lengths)}, {spark_type(type_.value, column, lengths)}>"
        case RowType():
            return f"STRUCT<{_fields(type_.fields, ': ', lengths)}>"
    raise UnsupportedOperation(
        "SPARK_TYPE",
        f"Column '{column}' has the type {type_}, which Spark has no type for. Cast it"
        + (f" to a precision of at most {MICROSECONDS}." if isinstance(type_, TimestampType) else " or leave it out."),
    )


def spark_columns(fields: Sequence[Field], lengths: bool = True) -> str:
    """Returns columns as they are written in CREATE TABLE of Spark.

    >>> spark_columns([Field("id", BIGINT.with_nullable(False)), Field("my name", STRING)])
    '`id` BIGINT NOT NULL, `my name` STRING'
    """
    return _fields(fields, " ", lengths)


def _fields(fields: Sequence[Field], between: str, lengths: bool) -> str:
    return ", ".join(
        f"{quoted_name(f.name)}{between}{spark_type(f.type, f.name, lengths)}"
        + ("" if f.type.nullable or not lengths else " NOT NULL")
        + (f" COMMENT {quoted_text(f.description)}" if f.description and lengths else "")
        for f in fields
    )


def quoted_name(*parts: str) -> str:
    """Returns a name as Spark's SQL writes it.

    >>> quoted_name("lake", "my table")
    '`lake`.`my table`'
    """
    return ".".join(f"`{part.replace('`', '``')}`" for part in parts)


def quoted_text(text: str) -> str:
    r"""Returns a text as Spark's SQL writes it.

    >>> print(quoted_text("it's"))
    'it\'s'
    """
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
