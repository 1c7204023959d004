"""Converts columns of typed values to Arrow arrays and back to the same Python values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate, chain, pairwise
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from penstock.time import Instant
from penstock.types.arrow import LEAF_TYPES
from penstock.types.information import has_none


class NotColumnarError(Exception):
    """Arrow would not preserve these values, so they must be pickled."""


class Column(Protocol):
    """One column of a type."""

    @property
    def arrow(self) -> Any:
        """The Arrow type."""
        ...

    @property
    def slow(self) -> bool:
        """Whether pickling the values is faster."""
        ...

    @property
    def parts(self) -> Sequence[Column]:
        """Nested columns."""
        ...

    @property
    def of_objects(self) -> bool:
        """Whether the values are rows or objects."""
        ...

    def encode(self, values: Sequence[Any]) -> Any: ...
    def decode(self, array: Any) -> list[Any]: ...


class SingleColumn:
    """Values of a type that Arrow has too."""

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
    """Numbers of any size, encoded as text."""

    def __init__(self, parse: Callable[[str], Any]) -> None:
        super().__init__(LEAF_TYPES["decimal"].wire)
        self._parse = parse

    def encode(self, values: Sequence[Any]) -> Any:
        return pa.array([None if v is None else str(v) for v in values], self.arrow)

    def decode(self, array: Any) -> list[Any]:
        parse = self._parse
        return [None if v is None else parse(v) for v in array.to_pylist()]


class ClockColumn(SingleColumn):
    """Times without a time zone. Arrow would drop a time zone."""

    def encode(self, values: Sequence[Any]) -> Any:
        if any(v is not None and v.tzinfo is not None for v in values):
            raise NotColumnarError
        return super().encode(values)


class InstantColumn:
    """Instants: seconds and nanoseconds."""

    slow = False
    of_objects = False
    parts: Sequence[Column] = ()
    arrow = LEAF_TYPES["instant"].wire

    def encode(self, values: Sequence[Any]) -> Any:
        seconds = pa.array([None if v is None else v.seconds for v in values], pa.int64())
        nanos = pa.array([None if v is None else v.nanos for v in values], pa.int32())
        return pa.StructArray.from_arrays([seconds, nanos], fields=list(self.arrow))

    def decode(self, array: Any) -> list[Any]:
        pairs = zip(array.field(0).to_pylist(), array.field(1).to_pylist(), strict=True)
        return [None if s is None else Instant(s, n) for s, n in pairs]


class ListColumn:
    """Lists: the start of each list, and all elements in one column."""

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
    """Whether a column contains rows or objects, which are slow to pickle."""
    return column.of_objects or any(map(holds_objects, column.parts))


def none_mask(values: Sequence[Any]) -> Any:
    """A mask of the values that are None; None if there are none."""
    return pa.array([v is None for v in values]) if has_none(values) else None


def with_none(values: list[Any], array: Any) -> list[Any]:
    """Replaces values by None where an array has no value."""
    if not array.null_count:
        return values
    return [v if here else None for v, here in zip(values, array.is_valid().to_pylist(), strict=True)]
