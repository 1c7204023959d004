"""Types of elements and state, under PyFlink's names.

A type says which Python values it holds (`python_type`, which msgspec understands) and whether it was declared at all:
values of undeclared types travel and rest as pickles.
"""

from __future__ import annotations

import datetime
import decimal
import types as _types
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class TypeInformation:
    """A type by name and by the Python values that it holds; `python_type` None means undeclared.

    >>> Types.LIST(Types.INT()).python_type
    list[int]
    """

    name: str
    python_type: Any = None

    @property
    def declared(self) -> bool:
        return self.python_type is not None


class Types:
    """PyFlink's catalogue of types."""

    @staticmethod
    def STRING() -> TypeInformation:
        return TypeInformation("STRING", str)

    @staticmethod
    def BYTE() -> TypeInformation:
        return TypeInformation("BYTE", int)

    @staticmethod
    def SHORT() -> TypeInformation:
        return TypeInformation("SHORT", int)

    @staticmethod
    def INT() -> TypeInformation:
        return TypeInformation("INT", int)

    @staticmethod
    def LONG() -> TypeInformation:
        return TypeInformation("LONG", int)

    @staticmethod
    def BIG_INT() -> TypeInformation:
        return TypeInformation("BIG_INT", None)

    @staticmethod
    def BIG_DEC() -> TypeInformation:
        return TypeInformation("BIG_DEC", decimal.Decimal)

    @staticmethod
    def FLOAT() -> TypeInformation:
        return TypeInformation("FLOAT", float)

    @staticmethod
    def DOUBLE() -> TypeInformation:
        return TypeInformation("DOUBLE", float)

    @staticmethod
    def BOOLEAN() -> TypeInformation:
        return TypeInformation("BOOLEAN", bool)

    @staticmethod
    def CHAR() -> TypeInformation:
        return TypeInformation("CHAR", str)

    @staticmethod
    def BYTES() -> TypeInformation:
        return TypeInformation("BYTES", bytes)

    @staticmethod
    def SQL_DATE() -> TypeInformation:
        return TypeInformation("SQL_DATE", datetime.date)

    @staticmethod
    def SQL_TIME() -> TypeInformation:
        return TypeInformation("SQL_TIME", datetime.time)

    @staticmethod
    def SQL_TIMESTAMP() -> TypeInformation:
        return TypeInformation("SQL_TIMESTAMP", datetime.datetime)

    @staticmethod
    def INSTANT() -> TypeInformation:
        return TypeInformation("INSTANT", datetime.datetime)

    @staticmethod
    def LIST(element: TypeInformation) -> TypeInformation:
        return _compound(f"LIST<{element.name}>", (element,), lambda e: list[e])  # type: ignore[valid-type]

    @staticmethod
    def MAP(key: TypeInformation, value: TypeInformation) -> TypeInformation:
        return _compound(f"MAP<{key.name},{value.name}>", (key, value), lambda k, v: dict[k, v])  # type: ignore[valid-type]

    @staticmethod
    def TUPLE(fields: list[TypeInformation]) -> TypeInformation:
        names = ",".join(f.name for f in fields)
        return _compound(f"TUPLE<{names}>", tuple(fields), lambda *t: _types.GenericAlias(tuple, t))

    @staticmethod
    def PICKLED_BYTE_ARRAY() -> TypeInformation:
        return TypeInformation("PICKLED_BYTE_ARRAY", None)

    @staticmethod
    def of(python_type: Any) -> TypeInformation:
        """The type of a dataclass, a msgspec Struct, a NamedTuple or any annotation that msgspec understands."""
        return TypeInformation(getattr(python_type, "__qualname__", str(python_type)), python_type)


def _compound(name: str, parts: tuple[TypeInformation, ...], build: Any) -> TypeInformation:
    if not all(p.declared for p in parts):
        return TypeInformation(name, None)
    return TypeInformation(name, build(*(p.python_type for p in parts)))


def type_information(declared: TypeInformation | type | None) -> TypeInformation:
    """What a user wrote where a type is asked for: a Types.*, a Python type, or nothing.

    >>> type_information(int).name
    'int'
    """
    if isinstance(declared, TypeInformation):
        return declared
    if declared is None or declared is Any:
        return Types.PICKLED_BYTE_ARRAY()
    return Types.of(declared)
