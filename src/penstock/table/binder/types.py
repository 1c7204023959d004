"""Data types as written, resolved to logical types."""

from __future__ import annotations

from penstock.errors import SqlValidationError
from penstock.table.dialect.data_type import SqlType
from penstock.types.logical.kinds import (
    BIGINT,
    BOOLEAN,
    BYTES,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    MAX_LENGTH,
    MAX_PRECISION,
    MILLISECONDS,
    MONTHS,
    SMALLINT,
    STRING,
    TINYINT,
    ArrayType,
    BinaryType,
    BitmapType,
    CharType,
    DecimalType,
    Field,
    LogicalType,
    MapType,
    MultisetType,
    RawType,
    RowType,
    TimestampType,
    TimeType,
    VariantType,
)

_PLAIN: dict[str, LogicalType] = {
    "BOOLEAN": BOOLEAN,
    "TINYINT": TINYINT,
    "SMALLINT": SMALLINT,
    "INT": INT,
    "BIGINT": BIGINT,
    "FLOAT": FLOAT,
    "REAL": FLOAT,
    "DOUBLE": DOUBLE,
    "STRING": STRING,
    "BYTES": BYTES,
    "DATE": DATE,
    "VARIANT": VariantType(),
    "BITMAP": BitmapType(),
}


def resolve_type(written: SqlType) -> LogicalType:
    """Returns the logical type of a type as it was written. It is nullable unless NOT NULL was written.

    >>> print(resolve_type(SqlType("DECIMAL", (5, 2), nullable=False)))
    DECIMAL(5, 2) NOT NULL
    """
    found = _resolved(written)
    return found.with_nullable(written.nullable is not False)


def _number(written: SqlType, position: int, default: int, low: int, high: int, what: str) -> int:
    value = written.arguments[position] if position < len(written.arguments) else default
    if not isinstance(value, int) or not low <= value <= high:
        raise SqlValidationError(
            "SQL_TYPE",
            f"{written}: the {what} must be from {low} to {high}, not {value}.",
            written.line,
            written.column,
        )
    return value


def _resolved(written: SqlType) -> LogicalType:
    name = written.name
    if name in _PLAIN:
        return _PLAIN[name]
    children = [resolve_type(child.type) for child in written.children]
    match name:
        case "DECIMAL":
            precision = _number(written, 0, 10, 1, MAX_PRECISION, "precision")
            return DecimalType(precision, _number(written, 1, 0, 0, precision, "scale"))
        case "CHAR" | "VARCHAR":
            # VARCHAR without a length is STRING in SQL, and CHAR is CHAR(1).
            default = MAX_LENGTH if name == "VARCHAR" else 1
            return CharType(_number(written, 0, default, 1, MAX_LENGTH, "length"), varying=name == "VARCHAR")
        case "BINARY" | "VARBINARY":
            default = MAX_LENGTH if name == "VARBINARY" else 1
            return BinaryType(_number(written, 0, default, 1, MAX_LENGTH, "length"), varying=name == "VARBINARY")
        case "TIME":
            # Flink keeps milliseconds, whatever was written.
            return TimeType(min(3, _number(written, 0, 0, 0, 9, "precision")))
        case "TIMESTAMP" | "TIMESTAMP_LTZ":
            return TimestampType(_number(written, 0, 6, 0, 9, "precision"), local=name == "TIMESTAMP_LTZ")
        case "INTERVAL":
            assert written.qualifier is not None
            return MONTHS if written.qualifier.start in ("YEAR", "QUARTER", "MONTH") else MILLISECONDS
        case "ARRAY":
            return ArrayType(children[0])
        case "MULTISET":
            return MultisetType(children[0])
        case "MAP":
            return MapType(children[0], children[1])
        case "ROW" | "STRUCTURED":
            fields = [
                Field(c.name or f"f{i}", t, c.comment)
                for i, (c, t) in enumerate(zip(written.children, children, strict=True))
            ]
            names = [field.name for field in fields]
            twice = next((n for n in names if names.count(n) > 1), None)
            if twice is not None:
                raise SqlValidationError(
                    "SQL_TYPE", f"{written} has the field '{twice}' twice.", written.line, written.column
                )
            return RowType(tuple(fields))
        case "RAW":
            return RawType(str(written.arguments[0]) if written.arguments else "?")
    raise SqlValidationError("SQL_TYPE", f"{written} is not a type that tables support.", written.line, written.column)
