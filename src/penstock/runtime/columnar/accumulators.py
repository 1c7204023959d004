"""The columns in which named aggregates are accumulated: the count of a group, and sums, minima and maxima of fields."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from penstock.functions.field_access import Field, make_field_reader
from penstock.functions.named_aggregates import NamedAggregate, NamedAggregates
from penstock.row import make_row
from penstock.runtime.columnar.fold import Values, as_list, concatenate, fold, pack_values, take
from penstock.runtime.loop.records import Column
from penstock.runtime.state.evolution.shape import Shape

AccumulatorDefinition = tuple[str, Field]  # "sum", "min" or "max", and the field


class Accumulators:
    """The accumulators of an aggregate function. Aggregates of the same field share an accumulator; all share the count.

    >>> parts = NamedAggregates(n=NamedAggregate("count"), mean=NamedAggregate("avg"), total=NamedAggregate("sum"))
    >>> accumulators = Accumulators(parts)
    >>> accumulators.definitions, accumulators.results([2], [[7]])
    ([('sum', None)], [Row(n=2, mean=3.5, total=7)])
    """

    def __init__(self, aggregate: NamedAggregate[Any] | NamedAggregates) -> None:
        parts = aggregate.aggregates if isinstance(aggregate, NamedAggregates) else (aggregate,)
        self._names = aggregate.names if isinstance(aggregate, NamedAggregates) else None
        self.definitions: list[AccumulatorDefinition] = []
        self._aggregates: list[tuple[str, int]] = []  # kind, and the index of its accumulator (-1 for the count)
        for part in parts:
            index = -1
            if part.kind != "count":
                definition = ("sum" if part.kind == "avg" else part.kind, part.field)
                if definition not in self.definitions:
                    self.definitions.append(definition)
                index = self.definitions.index(definition)
            self._aggregates.append((part.kind, index))

    def shape(self, form: str, grid: Sequence[int] = ()) -> Shape:
        """Returns the description of the stored accumulators for a savepoint. `grid` is what determines their times."""
        names = [f"{kind}({_field_name(field)})" for kind, field in self.definitions]
        return Shape("measures", form=form, values=names, tag=list(grid))

    def read(self, values: list[Any]) -> list[Values]:
        """Reads the fields of some elements. Returns one column per accumulator."""
        by_field: dict[Any, Values] = {}
        for _, field in self.definitions:
            if field not in by_field:
                by_field[field] = pack_values(_read_field(values, field))
        return [by_field[field] for _, field in self.definitions]

    def fold(self, groups: Column, total: int, columns: list[Values]) -> list[Values]:
        """Folds the accumulators of the members of each group."""
        return [fold(kind, groups, total, c) for (kind, _), c in zip(self.definitions, columns, strict=True)]

    def results(self, counts: list[int], columns: list[Values]) -> list[Any]:
        """Returns the result of the aggregate function for each group."""
        lists = [as_list(c) for c in columns]
        results = [self._result(kind, index, counts, lists) for kind, index in self._aggregates]
        if self._names is None:
            return results[0]
        names = self._names
        return [make_row(names, list(values)) for values in zip(*results, strict=True)]

    @staticmethod
    def _result(kind: str, index: int, counts: list[int], lists: list[list[Any]]) -> list[Any]:
        if kind == "count":
            return counts
        if kind == "avg":
            return [total / n for total, n in zip(lists[index], counts, strict=True)]
        return lists[index]

    def merge_functions(self) -> list[Callable[[Any, Any], Any]]:
        """Returns for each accumulator the function that merges two of its values."""
        return [NamedAggregate[Any](kind).merge for kind, _ in self.definitions]


def _field_name(field: Field) -> str:
    if field is None:
        return ""
    return str(getattr(field, "__qualname__", type(field).__qualname__)) if callable(field) else str(field)


def _read_field(values: list[Any], field: Field) -> list[Any]:
    if field is None or not values:
        return values
    if callable(field):
        return list(map(field, values))
    if len(set(map(type, values))) == 1:
        reader = make_field_reader(values[0], field)
        return values if reader is None else list(map(reader, values))
    readers = [make_field_reader(value, field) for value in values]
    return [value if read is None else read(value) for read, value in zip(readers, values, strict=True)]


@dataclass(slots=True)
class Groups:
    """Groups of elements: the key code, the element count and the accumulators of each group."""

    codes: Column
    counts: Column
    columns: list[Values]

    def take(self, indices: Any) -> Groups:
        """Returns the groups at some indices."""
        return Groups(self.codes[indices], self.counts[indices], [take(c, indices) for c in self.columns])

    @staticmethod
    def join(parts: list[Groups]) -> Groups:
        """Returns all groups of all parts. A key may then have several groups."""
        if len(parts) == 1:
            return parts[0]
        return Groups(
            np.concatenate([p.codes for p in parts]),
            np.concatenate([p.counts for p in parts]),
            [concatenate(list(c)) for c in zip(*(p.columns for p in parts), strict=True)],
        )
