"""Formats, which convert between bytes and elements."""

from penstock.formats.arrow.orc import OrcBulkWriters, OrcColumnarRowInputFormat
from penstock.formats.arrow.parquet import (
    AvroParquetReaders,
    AvroParquetWriters,
    ParquetBulkWriters,
    ParquetColumnarRowInputFormat,
)
from penstock.formats.avro.files import AvroBulkWriters, AvroInputFormat
from penstock.formats.avro.records import (
    AvroDeserializationSchema,
    AvroRowDeserializationSchema,
    AvroRowSerializationSchema,
    AvroSerializationSchema,
    ConfluentRegistryAvroDeserializationSchema,
    ConfluentRegistryAvroSerializationSchema,
)
from penstock.formats.avro.schema import AvroSchema, GenericRecordAvroTypeInfo
from penstock.formats.avro.schema_registry import FileRegistry, HttpRegistry, InMemoryRegistry, SchemaRegistry
from penstock.formats.bad_record import BadRecord
from penstock.formats.bulk import BulkFormat, BulkWriter, BulkWriterFactory
from penstock.formats.csv.files import CsvBulkWriters, CsvReaderFormat, CsvSchema, CsvSchemaBuilder
from penstock.formats.csv.rows import CsvRowDeserializationSchema, CsvRowSerializationSchema
from penstock.formats.decoding import Decoded, Decoding
from penstock.formats.json.objects import JsonDeserializationSchema, JsonSerializationSchema
from penstock.formats.json.rows import JsonRowDeserializationSchema, JsonRowSerializationSchema
from penstock.formats.row_field import RowFieldExtractorSchema
from penstock.formats.schema import DeserializationSchema, SerializationSchema
from penstock.formats.strings import ByteArraySchema, SimpleStringSchema

__all__ = [
    "AvroBulkWriters",
    "AvroDeserializationSchema",
    "AvroInputFormat",
    "AvroParquetReaders",
    "AvroParquetWriters",
    "AvroRowDeserializationSchema",
    "AvroRowSerializationSchema",
    "AvroSchema",
    "AvroSerializationSchema",
    "BadRecord",
    "BulkFormat",
    "BulkWriter",
    "BulkWriterFactory",
    "ByteArraySchema",
    "ConfluentRegistryAvroDeserializationSchema",
    "ConfluentRegistryAvroSerializationSchema",
    "CsvBulkWriters",
    "CsvReaderFormat",
    "CsvRowDeserializationSchema",
    "CsvRowSerializationSchema",
    "CsvSchema",
    "CsvSchemaBuilder",
    "Decoded",
    "Decoding",
    "DeserializationSchema",
    "FileRegistry",
    "GenericRecordAvroTypeInfo",
    "HttpRegistry",
    "InMemoryRegistry",
    "JsonDeserializationSchema",
    "JsonRowDeserializationSchema",
    "JsonRowSerializationSchema",
    "JsonSerializationSchema",
    "OrcBulkWriters",
    "OrcColumnarRowInputFormat",
    "ParquetBulkWriters",
    "ParquetColumnarRowInputFormat",
    "RowFieldExtractorSchema",
    "SchemaRegistry",
    "SerializationSchema",
    "SimpleStringSchema",
]
