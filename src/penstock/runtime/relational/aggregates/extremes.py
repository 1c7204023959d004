"""MIN and MAX."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from penstock.runtime.relational.aggregates.column_accumulator import (
    Codes,
    ColumnAccumulator,
    Field,
    Signs,
    valid_rows,
    with_nulls,
)
from penstock.runtime.relational.aggregates.multisets import Multisets
from penstock.runtime.relational.expressions.values import from_values, to_values
from penstock.runtime.relational.keys import group_rows
from penstock.runtime.relational.sorting.ordered_bytes import ordered_bytes
from penstock.runtime.relational.specs.aggregate_call import SortKey
from penstock.types.logical.arrow import arrow_type
from penstock.types.logical.kinds import LogicalType


def plain_numbers(type_: pa.DataType) -> pa.DataType | None:
    """Returns the type of numbers that a column can be viewed as without loss, None for other columns."""
    if pa.types.is_integer(type_) or pa.types.is_floating(type_):
        return type_
    if pa.types.is_date32(type_) or pa.types.is_time32(type_):
        return pa.int32()
    if pa.types.is_timestamp(type_) or pa.types.is_duration(type_):
        return pa.int64()
    return None


class NumberExtreme(ColumnAccumulator):
    """MIN and MAX of rows that are only added, for types that are numbers in memory: the value, and whether there is one.

    NaN is no extreme unless it is the first value, because Flink compares with < and >.
    """

    def __init__(self, function: str, type_: LogicalType) -> None:
        self._type = arrow_type(type_)
        plain = plain_numbers(self._type)
        assert plain is not None
        self._plain = plain
        self._lowest = function == "MIN"
        self._choose: Any = np.minimum if self._lowest else np.maximum
        self._dtype = np.dtype(plain.to_pandas_dtype())
        if self._dtype.kind == "f":
            self._least_good: Any = np.inf if self._lowest else -np.inf
        else:
            limits = np.iinfo(self._dtype)
            self._least_good = limits.max if self._lowest else limits.min
        self.initial = (0, False)
        self.dtypes = (self._dtype, np.bool_)

    def add(
        self,
        fields: list[Field],
        codes: Codes,
        arguments: list[pa.Array],
        signs: Signs | None,
        multiset: Multisets | None = None,
    ) -> None:
        column, codes, _ = valid_rows(arguments[0], codes, None)
        values = column.view(self._plain).to_numpy(zero_copy_only=False)
        self._add(fields, codes, values)

    def merge(self, fields: list[Field], codes: Codes, others: list[Field]) -> None:
        self._add(fields, codes[others[1]], others[0][others[1]])

    def _add(self, fields: list[Field], codes: Codes, values: NDArray[Any]) -> None:
        best, known = fields
        best[~known] = self._least_good
        stays: Any = slice(0, 0)
        if self._dtype.kind == "f":
            stays = known & np.isnan(best)
            not_numbers = np.isnan(values)
            if not_numbers.any():
                groups, first = np.unique(codes, return_index=True)
                starts = np.zeros(len(best), np.bool_)
                starts[groups] = not_numbers[first]
                stays |= starts & ~known
                known[stays] = True
                values, codes = values[~not_numbers], codes[~not_numbers]
            best[stays] = self._least_good
        self._choose.at(best, codes, values)
        known[codes] = True
        if self._dtype.kind == "f":
            best[stays] = np.nan
        best[~known] = 0

    def results(self, fields: list[Field]) -> pa.Array:
        return with_nulls(fields[0], ~fields[1], self._plain).view(self._type)


class ValueExtreme(ColumnAccumulator):
    """MIN and MAX of rows that are only added, for texts, decimals and booleans: the value, None without one."""

    initial = (None,)
    dtypes = (None,)

    def __init__(self, function: str, type_: LogicalType) -> None:
        self._type = type_
        self._lowest = function == "MIN"
        self._choose: Callable[..., Any] = min if self._lowest else max

    def add(
        self,
        fields: list[Field],
        codes: Codes,
        arguments: list[pa.Array],
        signs: Signs | None,
        multiset: Multisets | None = None,
    ) -> None:
        column, codes, _ = valid_rows(arguments[0], codes, None)
        if not len(column):
            return
        # Rows by their rank, so that the best row of each group is found with numbers.
        order = pc.sort_indices(column, sort_keys=[("", "ascending" if self._lowest else "descending")])
        ranked = codes[order.to_numpy()]
        groups, first = np.unique(ranked, return_index=True)
        found = to_values(column.take(order.take(pa.array(first))), self._type)
        self._merge(fields[0], groups.tolist(), found)

    def merge(self, fields: list[Field], codes: Codes, others: list[Field]) -> None:
        self._merge(fields[0], codes.tolist(), others[0])

    def _merge(self, best: list[Any], groups: Sequence[int], found: Sequence[Any]) -> None:
        for group, value in zip(groups, found, strict=True):
            if value is not None:
                best[group] = value if best[group] is None else self._choose(best[group], value)

    def results(self, fields: list[Field]) -> pa.Array:
        return from_values(fields[0], self._type)


class ChangelogExtreme(ColumnAccumulator):
    """MIN and MAX of rows that are added and removed: the bytes of the best value and the value; all values are in a multiset."""

    initial = (None, None)
    dtypes = (None, None)
    uses_multiset = True

    def __init__(self, function: str, type_: LogicalType) -> None:
        self._type = type_
        self._order = [SortKey(0, ascending=function == "MIN")]  # the best value has the lowest bytes

    def add(
        self,
        fields: list[Field],
        codes: Codes,
        arguments: list[pa.Array],
        signs: Signs | None,
        multiset: Multisets | None = None,
    ) -> None:
        assert multiset is not None
        column, codes, signs = valid_rows(arguments[0], codes, signs)
        if not len(column):
            return
        pairs = group_rows([pa.array(codes), column], len(codes))
        net = np.zeros(len(pairs), np.int64)
        np.add.at(net, pairs.codes, 1 if signs is None else signs)
        changed = np.flatnonzero(net)
        at = pairs.first[changed]
        values = column.take(pa.array(at))
        groups, plain = codes[at].tolist(), to_values(values, self._type)
        keys = ordered_bytes([values], self._order, len(values))
        self.change(fields, multiset, groups, keys, plain, net[changed].tolist())

    def change(
        self,
        fields: list[Field],
        multiset: Multisets,
        groups: list[int],
        keys: list[bytes],
        values: list[Any],
        net: list[int],
    ) -> None:
        """Adds to the counts of different values of groups."""
        counts = [old + n for old, n in zip(multiset.counts(groups, keys), net, strict=True)]
        multiset.update(groups, keys, counts, values)
        best_keys, best = fields
        again = set()
        for group, key, value, count in zip(groups, keys, values, counts, strict=True):
            known = best_keys[group]
            if count > 0:
                if known is None or key < known:
                    best_keys[group], best[group] = key, value
            elif key == known:
                again.add(group)
        for group in sorted(again):
            found = multiset.lowest(group)
            best_keys[group], best[group] = (None, None) if found is None else found

    def merge(self, fields: list[Field], codes: Codes, others: list[Field]) -> None:
        """Does nothing: the owner adds the multisets of the others with `change`."""

    def results(self, fields: list[Field]) -> pa.Array:
        return from_values(fields[1], self._type)
