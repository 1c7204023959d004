"""Evaluates expressions that are written as Python code, with the names that a program imports."""

from __future__ import annotations

import datetime
import decimal
from typing import Any

from penstock.table import expressions
from penstock.table.data_types import DataTypes
from penstock.table.expressions import Expression, units

NAMESPACE: dict[str, Any] = {
    **{name: getattr(expressions, name) for name in expressions.__all__},
    **{name: getattr(units, name) for name in vars(units) if name[0].isupper()},
    "DataTypes": DataTypes,
    "datetime": datetime,
    "decimal": decimal,
}


def built(source: str) -> Expression[Any]:
    """Returns the expression of its source, such as "col('a') + 1"."""
    found = eval(source, NAMESPACE)
    assert isinstance(found, Expression)
    return found
