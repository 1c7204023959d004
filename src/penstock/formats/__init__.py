"""Formats: how bytes become elements, and elements bytes."""

from penstock.formats.bad_record import BadRecord
from penstock.formats.bulk import BulkFormat, BulkWriter, BulkWriterFactory
from penstock.formats.csv_rows import CsvRowDeserializationSchema, CsvRowSerializationSchema
from penstock.formats.decoding import Decoded, Decoding
from penstock.formats.json_rows import JsonRowDeserializationSchema, JsonRowSerializationSchema
from penstock.formats.json_schema import JsonDeserializationSchema, JsonSerializationSchema
from penstock.formats.row_field import RowFieldExtractorSchema
from penstock.formats.schema import DeserializationSchema, SerializationSchema
from penstock.formats.strings import ByteArraySchema, SimpleStringSchema

__all__ = [
    "BadRecord",
    "BulkFormat",
    "BulkWriter",
    "BulkWriterFactory",
    "ByteArraySchema",
    "CsvRowDeserializationSchema",
    "CsvRowSerializationSchema",
    "Decoded",
    "Decoding",
    "DeserializationSchema",
    "JsonDeserializationSchema",
    "JsonRowDeserializationSchema",
    "JsonRowSerializationSchema",
    "JsonSerializationSchema",
    "RowFieldExtractorSchema",
    "SerializationSchema",
    "SimpleStringSchema",
]
