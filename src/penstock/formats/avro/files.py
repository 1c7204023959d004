"""Bulk format of Avro files."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import IO, Any

from penstock.formats.avro.schema import AvroSchema, GenericRecordAvroTypeInfo, fastavro
from penstock.formats.bulk import BulkFormat, BulkWriter, BulkWriterFactory

_BLOCK_SIZE = 4096  # records


class AvroInputFormat(BulkFormat):
    """Reads Avro files as dicts. Converts records from the schema in the file to this schema.

    `env.create_input(AvroInputFormat(path, schema))` reads a file or a folder.
    """

    def __init__(self, path: str, schema: AvroSchema) -> None:
        self.path = path
        self.schema = schema

    def get_produced_type(self) -> GenericRecordAvroTypeInfo:
        """Returns the type of the records."""
        return GenericRecordAvroTypeInfo(self.schema)

    def read(self, file_object: IO[bytes]) -> Iterator[list[Any]]:
        records = iter(fastavro().reader(file_object, self.schema.parsed))
        while block := list(itertools.islice(records, _BLOCK_SIZE)):
            yield block


class _AvroWriter(BulkWriter):
    def __init__(self, schema: AvroSchema, file_object: IO[bytes]) -> None:
        self._writer = fastavro().write.Writer(file_object, schema.parsed, codec="deflate")

    def write(self, values: list[Any]) -> None:
        for value in values:
            self._writer.write(value)

    def finish(self) -> None:
        self._writer.flush()


class _AvroWriters(BulkWriterFactory):
    extension = ".avro"

    def __init__(self, schema: AvroSchema) -> None:
        self._schema = schema

    def create(self, file_object: IO[bytes]) -> BulkWriter:
        return _AvroWriter(self._schema, file_object)


class AvroBulkWriters:
    """Creates writers of Avro files."""

    @staticmethod
    def for_generic_record(schema: AvroSchema) -> BulkWriterFactory:
        """Returns a writer factory for records as dicts."""
        return _AvroWriters(schema)
