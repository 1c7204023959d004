"""Encodes elements of a known type as columns: an Arrow record batch, and pickled lists where Arrow is slower.

The schema is not sent, because both sides derive it from the type. For measurements see docs/decisions/0007-arrow-bodies.md.
"""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from operator import is_
from typing import Any
from weakref import WeakKeyDictionary

import msgspec
import pyarrow as pa

from penstock.engine.wire.arrow_columns import Column, NotColumnarError
from penstock.engine.wire.arrow_fields import FieldsColumn, RowColumn
from penstock.engine.wire.arrow_types import wire_column
from penstock.runtime.pickling import dumps
from penstock.runtime.user_classes import ProgramClasses, active_classes
from penstock.types import TupleTypeInfo, TypeInformation, Types
from penstock.types.python import ClassTypeInfo

# Raised by Arrow for values that it cannot represent, such as a number that is too large.
_ARROW_ERRORS = (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, OverflowError, UnicodeEncodeError)

# The pickled type, the numbers of the columns in the batch, the batch, the other columns, and the keys or their column number.
ArrowBody = tuple[bytes, tuple[int, ...], bytes, list[Sequence[Any]], list[Any] | int | None]


class ColumnLayout:
    """The columns of a type: one per field, or a single column for a type without fields."""

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
    def pickles_as_columns(self) -> bool:
        """Whether such elements are also encoded as columns without Arrow."""
        kind = None if self._parts is None else self._parts.type_info
        return isinstance(kind, TupleTypeInfo) or (
            isinstance(kind, ClassTypeInfo) and issubclass(kind.python_class, msgspec.Struct)
        )

    def shapes(self, values: list[Any]) -> bool:
        return self._parts is None or self._parts.type_info.matches_class(values)

    def split(self, values: list[Any]) -> list[Sequence[Any]]:
        return [values] if self._parts is None else self._parts.split(values)

    def join(self, columns: list[Any]) -> list[Any]:
        values: list[Any] = columns[0] if self._parts is None else self._parts.join(columns)
        return values

    def schema(self, numbers: Sequence[int]) -> Any:
        return pa.schema([(str(number), self.columns[number].arrow) for number in numbers])


class ArrowPacker:
    """Encodes the elements of one stream.

    >>> packer = arrow_packer(Types.TUPLE([Types.STRING(), Types.LONG()]), certain=True)
    >>> unpack_arrow(packer.pack(["a", "b"], [("a", 1), ("b", 2)]))
    (['a', 'b'], [('a', 1), ('b', 2)])
    """

    def __init__(self, type_info: TypeInformation, layout: ColumnLayout, certain: bool) -> None:
        self._layout = layout
        self._certain = certain
        self._pickled_type = dumps(type_info)
        self._schemas: dict[tuple[int, ...], Any] = {}

    def pack(self, keys: list[Any] | None, values: list[Any]) -> ArrowBody | None:
        """Encodes keys and values. Returns None if they have another shape, or if no column suits Arrow."""
        layout = self._layout
        if not self._certain and not layout.shapes(values):
            return None
        try:
            columns = layout.split(values)
        except (NotColumnarError, AttributeError, ValueError):
            return None
        arrays, numbers, rest = [], [], []
        for number, column in enumerate(columns):
            array = self._array(number, column)
            if array is None:
                rest.append(column)
            else:
                arrays.append(array)
                numbers.append(number)
        if not arrays:
            return None
        present = tuple(numbers)
        schema = self._schemas.get(present)
        if schema is None:
            schema = self._schemas[present] = layout.schema(present)
        batch = pa.record_batch(arrays, schema=schema).serialize().to_pybytes()
        return self._pickled_type, present, batch, rest, _keys_or_column(keys, columns, present)

    def _array(self, number: int, values: Sequence[Any]) -> Any:
        """A column as an Arrow array; None if it must be pickled to preserve its values."""
        column = self._layout.columns[number]
        if column.slow or (not self._certain and not self._layout.types[number].fits(values)):
            return None
        try:
            return column.encode(values)
        except (NotColumnarError, AttributeError, *_ARROW_ERRORS):
            return None


def _keys_or_column(
    keys: list[Any] | None, columns: list[Sequence[Any]], numbers: tuple[int, ...]
) -> list[Any] | int | None:
    """The keys, or the number of the Arrow column with the same objects, so that they are sent once."""
    if keys:
        for number in numbers:
            column = columns[number]
            if column[0] is keys[0] and all(map(is_, keys, column)):
                return number
    return keys


# By the classes of the running program, since a pickled type names a class that another program may define differently.
_layouts: WeakKeyDictionary[ProgramClasses, dict[bytes, ColumnLayout]] = WeakKeyDictionary()


def unpack_arrow(packed: ArrowBody) -> tuple[list[Any] | None, list[Any]]:
    """Decodes keys and values."""
    pickled_type, numbers, data, rest, keys = packed
    layouts = _layouts.setdefault(active_classes(), {})
    layout = layouts.get(pickled_type)
    if layout is None:
        type_info = pickle.loads(pickled_type)
        column = wire_column(type_info)
        assert column is not None
        layout = layouts[pickled_type] = ColumnLayout(type_info, column)
    batch = pa.ipc.read_record_batch(pa.py_buffer(data), layout.schema(numbers))
    columns: list[Any] = [None] * len(layout.columns)
    for number, array in zip(numbers, batch.columns, strict=True):
        columns[number] = layout.columns[number].decode(array)
    others = iter(rest)
    columns = [next(others) if c is None else c for c in columns]
    return (columns[keys] if isinstance(keys, int) else keys), layout.join(columns)


def arrow_packer(type_info: TypeInformation, certain: bool) -> ArrowPacker | None:
    """The packer of a type; None if pickling is faster. `certain` means that all elements were checked against the type."""
    column = wire_column(type_info)
    if column is None:
        return None
    layout = ColumnLayout(type_info, column)
    if all(c.slow for c in layout.columns) or (layout.pickles_as_columns and not certain):
        return None  # checking each value would cost more than Arrow saves
    return ArrowPacker(type_info, layout, certain)
