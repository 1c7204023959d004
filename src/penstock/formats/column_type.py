"""Resolves the type arguments of formats: TypeInformation, Python types, or data types of the Table API."""

from __future__ import annotations

from typing import Any

from penstock.types import TypeInformation, type_information


def column_type(argument: Any) -> TypeInformation:
    """Returns the TypeInformation of a type argument.

    >>> from penstock.types import Types
    >>> column_type(Types.INT()), column_type(int)
    (Integer, PythonTypeInfo<int>)
    """
    type_info = getattr(argument, "type_info", None)  # of a data type of the Table API
    return type_info if isinstance(type_info, TypeInformation) else type_information(argument)
