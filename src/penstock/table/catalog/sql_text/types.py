"""The text of types in stored statements, which names lengths and time zones in full."""

from __future__ import annotations

from penstock.table.catalog.sql_text.expressions import name_text
from penstock.types.logical.kinds import (
    ArrayType,
    BinaryType,
    CharType,
    LogicalType,
    MapType,
    MultisetType,
    RowType,
    TimestampType,
)
from penstock.types.logical.text import bare


def stored_type(type_: LogicalType) -> str:
    """Returns the text of a type as SHOW CREATE TABLE shows it.

    >>> from penstock.types.logical.kinds import STRING
    >>> stored_type(ArrayType(STRING)), stored_type(TimestampType(3, local=True, nullable=False))
    ('ARRAY<VARCHAR(2147483647)>', 'TIMESTAMP(3) WITH LOCAL TIME ZONE NOT NULL')
    """
    return _bare(type_) + ("" if type_.nullable else " NOT NULL")


def _bare(type_: LogicalType) -> str:
    match type_:
        case CharType(varying=True):
            return f"VARCHAR({type_.length})"
        case BinaryType(varying=True):
            return f"VARBINARY({type_.length})"
        case TimestampType(local=True):
            return f"TIMESTAMP({type_.precision}) WITH LOCAL TIME ZONE"
        case ArrayType():
            return f"ARRAY<{stored_type(type_.element)}>"
        case MultisetType():
            return f"MULTISET<{stored_type(type_.element)}>"
        case MapType():
            return f"MAP<{stored_type(type_.key)}, {stored_type(type_.value)}>"
        case RowType():
            return f"ROW<{', '.join(f'{name_text(f.name)} {stored_type(f.type)}' for f in type_.fields)}>"
    return bare(type_)
