"""The names of the classes of types in PyFlink, as `repr` prints them."""

from __future__ import annotations

from penstock.types.logical import kinds
from penstock.types.logical.kinds import LogicalType

_INTEGERS = {8: "TinyIntType", 16: "SmallIntType", 32: "IntType", 64: "BigIntType"}


def class_name(type_: LogicalType) -> str:
    """Returns the name of the class that PyFlink has for a type.

    >>> class_name(kinds.BIGINT), class_name(kinds.STRING)
    ('BigIntType', 'VarCharType')
    """
    match type_:
        case kinds.IntegerType():
            return _INTEGERS[type_.bits]
        case kinds.FloatType():
            return "FloatType" if type_.bits == 32 else "DoubleType"
        case kinds.CharType():
            return "VarCharType" if type_.varying else "CharType"
        case kinds.BinaryType():
            return "VarBinaryType" if type_.varying else "BinaryType"
        case kinds.TimestampType():
            return "LocalZonedTimestampType" if type_.local else "TimestampType"
    return type(type_).__name__


def class_text(type_: LogicalType) -> str:
    """Returns a type as the call of its class in PyFlink.

    >>> class_text(kinds.ArrayType(kinds.DecimalType(10, 2)))
    'ArrayType(DecimalType(10, 2, true), true)'
    """
    return f"{class_name(type_)}({', '.join([*_parameters(type_), str(type_.nullable).lower()])})"


def _parameters(type_: LogicalType) -> list[str]:
    match type_:
        case kinds.CharType() | kinds.BinaryType():
            return [str(type_.length)]
        case kinds.DecimalType():
            return [str(type_.precision), str(type_.scale)]
        case kinds.TimeType() | kinds.TimestampType():
            return [str(type_.precision)]
        case kinds.ArrayType() | kinds.MultisetType():
            return [class_text(type_.element)]
        case kinds.MapType():
            return [class_text(type_.key), class_text(type_.value)]
        case kinds.RowType():
            fields = (f"RowField({f.name}, {class_text(f.type)}, {f.description or '...'})" for f in type_.fields)
            return [",".join(fields)] if type_.fields else []
    return []
