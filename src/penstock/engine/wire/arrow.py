"""Elements of a known type as columns: an Arrow record batch, and pickled lists for what Arrow is slower with.

A batch travels without its schema, which both sides make from the type. docs/decisions/0007-arrow-bodies.md has the figures.
"""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from operator import is_
from typing import Any

import msgspec
import pyarrow as pa

from penstock.engine.arrow_columns import Column, NotColumns
from penstock.engine.arrow_fields import FieldsColumn, RowColumn
from penstock.engine.arrow_types import column_of
from penstock.types import TupleTypeInfo, TypeInformation, Types
from penstock.types.python import ClassTypeInfo

# What Arrow raises for values that it cannot hold: a number that is too large, text that is not Unicode.
_REFUSED = (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, OverflowError, UnicodeEncodeError)

# The type; which columns are in the batch; the batch; the other columns; the keys, or the number of the column that they are.
Packed = tuple[bytes, tuple[int, ...], bytes, list[Sequence[Any]], list[Any] | int | None]


class Layout:
    """A type as columns: those of its fields, or the values themselves as the only one."""

    def __init__(self, type_info: TypeInformation, column: Column) -> None:
        self._parts = column if isinstance(column, FieldsColumn) else None
        self.columns: list[Column] = [column]
        self.types = [type_info]
        if self._parts is not None:
            self.columns = list(self._parts.parts)
            self.types = list(self._parts.type_info.field_types)
            if isinstance(column, RowColumn):
                self.types.append(Types.BYTE())

    @property
    def pickles_well(self) -> bool:
        """Whether a body of such elements is columns without Arrow too."""
        kind = None if self._parts is None else self._parts.type_info
        return isinstance(kind, TupleTypeInfo) or (
            isinstance(kind, ClassTypeInfo) and issubclass(kind.python_class, msgspec.Struct)
        )

    def shapes(self, values: list[Any]) -> bool:
        return self._parts is None or self._parts.type_info.shapes(values)

    def split(self, values: list[Any]) -> list[Sequence[Any]]:
        return [values] if self._parts is None else self._parts.split(values)

    def join(self, columns: list[Any]) -> list[Any]:
        values: list[Any] = columns[0] if self._parts is None else self._parts.join(columns)
        return values

    def schema(self, places: Sequence[int]) -> Any:
        return pa.schema([(str(place), self.columns[place].arrow) for place in places])


class ArrowPacker:
    """Packs the elements of one stream.

    >>> packer = arrow_packer(Types.TUPLE([Types.STRING(), Types.LONG()]), certain=True)
    >>> unpack_arrow(packer.pack(["a", "b"], [("a", 1), ("b", 2)]))
    (['a', 'b'], [('a', 1), ('b', 2)])
    """

    def __init__(self, type_info: TypeInformation, layout: Layout, certain: bool) -> None:
        self._layout = layout
        self._certain = certain
        self._pickled_type = pickle.dumps(type_info, 5)
        self._schemas: dict[tuple[int, ...], Any] = {}

    def pack(self, keys: list[Any] | None, values: list[Any]) -> Packed | None:
        """Keys and values; None when they have another shape, or when there is nothing for Arrow to hold."""
        layout = self._layout
        if not self._certain and not layout.shapes(values):
            return None
        try:
            columns = layout.split(values)
        except (NotColumns, AttributeError, ValueError):
            return None
        arrays, places, rest = [], [], []
        for place, column in enumerate(columns):
            array = self._array(place, column)
            if array is None:
                rest.append(column)
            else:
                arrays.append(array)
                places.append(place)
        if not arrays:
            return None
        there = tuple(places)
        schema = self._schemas.get(there)
        if schema is None:
            schema = self._schemas[there] = layout.schema(there)
        batch = pa.record_batch(arrays, schema=schema).serialize().to_pybytes()
        return self._pickled_type, there, batch, rest, _which(keys, columns, there)

    def _array(self, place: int, values: Sequence[Any]) -> Any:
        """A column in Arrow's form, or None when it is to be pickled: its values would not come back as they are."""
        column = self._layout.columns[place]
        if column.slow or (not self._certain and not self._layout.types[place].fits(values)):
            return None
        try:
            return column.encode(values)
        except (NotColumns, AttributeError, *_REFUSED):
            return None


def _which(keys: list[Any] | None, columns: list[Sequence[Any]], places: tuple[int, ...]) -> list[Any] | int | None:
    """The number of the Arrow column that the keys were taken from: they travel once. (Pickle itself sees to other columns.)"""
    if keys:
        for place in places:
            column = columns[place]
            if column[0] is keys[0] and all(map(is_, keys, column)):
                return place
    return keys


_layouts: dict[bytes, Layout] = {}


def unpack_arrow(packed: Packed) -> tuple[list[Any] | None, list[Any]]:
    """Keys and values."""
    pickled_type, places, data, rest, keys = packed
    layout = _layouts.get(pickled_type)
    if layout is None:
        type_info = pickle.loads(pickled_type)
        column = column_of(type_info)
        assert column is not None
        layout = _layouts[pickled_type] = Layout(type_info, column)
    batch = pa.ipc.read_record_batch(pa.py_buffer(data), layout.schema(places))
    columns: list[Any] = [None] * len(layout.columns)
    for place, array in zip(places, batch.columns, strict=True):
        columns[place] = layout.columns[place].decode(array)
    others = iter(rest)
    columns = [next(others) if c is None else c for c in columns]
    return (columns[keys] if isinstance(keys, int) else keys), layout.join(columns)


def arrow_packer(type_info: TypeInformation, certain: bool) -> ArrowPacker | None:
    """A packer, or None for a type that is better pickled; `certain` when all elements were checked against it."""
    column = column_of(type_info)
    if column is None:
        return None
    layout = Layout(type_info, column)
    if all(c.slow for c in layout.columns) or (layout.pickles_well and not certain):
        return None  # to look at each value first takes what Arrow gains over pickled columns
    return ArrowPacker(type_info, layout, certain)
