"""Sums, minima and maxima of groups of values, computed with numpy where the types allow it.

A column of values is an array of int64 or float64, or a list of any other values that can be added or compared. Integers stay
exact. Values that numpy cannot represent are folded one by one, as the aggregate function itself does.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock.functions.named_aggregates import NamedAggregate
from penstock.runtime.loop.records import Column

Values = Any  # an array of int64 or float64, or a list

_LARGEST = 2**63 - 1
_LEAST = -(2**63)
_AGGREGATES = {kind: NamedAggregate[Any](kind) for kind in ("sum", "min", "max")}


def fold(kind: str, groups: Column, total: int, values: Values) -> Values:
    """Returns the sum, min or max of each of `total` groups. `groups` holds the group number of each value.

    The result of a group without values is undefined.

    >>> fold("sum", np.array([0, 1, 0]), 2, [1, 2, 3]).tolist()
    [4, 2]
    """
    numbers = as_numbers(values, kind)
    if numbers is None:
        return _fold_in_python(kind, groups, total, values)
    if kind == "sum":
        folded = np.zeros(total, numbers.dtype)
        np.add.at(folded, groups, numbers)
        return folded
    integers = numbers.dtype.kind == "i"
    with np.errstate(invalid="ignore"):  # NaN
        if kind == "min":
            folded = np.full(total, _LARGEST if integers else np.nan, numbers.dtype)
            (np.minimum if integers else np.fmin).at(folded, groups, numbers)
        else:
            folded = np.full(total, _LEAST if integers else -np.inf, numbers.dtype)
            np.maximum.at(folded, groups, numbers)
    return folded


def _fold_in_python(kind: str, groups: Column, total: int, values: Values) -> list[Any]:
    merge = _AGGREGATES[kind].merge
    folded: list[Any] = [None] * total
    empty = [True] * total
    for group, value in zip(groups.tolist(), as_list(values), strict=True):
        if empty[group]:
            folded[group], empty[group] = value, False
        else:
            folded[group] = merge(folded[group], value)
    return folded


def as_numbers(values: Values, kind: str) -> Any:
    """Returns the values as an array if all are int or all are float and no sum can overflow, else None."""
    if isinstance(values, np.ndarray):
        numbers = values
    else:
        kinds = set(map(type, values))
        if kinds not in ({int}, {float}):
            return None
        try:
            numbers = np.asarray(values, dtype=np.int64 if kinds == {int} else np.float64)
        except OverflowError:
            return None
    if numbers.dtype not in (np.int64, np.float64):
        return None
    if kind == "sum" and numbers.dtype.kind == "i" and len(numbers):
        greatest = max(int(numbers.max()), -int(numbers.min()))
        if greatest * len(numbers) > _LARGEST:
            return None
    return numbers


def pack_values(values: list[Any]) -> Values:
    """Returns a list as an array if all values are int or all are float, else the list.

    >>> pack_values([1, 2]).dtype, pack_values([1, 2.5])
    (dtype('int64'), [1, 2.5])
    """
    numbers = as_numbers(values, "max")
    return values if numbers is None else numbers


def as_list(values: Values) -> list[Any]:
    """Returns a column as a list of Python values."""
    listed: list[Any] = values.tolist() if isinstance(values, np.ndarray) else values
    return listed


def take(values: Values, indices: Any) -> Values:
    """Returns the values at some indices."""
    return values[indices] if isinstance(values, np.ndarray) else [values[i] for i in indices.tolist()]


def concatenate(parts: list[Values]) -> Values:
    """Joins columns. The result is an array if all parts are arrays of one type."""
    if len(parts) == 1:
        return parts[0]
    if all(isinstance(p, np.ndarray) for p in parts) and len({p.dtype for p in parts}) == 1:
        return np.concatenate(parts)
    return [value for part in parts for value in as_list(part)]
