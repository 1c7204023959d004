"""Sums and extremes of groups of values, in numpy where the values allow it.

A column of values is an array of whole or floating numbers, or a list of whatever else can be added or compared. Whole
numbers stay whole and exact; what numpy cannot hold is folded one by one, as the aggregate function itself would.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock.functions.named_aggregates import NamedAggregate
from penstock.runtime.records import Column

Values = Any  # an array of int64 or float64, or a list

_LARGEST = 2**63 - 1
_LEAST = -(2**63)
_AGGREGATES = {kind: NamedAggregate[Any](kind) for kind in ("sum", "min", "max")}


def fold(kind: str, groups: Column, total: int, values: Values) -> Values:
    """The sum, min or max of each of `total` groups; `groups` says which one a value belongs to.

    Groups without values have no meaning.

    >>> fold("sum", np.array([0, 1, 0]), 2, [1, 2, 3]).tolist()
    [4, 2]
    """
    numbers = as_numbers(values, kind)
    if numbers is None:
        return _one_by_one(kind, groups, total, values)
    if kind == "sum":
        folded = np.zeros(total, numbers.dtype)
        np.add.at(folded, groups, numbers)
        return folded
    whole = numbers.dtype.kind == "i"
    with np.errstate(invalid="ignore"):  # NaN
        if kind == "min":
            folded = np.full(total, _LARGEST if whole else np.nan, numbers.dtype)
            (np.minimum if whole else np.fmin).at(folded, groups, numbers)
        else:
            folded = np.full(total, _LEAST if whole else -np.inf, numbers.dtype)
            np.maximum.at(folded, groups, numbers)
    return folded


def _one_by_one(kind: str, groups: Column, total: int, values: Values) -> list[Any]:
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
    """The values as an array of whole or of floating numbers, if each of them is one and no sum can overflow."""
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


def narrow(values: list[Any]) -> Values:
    """A list as an array where it is one of numbers of one kind.

    >>> narrow([1, 2]).dtype, narrow([1, 2.5])
    (dtype('int64'), [1, 2.5])
    """
    numbers = as_numbers(values, "max")
    return values if numbers is None else numbers


def as_list(values: Values) -> list[Any]:
    listed: list[Any] = values.tolist() if isinstance(values, np.ndarray) else values
    return listed


def take(values: Values, at: Any) -> Values:
    """The values at some places."""
    return values[at] if isinstance(values, np.ndarray) else [values[i] for i in at.tolist()]


def join(parts: list[Values]) -> Values:
    """All parts as one column."""
    if len(parts) == 1:
        return parts[0]
    if all(isinstance(p, np.ndarray) for p in parts) and len({p.dtype for p in parts}) == 1:
        return np.concatenate(parts)
    return [value for part in parts for value in as_list(part)]
