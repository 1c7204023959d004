"""The wire column of each type."""

from __future__ import annotations

import decimal
from collections.abc import Callable

from penstock.engine.wire.arrow_columns import (
    ClockColumn,
    Column,
    InstantColumn,
    ListColumn,
    MapColumn,
    SingleColumn,
    TextColumn,
)
from penstock.engine.wire.arrow_fields import FieldsColumn, ObjectColumn, RowColumn
from penstock.types import MapTypeInfo, RowTypeInfo, TupleTypeInfo, TypeInformation
from penstock.types.arrow import LEAF_TYPES, LeafVisitor
from penstock.types.collection import SequenceTypeInfo
from penstock.types.fields import FieldsTypeInfo
from penstock.types.python import ClassTypeInfo

# Kinds of single values that Arrow does not return unchanged without help.
_LEAF_COLUMNS: dict[str, Callable[[], Column]] = {
    "bigint": lambda: TextColumn(int),
    "decimal": lambda: TextColumn(decimal.Decimal),
    "time": lambda: ClockColumn(LEAF_TYPES["time"].wire),
    "datetime": lambda: ClockColumn(LEAF_TYPES["datetime"].wire),
    "instant": InstantColumn,
}


def wire_column(type_info: TypeInformation) -> Column | None:
    """Returns the column of a type, or None if a part of the type is pickled."""
    return _WireColumns().visit(type_info)


class _WireColumns(LeafVisitor[Column | None]):
    def visit_leaf(self, leaf: str, type_info: TypeInformation) -> Column | None:
        return _LEAF_COLUMNS[leaf]() if leaf in _LEAF_COLUMNS else SingleColumn(LEAF_TYPES[leaf].wire)

    def visit_list(self, type_info: SequenceTypeInfo) -> Column | None:
        element = self.visit(type_info.element_type)
        return None if element is None else ListColumn(element)

    def visit_map(self, type_info: MapTypeInfo) -> Column | None:
        key, value = self.visit(type_info.key_type), self.visit(type_info.value_type)
        return None if key is None or value is None else MapColumn(key, value)

    def visit_tuple(self, type_info: TupleTypeInfo) -> Column | None:
        fields = self._fields(type_info)
        return FieldsColumn(type_info, fields) if fields else None

    def visit_row(self, type_info: RowTypeInfo) -> Column | None:
        fields = self._fields(type_info)
        return RowColumn(type_info, fields) if fields else None

    def visit_class(self, type_info: ClassTypeInfo) -> Column | None:
        fields = self._fields(type_info)
        return ObjectColumn(type_info, fields) if fields else None

    def visit_opaque(self, type_info: TypeInformation) -> Column | None:
        return None

    def _fields(self, type_info: FieldsTypeInfo) -> list[Column]:
        """Returns the columns of the fields, or an empty list if one of them has none."""
        columns = [self.visit(t) for t in type_info.field_types]
        known = [c for c in columns if c is not None]
        return known if len(known) == len(columns) else []
