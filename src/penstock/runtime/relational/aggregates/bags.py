"""Aggregates that keep values without an order: COLLECT, PERCENTILE, the bitmaps, and JSON_OBJECTAGG."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import pyarrow as pa

from penstock.runtime.relational.aggregates.column_accumulator import Codes, ColumnAccumulator, Field, Signs
from penstock.runtime.relational.aggregates.lists import json_texts
from penstock.runtime.relational.aggregates.multisets import Multisets
from penstock.runtime.relational.expressions.errors import bad_argument
from penstock.runtime.relational.expressions.values import from_values, to_values
from penstock.runtime.relational.java.json_path import write_json
from penstock.runtime.relational.state.row_codec import pack
from penstock.types.logical.kinds import ArrayType, BitmapType, IntegerType, LogicalType

Bag = dict[Any, list[Any]]  # from something that can be a key to [value, count]


class BagAccumulator(ColumnAccumulator):
    """Values with their counts, and the number of values in all."""

    initial: tuple[Any, ...] = (None, 0)
    dtypes: tuple[Any, ...] = (None, None)

    def __init__(self, argument: LogicalType, type_: LogicalType) -> None:
        self._argument = argument
        self._type = type_

    def load(self, stored: Any) -> list[Field]:
        bags = [None if s is None else {self._key(value): [value, count] for value, count in s} for s in stored[0]]
        return [bags, list(stored[1])]

    def dump(self, fields: list[Field]) -> list[list[Any]]:
        return [[None if not bag else list(bag.values()) for bag in fields[0]], fields[1]]

    def _key(self, value: Any) -> Any:
        if value != value:
            return "NaN"  # NaN equals nothing, not even itself
        return pack(value) if isinstance(value, list | tuple) else value

    def _values(self, arguments: list[pa.Array]) -> Iterable[Iterable[tuple[Any, int]]]:
        """Returns for each row its values with their counts."""
        return [[] if v is None else [(v, 1)] for v in to_values(arguments[0], self._argument)]

    def add(
        self,
        fields: list[Field],
        codes: Codes,
        arguments: list[pa.Array],
        signs: Signs | None,
        multiset: Multisets | None = None,
    ) -> None:
        valid = arguments[0].is_valid().to_pylist()
        ones = [1] * len(codes) if signs is None else signs.tolist()
        for group, row, sign, known in zip(codes.tolist(), self._values(arguments), ones, valid, strict=True):
            if known:
                fields[1][group] += sign
                for value, count in row:
                    self._change(fields[0], group, value, sign * count)

    def _change(self, bags: list[Bag | None], group: int, value: Any, count: int) -> None:
        bag = bags[group]
        if bag is None:
            bag = bags[group] = {}
        key = self._key(value)
        entry = bag.get(key)
        if entry is None:
            bag[key] = [value, count]
        else:
            entry[1] += count
            if entry[1] == 0:
                del bag[key]

    def merge(self, fields: list[Field], codes: Codes, others: list[Field]) -> None:
        for group, bag, size in zip(codes.tolist(), *others, strict=True):
            fields[1][group] += size
            for value, count in (bag or {}).values():
                self._change(fields[0], group, value, count)

    def results(self, fields: list[Field]) -> pa.Array:
        found = [self._result(bag or {}, size) for bag, size in zip(*fields, strict=True)]
        return from_values(found, self._type)

    def _result(self, bag: Bag, size: int) -> Any:
        """COLLECT: the values with their counts."""
        return [(value, count) for value, count in bag.values() if count > 0]


class BitmapAccumulator(BagAccumulator):
    """The aggregates of bitmaps and of integers: in how many of the rows each integer is."""

    def __init__(self, function: str, argument: LogicalType, type_: LogicalType) -> None:
        super().__init__(argument, type_)
        self._operation = function.split("_")[1]
        self._counts = isinstance(type_, IntegerType)

    def _values(self, arguments: list[pa.Array]) -> Iterable[Iterable[tuple[Any, int]]]:
        rows = arguments[0].to_pylist()
        if isinstance(self._argument, BitmapType):
            return [[(v, 1) for v in row or ()] for row in rows]
        return [[] if v is None else [(v & 0xFFFFFFFF, 1)] for v in rows]

    def _result(self, bag: Bag, size: int) -> Any:
        if size <= 0:
            return None
        match self._operation:
            case "AND":
                found = [value for value, count in bag.values() if count == size]
            case "XOR":
                found = [value for value, count in bag.values() if count % 2]
            case _:
                found = [value for value, count in bag.values() if count > 0]
        return len(found) if self._counts else sorted(found)


class Percentile(BagAccumulator):
    """PERCENTILE: numbers with their counts. The shares of the first row of a group hold for all its rows."""

    initial = (None, 0, None)
    dtypes = (None, None, None)

    def __init__(self, arguments: tuple[LogicalType, ...], type_: LogicalType) -> None:
        super().__init__(arguments[0], type_)
        self._share_type = arguments[1]
        self._several = isinstance(type_, ArrayType)

    def load(self, stored: Any) -> list[Field]:
        return [*super().load(stored[:2]), list(stored[2])]

    def dump(self, fields: list[Field]) -> list[list[Any]]:
        return [*super().dump(fields[:2]), fields[2]]

    def add(
        self,
        fields: list[Field],
        codes: Codes,
        arguments: list[pa.Array],
        signs: Signs | None,
        multiset: Multisets | None = None,
    ) -> None:
        for group, share in zip(codes.tolist(), to_values(arguments[1], self._share_type), strict=True):
            if fields[2][group] is None:
                fields[2][group] = _shares(share if self._several else [share])
        super().add(fields[:2], codes, arguments, signs)

    def _values(self, arguments: list[pa.Array]) -> Iterable[Iterable[tuple[Any, int]]]:
        numbers = [None if v is None else float(v) for v in arguments[0].to_pylist()]
        counts = [1] * len(numbers) if len(arguments) < 3 else arguments[2].to_pylist()
        return [[] if v is None or not n or n < 0 else [(v, n)] for v, n in zip(numbers, counts, strict=True)]

    def merge(self, fields: list[Field], codes: Codes, others: list[Field]) -> None:
        for group, shares in zip(codes.tolist(), others[2], strict=True):
            if fields[2][group] is None:
                fields[2][group] = shares
        super().merge(fields[:2], codes, others[:2])

    def results(self, fields: list[Field]) -> pa.Array:
        found = []
        for bag, shares in zip(fields[0], fields[2], strict=True):
            values = percentiles(bag or {}, shares or [])
            found.append(values if self._several or values is None else values[0])
        return from_values(found, self._type)


def _shares(shares: list[float]) -> list[float]:
    for share in shares:
        if not 0 <= share <= 1:
            raise bad_argument("PERCENTILE", f"the share must be from 0 to 1, but it is {share}.")
    return list(shares)


def percentiles(bag: Bag, shares: list[float]) -> list[float] | None:
    """Returns the values at shares of the rows, with interpolation; None without rows.

    >>> percentiles({1.0: [1.0, 1], 3.0: [3.0, 2], 5.0: [5.0, 1]}, [0.25, 0.9])
    [2.5, 4.4]
    """
    ordered = sorted(bag.values(), key=lambda entry: (entry[0] != entry[0], entry[0]))
    total = sum(count for _, count in ordered)
    if total <= 0 or not shares:
        return None
    found = []
    for share in shares:
        position = share * (total - 1) + 1
        lower, higher = math.floor(position), math.ceil(position)
        index, passed = 0, ordered[0][1]
        while passed < lower:
            index += 1
            passed += ordered[index][1]
        value = ordered[index][0]
        if passed < higher:
            value = (higher - position) * value + (position - lower) * ordered[index + 1][0]
        found.append(value)
    return found


class JsonObject(ColumnAccumulator):
    """JSON_OBJECTAGG: the JSON text of the value of each key. Two rows with the same key are an error."""

    initial = (None,)
    dtypes = (None,)

    def __init__(self, arguments: tuple[LogicalType, ...], type_: LogicalType, keeps_nulls: bool) -> None:
        self._argument = arguments[1]
        self._type = type_
        self._null = "null" if keeps_nulls else None

    def load(self, stored: Any) -> list[Field]:
        return [[None if s is None else dict(s) for s in stored[0]]]

    def dump(self, fields: list[Field]) -> list[list[Any]]:
        return [[None if not s else [[key, text] for key, text in s.items()] for s in fields[0]]]

    def add(
        self,
        fields: list[Field],
        codes: Codes,
        arguments: list[pa.Array],
        signs: Signs | None,
        multiset: Multisets | None = None,
    ) -> None:
        texts = json_texts(arguments[1], self._argument, self._null)
        ones = [1] * len(codes) if signs is None else signs.tolist()
        for group, key, text, sign in zip(codes.tolist(), arguments[0].to_pylist(), texts, ones, strict=True):
            if key is None:
                raise bad_argument("JSON_OBJECTAGG", "a key is NULL. Remove such rows with WHERE or FILTER.")
            if sign > 0:
                self._put(fields[0], group, key, text)
            elif fields[0][group]:
                fields[0][group].pop(key, None)

    def _put(self, objects: list[dict[str, str] | None], group: int, key: str, text: str | None) -> None:
        found = objects[group]
        if found is None:
            found = objects[group] = {}
        if key in found:
            raise bad_argument("JSON_OBJECTAGG", f"there is a second row with the key {key!r}. Keys must be unique.")
        if text is not None:
            found[key] = text

    def merge(self, fields: list[Field], codes: Codes, others: list[Field]) -> None:
        for group, found in zip(codes.tolist(), others[0], strict=True):
            for key, text in (found or {}).items():
                self._put(fields[0], group, key, text)

    def results(self, fields: list[Field]) -> pa.Array:
        return from_values(
            [
                "{" + ",".join(f"{write_json(k)}:{s[k]}" for k in sorted(s or {}, key=_java_order)) + "}"
                for s in fields[0]
            ],
            self._type,
        )


def _java_order(text: str) -> bytes:
    """Flink writes the keys in the order of Java's texts, which compare by units of UTF-16."""
    return text.encode("utf-16-be", "surrogatepass")
