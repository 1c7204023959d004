"""Files of Avro, under Flink's names."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import IO, Any

from penstock.formats.avro_schema import AvroSchema, GenericRecordAvroTypeInfo, avro
from penstock.formats.bulk import BulkFormat, BulkWriter, BulkWriterFactory

_RECORDS = 4096


class AvroInputFormat(BulkFormat):
    """Reads files of Avro as dicts. A file carries the schema that it was written with; it is read as this one says.

    `env.create_input(AvroInputFormat(path, schema))` reads a file or a folder.
    """

    def __init__(self, path: str, schema: AvroSchema) -> None:
        self.path = path
        self.schema = schema

    def get_produced_type(self) -> GenericRecordAvroTypeInfo:
        """The type of the records."""
        return GenericRecordAvroTypeInfo(self.schema)

    def read(self, file_object: IO[bytes]) -> Iterator[list[Any]]:
        records = iter(avro().reader(file_object, self.schema.parsed))
        while some := list(itertools.islice(records, _RECORDS)):
            yield some


class _AvroWriter(BulkWriter):
    def __init__(self, schema: AvroSchema, file_object: IO[bytes]) -> None:
        self._writer = avro().write.Writer(file_object, schema.parsed, codec="deflate")

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
    """Makes writers of files of Avro."""

    @staticmethod
    def for_generic_record(schema: AvroSchema) -> BulkWriterFactory:
        """Of records that are dicts."""
        return _AvroWriters(schema)
