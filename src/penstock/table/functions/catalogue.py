"""Finds functions by name. Names are not case-sensitive."""

from __future__ import annotations

import difflib

from penstock.runtime.relational.functions.definition import Function
from penstock.runtime.relational.functions.registry import FUNCTIONS

# Bound by the planner, because they belong to a relation and not to a row.
AGGREGATES = frozenset(
    [
        "COUNT",
        "SUM",
        "SUM0",
        "AVG",
        "MIN",
        "MAX",
        "STDDEV",
        "STDDEV_POP",
        "STDDEV_SAMP",
        "VARIANCE",
        "VAR_POP",
        "VAR_SAMP",
        "COLLECT",
        "FIRST_VALUE",
        "LAST_VALUE",
        "LISTAGG",
        "ARRAY_AGG",
        "JSON_OBJECTAGG",
        "JSON_ARRAYAGG",
        "SINGLE_VALUE",
        "APPROX_COUNT_DISTINCT",
        "PERCENTILE",
        "GROUPING",
        "GROUPING_ID",
        "GROUP_ID",
        "RANK",
        "DENSE_RANK",
        "ROW_NUMBER",
        "CUME_DIST",
        "PERCENT_RANK",
        "NTILE",
        "LEAD",
        "LAG",
        "BITMAP_AND_AGG",
        "BITMAP_AND_CARDINALITY_AGG",
        "BITMAP_BUILD_AGG",
        "BITMAP_BUILD_CARDINALITY_AGG",
        "BITMAP_OR_AGG",
        "BITMAP_OR_CARDINALITY_AGG",
        "BITMAP_XOR_AGG",
        "BITMAP_XOR_CARDINALITY_AGG",
    ]
)
# Operators and special forms have symbols or names that cannot be called.
_NOT_CALLABLE = frozenset(
    [
        "+",
        "-",
        "*",
        "/",
        "%",
        "=",
        "<>",
        "<",
        "<=",
        ">",
        ">=",
        "||",
        "AND",
        "OR",
        "NOT",
        "NEGATE",
        "POSITIVE",
        "CASE",
        "CAST",
        "TRY_CAST",
        "IN",
        "LIKE",
        "SIMILAR",
        "FIELD",
        "ITEM",
        "ARRAY",
        "MAP",
        "ROW",
        "OVERLAPS",
        "IS_NULL",
        "IS_NOT_NULL",
        "IS_TRUE",
        "IS_NOT_TRUE",
        "IS_FALSE",
        "IS_NOT_FALSE",
        "IS_DISTINCT_FROM",
        "IS_NOT_DISTINCT_FROM",
        "IS_JSON",
        "TIME_DIFFERENCE",
    ]
)
# Bound as special forms by the binder.
FORMS = frozenset({"IF", "NULLIF", "IFNULL", "CURRENT_WATERMARK"})


def is_aggregate(name: str) -> bool:
    """Whether a name is that of an aggregate or window function.

    >>> is_aggregate("count"), is_aggregate("upper")
    (True, False)
    """
    return name.upper() in AGGREGATES


def find_function(name: str) -> Function | None:
    """Returns the scalar function with a name, or None.

    >>> find_function("upper").name
    'UPPER'
    """
    upper = name.upper()
    return None if upper in _NOT_CALLABLE else FUNCTIONS.get(upper)


def function_names() -> list[str]:
    """Returns the names of all functions that can be called."""
    return sorted((FUNCTIONS.keys() | AGGREGATES | FORMS) - _NOT_CALLABLE)


def closest(name: str, known: list[str]) -> str | None:
    """Returns the most similar known name, or None.

    >>> closest("UPER", ["LOWER", "UPPER"])
    'UPPER'
    """
    by_lower = {k.lower(): k for k in known}
    found = difflib.get_close_matches(name.lower(), list(by_lower), n=1, cutoff=0.6)
    return by_lower[found[0]] if found else None
