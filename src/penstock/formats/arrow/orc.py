"""Bulk format of ORC files."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import IO, Any

import pyarrow as pa

from penstock.errors import UnsupportedOperation
from penstock.formats.arrow.rows import ArrowRows, warn_unused_settings
from penstock.formats.bulk import BulkFormat, BulkWriter, BulkWriterFactory
from penstock.formats.column_type import column_type
from penstock.types import TypeInformation


class OrcColumnarRowInputFormat(BulkFormat):
    """Reads ORC files as rows, or as objects of a class. Reads only the columns of the type; missing columns are None."""

    def __init__(self, row_type: Any) -> None:
        self.output_type: Any = column_type(row_type)
        _ = self._rows

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_rows"}

    @cached_property
    def _rows(self) -> ArrowRows:
        return _check_types(self.output_type)

    def read(self, file_object: IO[bytes]) -> Iterator[list[Any]]:
        from pyarrow import orc  # slow to import, and most jobs do not need it

        rows, file = self._rows, orc.ORCFile(file_object)
        known = [name for name in rows.names if name in file.schema.names]
        for number in range(file.nstripes):
            batch = file.read_stripe(number, columns=known)
            for start in range(0, batch.num_rows, 8192):
                yield rows.elements(batch.slice(start, 8192))


def _check_types(kind: TypeInformation) -> ArrowRows:
    rows = ArrowRows(kind)
    for field in rows.schema:
        if "time64" in str(field.type):
            raise UnsupportedOperation(
                "ORC_TYPE",
                f"Field '{field.name}' is a time, which ORC does not support. Convert it to a string or a number.",
            )
    return rows


class _OrcWriter(BulkWriter):
    def __init__(self, rows: ArrowRows, file_object: IO[bytes]) -> None:
        from pyarrow import orc

        self._rows = rows
        self._writer = orc.ORCWriter(file_object)
        self._has_rows = False

    def write(self, values: list[Any]) -> None:
        if values:
            self._writer.write(pa.Table.from_batches([self._rows.batch(values)]))
            self._has_rows = True

    def finish(self) -> None:
        if not self._has_rows:  # the schema is written with the first table
            self._writer.write(self._rows.schema.empty_table())
        self._writer.close()


class _OrcWriters(BulkWriterFactory):
    extension = ".orc"

    def __init__(self, kind: TypeInformation) -> None:
        self._type = kind
        _check_types(kind)

    def create(self, file_object: IO[bytes]) -> BulkWriter:
        return _OrcWriter(ArrowRows(self._type), file_object)


class OrcBulkWriters:
    """Creates writers of ORC files.

    >>> from penstock.types import Types
    >>> OrcBulkWriters.for_row_type(Types.ROW_NAMED(["a"], [Types.INT()])).extension
    '.orc'
    """

    @staticmethod
    def for_row_type(row_type: Any, writer_properties: Any = None, hadoop_config: Any = None) -> BulkWriterFactory:
        """Returns a writer factory for rows, or for objects of a class."""
        warn_unused_settings(
            "OrcBulkWriters.for_row_type", writer_properties=writer_properties, hadoop_config=hadoop_config
        )
        return _OrcWriters(column_type(row_type))
