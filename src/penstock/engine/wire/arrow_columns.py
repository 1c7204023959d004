"""Columns of typed values as Arrow arrays, and back: the same Python values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate, chain, pairwise
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from penstock.time import Instant
from penstock.types.information import has_none


class NotColumns(Exception):  # noqa: N818 - elements that have to be pickled; nobody else hears of it
    """These values would not come back as they are."""


class Column(Protocol):
    """One column of a type."""

    @property
    def arrow(self) -> Any:
        """Its Arrow type."""
        ...

    @property
    def slow(self) -> bool:
        """Whether a pickle of the values is faster."""
        ...

    @property
    def parts(self) -> Sequence[Column]:
        """The columns inside it."""
        ...

    @property
    def of_objects(self) -> bool:
        """Whether its values are rows or objects."""
        ...

    def encode(self, values: Sequence[Any]) -> Any: ...
    def decode(self, array: Any) -> list[Any]: ...


class SingleColumn:
    """Values that Arrow knows itself."""

    slow = False
    of_objects = False
    parts: Sequence[Column] = ()

    def __init__(self, arrow: Any) -> None:
        self.arrow = arrow

    def encode(self, values: Sequence[Any]) -> Any:
        return pa.array(values, self.arrow)

    def decode(self, array: Any) -> list[Any]:
        values: list[Any] = array.to_pylist()
        return values


class TextColumn(SingleColumn):
    """Numbers of any size, as text."""

    def __init__(self, parse: Callable[[str], Any]) -> None:
        super().__init__(pa.string())
        self._parse = parse

    def encode(self, values: Sequence[Any]) -> Any:
        return pa.array([None if v is None else str(v) for v in values], self.arrow)

    def decode(self, array: Any) -> list[Any]:
        parse = self._parse
        return [None if v is None else parse(v) for v in array.to_pylist()]


class ClockColumn(SingleColumn):
    """Times without a time zone; with one, they would come back without it."""

    def encode(self, values: Sequence[Any]) -> Any:
        if any(v is not None and v.tzinfo is not None for v in values):
            raise NotColumns
        return super().encode(values)


class InstantColumn:
    """Seconds and nanoseconds."""

    slow = False
    of_objects = False
    parts: Sequence[Column] = ()
    arrow = pa.struct([("seconds", pa.int64()), ("nanos", pa.int32())])

    def encode(self, values: Sequence[Any]) -> Any:
        seconds = pa.array([None if v is None else v.seconds for v in values], pa.int64())
        nanos = pa.array([None if v is None else v.nanos for v in values], pa.int32())
        return pa.StructArray.from_arrays([seconds, nanos], fields=list(self.arrow))

    def decode(self, array: Any) -> list[Any]:
        pairs = zip(array.field(0).to_pylist(), array.field(1).to_pylist(), strict=True)
        return [None if s is None else Instant(s, n) for s, n in pairs]


class ListColumn:
    """Lists: where each begins, and all elements in one column."""

    of_objects = False

    def __init__(self, element: Column) -> None:
        self._element = element
        self.parts: Sequence[Column] = [element]
        self.slow = not holds_objects(element)
        self.arrow = pa.list_(element.arrow)

    def encode(self, values: Sequence[Any]) -> Any:
        lengths = (0 if v is None else len(v) for v in values)
        offsets = np.fromiter(accumulate(lengths, initial=0), np.int32, len(values) + 1)
        elements = self._element.encode(list(chain.from_iterable(v for v in values if v is not None)))
        return pa.ListArray.from_arrays(pa.array(offsets), elements, type=self.arrow, mask=none_mask(values))

    def decode(self, array: Any) -> list[Any]:
        elements = self._element.decode(array.values)
        offsets = array.offsets.to_pylist()
        lists: list[Any] = [elements[a:b] for a, b in pairwise(offsets)]
        return with_none(lists, array)


class MapColumn:
    """Dicts: a list of keys and a list of values."""

    of_objects = False

    def __init__(self, key: Column, value: Column) -> None:
        self._keys, self._values = ListColumn(key), ListColumn(value)
        self.parts: Sequence[Column] = [key, value]
        self.slow = not (holds_objects(key) or holds_objects(value))
        self.arrow = pa.struct([("keys", self._keys.arrow), ("values", self._values.arrow)])

    def encode(self, values: Sequence[Any]) -> Any:
        keys = self._keys.encode([None if v is None else list(v) for v in values])
        items = self._values.encode([None if v is None else list(v.values()) for v in values])
        return pa.StructArray.from_arrays([keys, items], fields=list(self.arrow))

    def decode(self, array: Any) -> list[Any]:
        pairs = zip(self._keys.decode(array.field(0)), self._values.decode(array.field(1)), strict=True)
        return [None if k is None else dict(zip(k, v, strict=True)) for k, v in pairs]


def holds_objects(column: Column) -> bool:
    """Whether there are rows or objects in a column: pickling these takes a call for each of them."""
    return column.of_objects or any(map(holds_objects, column.parts))


def none_mask(values: Sequence[Any]) -> Any:
    """Which values are None; nothing where none is."""
    return pa.array([v is None for v in values]) if has_none(values) else None


def with_none(values: list[Any], array: Any) -> list[Any]:
    """Values with None where an array has none."""
    if not array.null_count:
        return values
    return [v if here else None for v, here in zip(values, array.is_valid().to_pylist(), strict=True)]
