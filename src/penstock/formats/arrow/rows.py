"""Conversion of elements to Arrow record batches and back, for Parquet and ORC files."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from penstock.errors import PlanError, warn_ignored
from penstock.formats.type_check import convert_elements_to
from penstock.types import RowTypeInfo, TypeInformation
from penstock.types.arrow import FileColumns, NoArrowType, structure
from penstock.types.python import ClassTypeInfo


def warn_unused_settings(method: str, **settings: Any) -> None:
    """Warns about settings of Flink's Java writers and readers, which pyarrow replaces."""
    for name in (name for name, value in settings.items() if value):
        warn_ignored(f"{method}: {name} has no effect. Files are read and written by pyarrow.")


class ArrowRows:
    """Converts elements of one type to record batches and back.

    >>> from penstock.types import Types
    >>> rows = ArrowRows(Types.ROW_NAMED(["a", "b"], [Types.INT(), Types.LIST(Types.STRING())]))
    >>> rows.elements(rows.batch([(1, ["x"]), (None, None)]))
    [Row(a=1, b=['x']), Row(a=None, b=None)]
    """

    def __init__(self, type_info: TypeInformation, as_dicts: bool = False) -> None:
        shape = structure(type_info)
        if not isinstance(shape, (RowTypeInfo, ClassTypeInfo)):
            raise PlanError(
                "ROW_TYPE_EXPECTED",
                f"A columnar file format got the type {type_info!r}, which has no named fields. Use a row type such as "
                "Types.ROW_NAMED([names], [types]), or a class with declared fields such as Types.of(Order).",
            )
        self.shape = shape
        self.names = shape.get_field_names()
        columns = FileColumns(as_dicts)
        try:
            self._columns = columns.fields(shape)
        except NoArrowType as error:
            raise PlanError(
                "COLUMN_TYPE",
                f"Field '{'.'.join(error.path)}' has the type {error.type_info!r}, which columnar files cannot store. Declare the "
                "type of every field.",
            ) from None
        stored = [(n, c.arrow) for n, c in zip(self.names, self._columns, strict=True) if not pa.types.is_null(c.arrow)]
        self.schema = pa.schema(stored)
        self._construct = columns.constructor(shape)

    def batch(self, values: list[Any]) -> pa.RecordBatch:
        """Returns the elements as a record batch."""
        rows = convert_elements_to("A file of columns", self.shape, values)
        arrays = []
        for name, column, fields in zip(self.names, self._columns, self.shape.columns(rows), strict=True):
            if pa.types.is_null(column.arrow):
                continue
            try:
                arrays.append(column.array(fields))
            except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError) as error:
                raise ValueError(f"field '{name}' does not fit a column of type {column.arrow}: {error}") from None
        return pa.record_batch(arrays, schema=self.schema)

    def elements(self, batch: Any) -> list[Any]:
        """Returns the elements of a record batch. Fields without a column are None."""
        fields = []
        for name, column in zip(self.names, self._columns, strict=True):
            index = batch.schema.get_field_index(name)
            if index < 0:
                fields.append([None] * batch.num_rows)
                continue
            array = batch.column(index)
            try:
                values = (array if array.type == column.arrow else array.cast(column.arrow)).to_pylist()
            except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
                raise ValueError(
                    f"column '{name}' has the type {array.type} and cannot be read as {column.arrow}: {error}"
                ) from None
            decode = column.decode
            fields.append(values if decode is None else [None if v is None else decode(v) for v in values])
        construct = self._construct
        return [construct(list(values)) for values in zip(*fields, strict=True)]
