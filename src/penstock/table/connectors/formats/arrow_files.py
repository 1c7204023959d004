"""The formats 'parquet' and 'orc'."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from penstock.errors import UnsupportedOperation
from penstock.formats.bulk import BulkFormat, BulkWriterFactory
from penstock.formats.columns.arrow_files import ArrowFileReader, ArrowFileWriters, BatchDecoder, BatchEncoder, FileKind
from penstock.formats.columns.interface import Decoder, Encoder
from penstock.table.connectors.formats.format import ReadRequest, TableFormat
from penstock.table.connectors.options import Option
from penstock.types.logical.kinds import (
    ArrayType,
    DayTimeIntervalType,
    Field,
    LogicalType,
    MapType,
    MultisetType,
    RowType,
    TimeType,
)

_TUNING = "Arrow chooses the layout of the file."


class ParquetFormat(TableFormat):
    """Parquet files."""

    name = "parquet"
    kind: FileKind = "parquet"
    whole_files = True
    in_messages = False
    options: tuple[Option, ...] = (
        Option("utc-timezone", "boolean", False),
        Option("timestamp.time.unit", "enum", "micros", choices=("nanos", "micros", "millis")),
        Option("write.int64.timestamp", "boolean", False),
        Option("batch-size", "int", 16_384),
        Option("compression", "enum", "SNAPPY", choices=("UNCOMPRESSED", "SNAPPY", "GZIP", "ZSTD", "BROTLI", "LZ4")),
        Option("block.size", refused=_TUNING),
        Option("page.size", refused=_TUNING),
        Option("enable.dictionary", refused=_TUNING),
    )

    def decoder(self, request: ReadRequest, values: dict[str, Any]) -> Decoder:
        for field in request.fields:
            self._check(field)
        return BatchDecoder(request.fields)

    def encoder(self, fields: Sequence[Field], values: dict[str, Any]) -> Encoder:
        for field in fields:
            self._check(field)
        return BatchEncoder(fields)

    def file_reader(self, request: ReadRequest, values: dict[str, Any]) -> BulkFormat:
        # A query that needs only the number of rows reads one column, because a batch without columns has no length.
        names = [f.name for f in request.fields] or [request.all_fields[0].name]
        return ArrowFileReader(self.kind, names, values.get("batch-size", 16_384))

    def file_writer(self, fields: Sequence[Field], values: dict[str, Any], paired: bool = False) -> BulkWriterFactory:
        compression = values["compression"]
        return ArrowFileWriters(self.kind, fields, "NONE" if compression == "UNCOMPRESSED" else compression, paired)

    def _check(self, field: Field) -> None:
        if isinstance(field.type, DayTimeIntervalType):
            raise UnsupportedOperation("TABLE_FORMAT", f"The format '{self.name}' does not have the type {field.type}.")


class OrcFormat(ParquetFormat):
    """ORC files."""

    name = "orc"
    kind = "orc"
    options = (
        Option("compress", "enum", "ZLIB", choices=("NONE", "ZLIB", "SNAPPY", "LZ4", "ZSTD")),
        Option("stripe.size", refused=_TUNING),
        Option("row.index.stride", refused=_TUNING),
    )

    def file_writer(self, fields: Sequence[Field], values: dict[str, Any], paired: bool = False) -> BulkWriterFactory:
        compression = values["compress"]
        return ArrowFileWriters(self.kind, fields, "UNCOMPRESSED" if compression == "NONE" else compression, paired)

    def _check(self, field: Field) -> None:
        super()._check(field)
        if _has_time(field.type):
            raise UnsupportedOperation(
                "TABLE_FORMAT", f"Column '{field.name}' has the type {field.type}, but ORC has no time of day."
            )


def _has_time(type_: LogicalType) -> bool:
    match type_:
        case TimeType():
            return True
        case ArrayType() | MultisetType():
            return _has_time(type_.element)
        case MapType():
            return _has_time(type_.key) or _has_time(type_.value)
        case RowType():
            return any(_has_time(field.type) for field in type_.fields)
    return False
