"""Aggregates that keep values in the order of rows: LISTAGG, ARRAY_AGG, JSON_ARRAYAGG; over changelogs FIRST_VALUE, LAST_VALUE."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.runtime.relational.aggregates.column_accumulator import Codes, ColumnAccumulator, Field, Signs
from penstock.runtime.relational.aggregates.multisets import Multisets
from penstock.runtime.relational.expressions.frame import Session
from penstock.runtime.relational.expressions.values import from_values, to_values
from penstock.runtime.relational.functions.json_functions import json_encoder
from penstock.runtime.relational.java.json_path import write_json
from penstock.types.logical.kinds import LogicalType


def rows_by_group(
    codes: Codes, values: list[Any], signs: Signs | None
) -> Iterator[tuple[int, list[Any], list[int] | None]]:
    """Yields each group with its values and signs, in the order of rows."""
    order = np.argsort(codes, kind="stable")
    groups, starts = np.unique(codes[order], return_index=True)
    ends = [*starts[1:].tolist(), len(codes)]
    positions = order.tolist()
    for group, start, end in zip(groups.tolist(), starts.tolist(), ends, strict=True):
        at = positions[start:end]
        yield group, [values[i] for i in at], None if signs is None else signs[at].tolist()


class ValueList(ColumnAccumulator):
    """All values in the order of rows, and values that were removed before they were added.

    result: returns the result of a list of values, or of None if there are none. keeps_nulls: whether NULL is a value.
    """

    initial = (None, None)
    dtypes = (None, None)

    def __init__(
        self, argument: LogicalType, type_: LogicalType, result: Callable[[list[Any] | None], Any], keeps_nulls: bool
    ) -> None:
        self._argument = argument
        self._type = type_
        self._result = result
        self._keeps_nulls = keeps_nulls

    def add(
        self,
        fields: list[Field],
        codes: Codes,
        arguments: list[pa.Array],
        signs: Signs | None,
        multiset: Multisets | None = None,
    ) -> None:
        for group, values, ones in rows_by_group(codes, self.values(arguments[0]), signs):
            self._change(fields, group, values, ones)

    def values(self, column: pa.Array) -> list[Any]:
        """Returns what to keep of the rows of a column."""
        values = to_values(column, self._argument)
        return [_listed(v) for v in values] if pa.types.is_nested(column.type) else values

    def _change(self, fields: list[Field], group: int, values: list[Any], signs: list[int] | None) -> None:
        kept, removed = fields[0][group] or [], fields[1][group] or []
        for index, value in enumerate(values):
            if value is None and not self._keeps_nulls:
                continue
            if signs is None or signs[index] > 0:
                kept.append(value)
            elif not _remove(kept, value):
                removed.append(value)
        fields[0][group], fields[1][group] = kept or None, removed or None

    def merge(self, fields: list[Field], codes: Codes, others: list[Field]) -> None:
        for group, more, less in zip(codes.tolist(), *others, strict=True):
            if not more and not less:
                continue
            kept = [*(fields[0][group] or ()), *(more or ())]
            missing = []
            for value in [*(fields[1][group] or ()), *(less or ())]:
                if not _remove(kept, value):
                    missing.append(value)
            fields[0][group], fields[1][group] = kept or None, missing or None

    def results(self, fields: list[Field]) -> pa.Array:
        return from_values([self._result(kept) for kept in fields[0]], self._type)


def _listed(value: Any) -> Any:
    """Rows as lists, as they come back from state: a removed row must equal the one that was added."""
    return [_listed(v) for v in value] if isinstance(value, list | tuple) else value


def _remove(values: list[Any], value: Any) -> bool:
    """Removes the first equal value, and returns whether there was one. NaN equals NaN here."""
    if value != value:
        at = next((i for i, v in enumerate(values) if v != v), -1)
    else:
        at = values.index(value) if value in values else -1
    if at >= 0:
        del values[at]
    return at >= 0


def joined(separator: str) -> Callable[[list[Any] | None], str | None]:
    """Returns the result of LISTAGG."""
    return lambda values: separator.join(values) if values else None


class JoinedText(ColumnAccumulator):
    """LISTAGG of rows that are only added: the text so far."""

    initial = (None,)
    dtypes = (None,)

    def __init__(self, type_: LogicalType, separator: str) -> None:
        self._type = type_
        self._separator = separator

    def add(
        self,
        fields: list[Field],
        codes: Codes,
        arguments: list[pa.Array],
        signs: Signs | None,
        multiset: Multisets | None = None,
    ) -> None:
        for group, values, _ in rows_by_group(codes, arguments[0].to_pylist(), None):
            self._append(fields[0], group, [v for v in values if v is not None])

    def _append(self, texts: list[str | None], group: int, values: list[str]) -> None:
        if values:
            known = texts[group]
            texts[group] = self._separator.join(values if known is None else [known, *values])

    def merge(self, fields: list[Field], codes: Codes, others: list[Field]) -> None:
        for group, text in zip(codes.tolist(), others[0], strict=True):
            self._append(fields[0], group, [] if text is None else [text])

    def results(self, fields: list[Field]) -> pa.Array:
        return from_values(fields[0], self._type)


class JsonList(ValueList):
    """JSON_ARRAYAGG: the JSON texts of values."""

    def __init__(self, argument: LogicalType, type_: LogicalType, keeps_nulls: bool) -> None:
        super().__init__(argument, type_, lambda values: f"[{','.join(values or ())}]", False)
        self._null = "null" if keeps_nulls else None

    def values(self, column: pa.Array) -> list[Any]:
        return json_texts(column, self._argument, self._null)


def json_texts(column: pa.Array, type_: LogicalType, null: str | None) -> list[str | None]:
    """Returns the JSON text of each value, and `null` for NULL."""
    encode = json_encoder(type_, Session())
    return [null if v is None else write_json(encode(v)) for v in to_values(column, type_)]
