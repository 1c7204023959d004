"""Columns of values with fields: tuples, rows and objects."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from operator import attrgetter
from typing import Any

import pyarrow as pa

from penstock.engine.wire.arrow_columns import (
    Column,
    NotColumnarError,
    SingleColumn,
    holds_objects,
    none_mask,
    with_none,
)
from penstock.row import RowKind, make_row
from penstock.types import RowTypeInfo
from penstock.types.fields import FieldsTypeInfo
from penstock.types.information import has_none
from penstock.types.python import ClassTypeInfo

_ROW_KINDS = tuple(RowKind)


class FieldsColumn:
    """Tuples, rows and objects: one column per field."""

    of_objects = False

    def __init__(self, type_info: FieldsTypeInfo, fields: list[Column]) -> None:
        self.type_info = type_info
        self.parts: Sequence[Column] = fields
        self.slow = not any(map(holds_objects, fields))
        self.arrow = pa.struct([(str(i), f.arrow) for i, f in enumerate(fields)])

    def encode(self, values: Sequence[Any]) -> Any:
        if not has_none(values):
            return pa.StructArray.from_arrays(self._arrays(self.split(values)), fields=list(self.arrow))
        columns = self.split([v for v in values if v is not None])
        here = [v is not None for v in values]
        spread = []
        for column in columns:
            rest = iter(column)
            spread.append([next(rest) if h else None for h in here])
        return pa.StructArray.from_arrays(self._arrays(spread), fields=list(self.arrow), mask=none_mask(values))

    def decode(self, array: Any) -> list[Any]:
        columns = [f.decode(array.field(i)) for i, f in enumerate(self.parts)]
        return with_none(self.join(columns), array)

    def split(self, values: Sequence[Any]) -> list[Sequence[Any]]:
        """Splits values into columns."""
        return self.type_info.columns(values)

    def join(self, columns: list[list[Any]]) -> list[Any]:
        """Joins columns to values."""
        return list(zip(*columns, strict=True))

    def _arrays(self, columns: Sequence[Sequence[Any]]) -> list[Any]:
        return [f.encode(c) for f, c in zip(self.parts, columns, strict=True)]


class RowColumn(FieldsColumn):
    """Rows: their fields, and their kind."""

    of_objects = True

    def __init__(self, type_info: RowTypeInfo, fields: list[Column]) -> None:
        super().__init__(type_info, [*fields, SingleColumn(pa.int8())])
        self.slow = False
        self._names = type_info.get_field_names()

    def split(self, values: Sequence[Any]) -> list[Sequence[Any]]:
        return [*self.type_info.columns(values), [r._row_kind.value for r in values]]

    def join(self, columns: list[list[Any]]) -> list[Any]:
        *fields, kinds = columns
        names, known = self._names, _ROW_KINDS
        rows = zip(*fields, strict=True) if fields else (() for _ in kinds)
        return [make_row(names, list(v), known[k or 0]) for v, k in zip(rows, kinds, strict=True)]


class ObjectColumn(FieldsColumn):
    """Dataclasses, Structs and NamedTuples whose constructor takes exactly their fields, in order."""

    of_objects = True

    def __init__(self, type_info: ClassTypeInfo, fields: list[Column]) -> None:
        super().__init__(type_info, fields)
        self.slow = False
        self._class = type_info.python_class
        self._names = type_info.field_names
        self._has_dict = dataclasses.is_dataclass(self._class) and hasattr(self._class, "__dict__")
        self._constructor_works: bool | None = None

    def split(self, values: Sequence[Any]) -> list[Sequence[Any]]:
        if values and not self._has_only_fields(values):
            raise NotColumnarError
        return super().split(values)

    def join(self, columns: list[list[Any]]) -> list[Any]:
        return list(map(self._class, *columns))

    def _has_only_fields(self, values: Sequence[Any]) -> bool:
        if self._constructor_works is None:
            self._constructor_works = self._try_constructor(values[0])
        if not self._constructor_works:
            return False
        with_dict = self._has_dict and hasattr(values[0], "__dict__")
        return not with_dict or set(map(len, map(attrgetter("__dict__"), values))) <= {len(self._names)}

    def _try_constructor(self, example: Any) -> bool:
        if hasattr(self._class, "__post_init__"):
            return False
        values = [getattr(example, n) for n in self._names]
        try:
            same = self._class(*values)
        except TypeError:
            return False
        return all(getattr(same, n) is v for n, v in zip(self._names, values, strict=True))
