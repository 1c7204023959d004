"""Conversion of elements of a known type to Arrow record batches that Spark can read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from penstock.errors import PlanError
from penstock.types import TypeInformation
from penstock.types.arrow import ArrowColumn, NoArrowType, SparkColumns, structure
from penstock.types.fields import FieldsTypeInfo


class ArrowConverter:
    """Converts elements of a type to record batches with one column per field, or with one column `value`.

    >>> from penstock.types import Types
    >>> ArrowConverter(Types.TUPLE([Types.STRING(), Types.LONG()])).batch([("a", 1)]).to_pylist()
    [{'f0': 'a', 'f1': 1}]
    """

    def __init__(self, type_info: TypeInformation) -> None:
        shape = structure(type_info)
        self._fields = shape if isinstance(shape, FieldsTypeInfo) else None
        names = ["value"] if self._fields is None else self._fields.get_field_names()
        self._columns = _columns(shape)
        self.schema = pa.schema([(n, c.arrow) for n, c in zip(names, self._columns, strict=True)])

    def batch(self, values: Sequence[Any]) -> Any:
        """Returns a record batch of the elements."""
        fields = [values] if self._fields is None else self._fields.columns(values)
        arrays = [column.array(field) for column, field in zip(self._columns, fields, strict=True)]
        return pa.record_batch(arrays, schema=self.schema)


def _columns(shape: TypeInformation) -> list[ArrowColumn]:
    try:
        return SparkColumns().fields(shape) if isinstance(shape, FieldsTypeInfo) else [SparkColumns().visit(shape)]
    except NoArrowType as error:
        raise PlanError(
            "DATAFRAME_TYPE",
            f"Column '{'.'.join(error.path) or 'value'}' has the type {error.type_info.name}, which Spark has no column type for. "
            "Map the elements to rows of simple types first, with output_type=Types.ROW_NAMED([...], [...]).",
        ) from None
