"""The formats 'avro' and 'avro-confluent'."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Sequence
from typing import IO, Any

from penstock.errors import UnsupportedOperation
from penstock.formats.avro.schema import AvroSchema, fastavro
from penstock.formats.avro.schema_registry import HttpRegistry
from penstock.formats.bulk import BulkFormat, BulkWriter, BulkWriterFactory
from penstock.formats.columns.avro import AvroDecoder, AvroEncoder, AvroFileRecords, AvroFileRows
from penstock.formats.columns.avro_schema import avro_schema
from penstock.formats.columns.interface import Decoder, Encoder
from penstock.table.connectors.formats.format import ReadRequest, TableFormat
from penstock.table.connectors.options import Option
from penstock.types.logical.kinds import Field

_RECORDS = 8192
_CODECS = ("null", "deflate", "snappy", "bzip2", "xz", "zstandard")
_LEGACY = Option("timestamp_mapping.legacy", "boolean", True)
_SSL = "the client of the registry verifies servers with the certificates of the system."


class AvroFormat(TableFormat):
    """Avro records whose schema comes from the table; in files, Avro container files."""

    name = "avro"
    whole_files = True
    options: tuple[Option, ...] = (
        _LEGACY,
        Option("encoding", "enum", "binary", choices=("binary", "json")),
        Option("codec", "enum", "snappy", choices=_CODECS),
    )

    def _check_encoding(self, values: dict[str, Any]) -> None:
        if values["encoding"] == "json":
            raise UnsupportedOperation(
                "TABLE_FORMAT", "'avro.encoding' = 'json' is not supported. Use the format 'json'."
            )

    def decoder(self, request: ReadRequest, values: dict[str, Any]) -> Decoder:
        self._check_encoding(values)
        return AvroDecoder(request.all_fields, request.fields, values["timestamp_mapping.legacy"])

    def encoder(self, fields: Sequence[Field], values: dict[str, Any]) -> Encoder:
        self._check_encoding(values)
        return AvroEncoder(fields, values["timestamp_mapping.legacy"])

    def file_reader(self, request: ReadRequest, values: dict[str, Any]) -> BulkFormat:
        return _AvroFiles(json.dumps(avro_schema(request.fields, values["timestamp_mapping.legacy"])))

    def file_decoder(self, request: ReadRequest, values: dict[str, Any]) -> Decoder:
        return AvroFileRecords(request.fields)

    def file_writer(self, fields: Sequence[Field], values: dict[str, Any], paired: bool = False) -> BulkWriterFactory:
        schema = json.dumps(avro_schema(fields, values["timestamp_mapping.legacy"]))
        return _AvroWriters(schema, values["codec"], paired)

    def file_encoder(self, fields: Sequence[Field], values: dict[str, Any]) -> Encoder:
        return AvroFileRows(fields)


class _AvroFiles(BulkFormat):
    """Reads container files as dicts. The schema in a file may have other fields in another order."""

    def __init__(self, schema: str) -> None:
        self.schema = schema

    def read(self, file_object: IO[bytes]) -> Iterator[list[Any]]:
        records = iter(fastavro().reader(file_object, AvroSchema(self.schema).parsed))
        while block := list(itertools.islice(records, _RECORDS)):
            yield block


class _AvroWriters(BulkWriterFactory):
    extension = ".avro"

    def __init__(self, schema: str, codec: str, paired: bool) -> None:
        self.schema = schema
        self.codec = codec
        self.paired = paired

    def create(self, file_object: IO[bytes]) -> BulkWriter:
        return _AvroWriter(self, file_object)


class _AvroWriter(BulkWriter):
    def __init__(self, settings: _AvroWriters, file_object: IO[bytes]) -> None:
        # The file has the logical types in its schema, but values are written as plain numbers and bytes.
        self._writer = fastavro().write.Writer(
            file_object, AvroSchema(settings.schema).parsed, codec=settings.codec, validator=False
        )
        self._paired = settings.paired

    def write(self, values: list[Any]) -> None:
        for value in values:
            self._writer.write(value[1] if self._paired else value)

    def finish(self) -> None:
        self._writer.flush()


class ConfluentAvroFormat(TableFormat):
    """Avro records with the id of a schema in a Confluent registry."""

    name = "avro-confluent"
    options = (
        Option("url", required=True, aliases=("schema-registry.url",)),
        Option("subject", aliases=("schema-registry.subject",)),
        Option("schema"),
        Option("basic-auth.credentials-source", "enum", choices=("USER_INFO",)),
        Option("basic-auth.user-info"),
        Option("bearer-auth.credentials-source", refused="use 'basic-auth.user-info'."),
        Option("bearer-auth.token", refused="use 'basic-auth.user-info'."),
        Option("ssl.keystore.location", refused=_SSL),
        Option("ssl.keystore.password", refused=_SSL),
        Option("ssl.truststore.location", refused=_SSL),
        Option("ssl.truststore.password", refused=_SSL),
        Option("properties.*", refused="options of Java's client have no meaning here."),
        _LEGACY,
    )

    def decoder(self, request: ReadRequest, values: dict[str, Any]) -> Decoder:
        legacy = values["timestamp_mapping.legacy"]
        return AvroDecoder(request.all_fields, request.fields, legacy, _registry(values), values["schema"])

    def encoder(self, fields: Sequence[Field], values: dict[str, Any]) -> Encoder:
        legacy, subject = values["timestamp_mapping.legacy"], values["subject"]
        if not subject:
            raise UnsupportedOperation(
                "TABLE_OPTION", "Option 'avro-confluent.subject' is required for serialization, such as 'TOPIC-value'."
            )
        return AvroEncoder(fields, legacy, _registry(values), subject, values["schema"])


def _registry(values: dict[str, Any]) -> HttpRegistry:
    user, _, password = (values["basic-auth.user-info"] or "").partition(":")
    return HttpRegistry(values["url"], user or None, password or None)
