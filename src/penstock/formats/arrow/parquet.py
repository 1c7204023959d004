"""Bulk format of Parquet files."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import cached_property
from typing import IO, Any

from penstock.formats.arrow.rows import ArrowRows, warn_unused_settings
from penstock.formats.avro.schema import AvroSchema
from penstock.formats.bulk import BulkFormat, BulkWriter, BulkWriterFactory
from penstock.formats.column_type import column_type
from penstock.types import TypeInformation

_ROWS_PER_BATCH = 8192


class ParquetColumnarRowInputFormat(BulkFormat):
    """Reads Parquet files as rows, or as objects of a class. Reads only the columns of the type; missing columns are None.

    `row_type` is a row type, a class type such as `Types.of(Order)`, or a row type of the PyFlink Table API. Timestamps are always
    read as UTC, whatever `is_utc_timestamp` is.
    """

    splittable = True  # between row groups

    def __init__(
        self,
        row_type: Any,
        hadoop_config: Any = None,
        batch_size: int = 2048,
        is_utc_timestamp: bool = False,
        is_case_sensitive: bool = True,
        *,
        as_dicts: bool = False,
    ) -> None:
        warn_unused_settings("ParquetColumnarRowInputFormat", hadoop_config=hadoop_config)
        self.output_type: Any = None if as_dicts else column_type(row_type)
        self._type: TypeInformation = column_type(row_type)
        self._batch_size = batch_size
        self._is_case_sensitive = is_case_sensitive
        self._as_dicts = as_dicts
        _ = self._rows

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_rows"}

    @cached_property
    def _rows(self) -> ArrowRows:
        return ArrowRows(self._type, self._as_dicts)

    def read(self, file_object: IO[bytes]) -> Iterator[list[Any]]:
        for _, elements in self.read_between(file_object, 0, sys.maxsize):
            yield elements

    def read_between(self, file_object: IO[bytes], low: int, high: int) -> Iterator[tuple[int, list[Any]]]:
        import pyarrow.parquet as pq  # slow to import, and most jobs do not need it

        rows, file = self._rows, pq.ParquetFile(file_object)
        in_file = file.schema_arrow.names
        if self._is_case_sensitive:
            known = {name: name for name in rows.names if name in in_file}
        else:
            folded = {name.lower(): name for name in in_file}
            known = {name: folded[name.lower()] for name in rows.names if name.lower() in folded}
        names = {column: name for name, column in known.items()}
        columns = list(known.values())
        for group, first in _row_groups(file.metadata, low, high):
            for batch in file.iter_batches(batch_size=self._batch_size, row_groups=[group], columns=columns):
                yield first, rows.elements(batch.rename_columns([names[name] for name in batch.schema.names]))
                first += batch.num_rows


def _row_groups(metadata: Any, low: int, high: int) -> Iterator[tuple[int, int]]:
    """Yields the row groups that start in a byte range, each with the number of its first row."""
    first = 0
    for number in range(metadata.num_row_groups):
        group = metadata.row_group(number)
        columns = [group.column(at) for at in range(group.num_columns)]
        begin = min((c.dictionary_page_offset or c.data_page_offset for c in columns), default=0)
        if low <= begin < high:
            yield number, first
        first += group.num_rows


class _ParquetWriter(BulkWriter):
    def __init__(self, rows: ArrowRows, file_object: IO[bytes]) -> None:
        import pyarrow.parquet as pq

        self._rows = rows
        self._writer = pq.ParquetWriter(file_object, rows.schema)

    def write(self, values: list[Any]) -> None:
        if values:
            self._writer.write_batch(self._rows.batch(values))

    def finish(self) -> None:
        self._writer.close()


class _ParquetWriters(BulkWriterFactory):
    extension = ".parquet"

    def __init__(self, kind: TypeInformation) -> None:
        self._type = kind
        ArrowRows(kind)

    def create(self, file_object: IO[bytes]) -> BulkWriter:
        return _ParquetWriter(ArrowRows(self._type), file_object)


class ParquetBulkWriters:
    """Creates writers of Parquet files.

    >>> from penstock.types import Types
    >>> ParquetBulkWriters.for_row_type(Types.ROW_NAMED(["a"], [Types.INT()])).extension
    '.parquet'
    """

    @staticmethod
    def for_row_type(row_type: Any, hadoop_config: Any = None, utc_timestamp: bool = False) -> BulkWriterFactory:
        """Returns a writer factory for rows, or for objects of a class. Timestamps are always written as UTC."""
        warn_unused_settings("ParquetBulkWriters.for_row_type", hadoop_config=hadoop_config)
        return _ParquetWriters(column_type(row_type))


class AvroParquetReaders:
    """Creates readers of Parquet files with an Avro schema."""

    @staticmethod
    def for_generic_record(schema: AvroSchema) -> BulkFormat:
        """Returns a format that reads records as dicts."""
        return ParquetColumnarRowInputFormat(schema.row_type(), batch_size=_ROWS_PER_BATCH, as_dicts=True)


class AvroParquetWriters:
    """Creates writers of Parquet files with an Avro schema."""

    @staticmethod
    def for_generic_record(schema: AvroSchema) -> BulkWriterFactory:
        """Returns a writer factory for records as dicts."""
        return _ParquetWriters(schema.row_type())
