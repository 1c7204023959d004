"""What is kept of a group's elements for some named aggregates: how many they are, and sums and extremes of fields."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from penstock.functions.field_access import Field, reader_of
from penstock.functions.named_aggregates import NamedAggregate, NamedAggregates
from penstock.row import make_row
from penstock.runtime.evolution.shape import Shape
from penstock.runtime.records import Column
from penstock.runtime.vector.fold import Values, as_list, fold, join, narrow, take

Measure = tuple[str, Field]  # "sum", "min" or "max", and of what


class Measures:
    """The measures of an aggregate function. Aggregates of one field share them; all share the count.

    >>> measures = Measures(NamedAggregates(n=NamedAggregate("count"), mean=NamedAggregate("avg"), total=NamedAggregate("sum")))
    >>> measures.wanted, measures.results([2], [[7]])
    ([('sum', None)], [Row(n=2, mean=3.5, total=7)])
    """

    def __init__(self, aggregate: NamedAggregate[Any] | NamedAggregates) -> None:
        parts = aggregate.aggregates if isinstance(aggregate, NamedAggregates) else (aggregate,)
        self._names = aggregate.names if isinstance(aggregate, NamedAggregates) else None
        self.wanted: list[Measure] = []
        self._parts: list[tuple[str, int]] = []  # each aggregate: its kind, and which measure it is made of
        for part in parts:
            place = -1
            if part.kind != "count":
                measure = ("sum" if part.kind == "avg" else part.kind, part.field)
                if measure not in self.wanted:
                    self.wanted.append(measure)
                place = self.wanted.index(measure)
            self._parts.append((part.kind, place))

    def shape(self, form: str) -> Shape:
        """What is kept, for a savepoint: each measure by its name."""
        return Shape("measures", form=form, values=[f"{kind}({_told(field)})" for kind, field in self.wanted])

    def read(self, values: list[Any]) -> list[Values]:
        """The columns of some elements, one for each measure."""
        read: dict[Any, Values] = {}
        for _, field in self.wanted:
            if field not in read:
                read[field] = narrow(_read(values, field))
        return [read[field] for _, field in self.wanted]

    def fold(self, groups: Column, total: int, columns: list[Values]) -> list[Values]:
        """The measures of groups, from those of their members."""
        return [fold(kind, groups, total, c) for (kind, _), c in zip(self.wanted, columns, strict=True)]

    def results(self, counts: list[int], columns: list[Values]) -> list[Any]:
        """What the aggregate function would give for each group."""
        lists = [as_list(c) for c in columns]
        made = [self._result(kind, place, counts, lists) for kind, place in self._parts]
        if self._names is None:
            return made[0]
        names = self._names
        return [make_row(names, list(values)) for values in zip(*made, strict=True)]

    @staticmethod
    def _result(kind: str, place: int, counts: list[int], lists: list[list[Any]]) -> list[Any]:
        if kind == "count":
            return counts
        if kind == "avg":
            return [total / n for total, n in zip(lists[place], counts, strict=True)]
        return lists[place]

    def merging(self) -> list[Callable[[Any, Any], Any]]:
        """How two values of each measure become one."""
        return [NamedAggregate[Any](kind).merge for kind, _ in self.wanted]


def _told(field: Field) -> str:
    if field is None:
        return ""
    return str(getattr(field, "__qualname__", type(field).__qualname__)) if callable(field) else str(field)


def _read(values: list[Any], field: Field) -> list[Any]:
    if field is None or not values:
        return values
    if callable(field):
        return list(map(field, values))
    if len(set(map(type, values))) == 1:
        reader = reader_of(values[0], field)
        return values if reader is None else list(map(reader, values))
    readers = [reader_of(value, field) for value in values]
    return [value if read is None else read(value) for read, value in zip(readers, values, strict=True)]


@dataclass(slots=True)
class Groups:
    """Some groups: which key each belongs to, how many elements it has, and their measures."""

    codes: Column
    counts: Column
    columns: list[Values]

    def take(self, at: Any) -> Groups:
        return Groups(self.codes[at], self.counts[at], [take(c, at) for c in self.columns])

    @staticmethod
    def join(parts: list[Groups]) -> Groups:
        if len(parts) == 1:
            return parts[0]
        return Groups(
            np.concatenate([p.codes for p in parts]),
            np.concatenate([p.counts for p in parts]),
            [join(list(c)) for c in zip(*(p.columns for p in parts), strict=True)],
        )
