"""Types as formats are given them: Penstock's, a Python class, or a data type of PyFlink's Table API."""

from __future__ import annotations

from typing import Any

from penstock.types import TypeInformation, type_information


def column_type(given: Any) -> TypeInformation:
    """The type that was given.

    >>> from penstock.types import Types
    >>> column_type(Types.INT()), column_type(int)
    (Integer, PythonTypeInfo<int>)
    """
    held = getattr(given, "type_info", None)  # of a data type of the Table API
    return held if isinstance(held, TypeInformation) else type_information(given)
