"""Parquet and ORC files: record batches to columns and back."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import IO, Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from penstock.errors import ElementError
from penstock.formats.bulk import BulkFormat, BulkWriter, BulkWriterFactory
from penstock.formats.columns.interface import Decoded
from penstock.runtime.relational.changes import Changes
from penstock.types.logical.arrow import arrow_type
from penstock.types.logical.kinds import Field

_ROWS = 16_384
FileKind = Literal["parquet", "orc"]


class ArrowFileReader(BulkFormat):
    """Reads the wanted columns of files. Each element is a record batch."""

    def __init__(self, kind: FileKind, names: Sequence[str], batch_size: int = _ROWS) -> None:
        self.kind = kind
        self.names = tuple(names)
        self.batch_size = batch_size

    def read(self, file_object: IO[bytes]) -> Iterator[list[Any]]:
        """Yields record batches."""
        if self.kind == "parquet":
            import pyarrow.parquet as pq  # slow to import, and most jobs do not need it

            file = pq.ParquetFile(file_object)
            known = [name for name in self.names if name in file.schema_arrow.names]
            for batch in file.iter_batches(batch_size=self.batch_size, columns=known):
                yield [batch]
            return
        from pyarrow import orc

        reader = orc.ORCFile(file_object)
        known = [name for name in self.names if name in reader.schema.names]
        for number in range(reader.nstripes):
            stripe = reader.read_stripe(number, columns=known)
            for start in range(0, stripe.num_rows, self.batch_size):
                yield [stripe.slice(start, self.batch_size)]


class BatchDecoder:
    """Turns record batches into rows of the declared types. Missing columns are null."""

    def __init__(self, fields: Sequence[Field]) -> None:
        self.fields = tuple(fields)

    def decode(self, elements: list[Any]) -> Decoded:
        """Decodes record batches. The origin of a row is its batch."""
        parts = [Changes([self._column(batch, f) for f in self.fields], batch.num_rows) for batch in elements]
        if not parts:
            return Decoded(Changes.empty([f.type for f in self.fields]))
        origins = np.repeat(np.arange(len(elements)), [batch.num_rows for batch in elements])
        return Decoded(Changes.concatenate(parts), origins)

    def _column(self, batch: pa.RecordBatch, field: Field) -> pa.Array:
        wanted = arrow_type(field.type)
        if field.name not in batch.schema.names:
            return pa.nulls(batch.num_rows, wanted)
        column = batch.column(field.name)
        return column if column.type == wanted else fit_column(column, wanted, field)


def fit_column(column: pa.Array, wanted: pa.DataType, field: Field) -> pa.Array:
    """Converts a column of a file to its declared type. Digits of a second that the type does not have are cut."""
    try:
        return pc.cast(column, options=pc.CastOptions(wanted, allow_time_truncate=True))
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise ElementError(
            "RECORD_FIELD",
            f"Column '{field.name}' has the type {field.type}, but the file contains {column.type}: {error}. Correct the type.",
        ) from None


class BatchEncoder:
    """Makes one record batch of the rows."""

    def __init__(self, fields: Sequence[Field]) -> None:
        self.fields = tuple(fields)

    def encode(self, changes: Changes) -> tuple[list[Any], NDArray[np.int64] | None]:
        """Returns one element for all rows; its position is that of the first row."""
        if not changes.length:
            return [], np.empty(0, np.int64)
        batch = pa.RecordBatch.from_arrays(changes.columns, schema=file_schema(self.fields))
        return [batch], np.zeros(1, np.int64)


def file_schema(fields: Sequence[Field]) -> pa.Schema:
    """Returns the Arrow schema of some fields."""
    return pa.schema([pa.field(f.name, arrow_type(f.type), f.type.nullable) for f in fields])


class ArrowFileWriters(BulkWriterFactory):
    """Creates writers of Parquet or ORC files whose elements are record batches, or pairs of a partition and a batch."""

    def __init__(self, kind: FileKind, fields: Sequence[Field], compression: str, paired: bool = False) -> None:
        self.kind = kind
        self.fields = tuple(fields)
        self.compression = compression
        self.paired = paired
        self.extension = f".{kind}"

    def create(self, file_object: IO[bytes]) -> BulkWriter:
        """Creates the writer of an open file."""
        return _Writer(self, file_object)


class _Writer(BulkWriter):
    def __init__(self, settings: ArrowFileWriters, file_object: IO[bytes]) -> None:
        self._schema = file_schema(settings.fields)
        self._paired = settings.paired
        self._empty = True
        if settings.kind == "parquet":
            import pyarrow.parquet as pq

            self._writer: Any = pq.ParquetWriter(file_object, self._schema, compression=settings.compression)
        else:
            from pyarrow import orc

            self._writer = orc.ORCWriter(file_object, compression=settings.compression)

    def write(self, values: list[Any]) -> None:
        for value in values:
            batch = value[1] if self._paired else value
            self._writer.write(pa.Table.from_batches([batch]))
            self._empty = False

    def finish(self) -> None:
        if self._empty:
            self._writer.write(self._schema.empty_table())
        self._writer.close()
