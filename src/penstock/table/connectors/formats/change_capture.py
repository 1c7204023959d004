"""The formats of change capture: debezium-json, ogg-json, canal-json and maxwell-json."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from penstock.errors import ConfigError, UnsupportedOperation
from penstock.formats.columns.change_encoders import ChangeEncoder, Envelope
from penstock.formats.columns.change_records import DEBEZIUM, OGG, BeforeAfterDecoder, EnvelopeNames, MetadataField
from penstock.formats.columns.interface import Decoder, Encoder
from penstock.formats.columns.old_values import CANAL, MAXWELL, OldValuesDecoder, OldValuesFormat
from penstock.table.connectors.formats.format import ReadRequest, TableFormat
from penstock.table.connectors.formats.json import (
    IGNORE_ERRORS,
    TIMESTAMP_FORMAT,
    WRITE_OPTIONS,
    read_settings,
    write_settings,
)
from penstock.table.connectors.formats.metadata import CastMetadata
from penstock.table.connectors.options import Option
from penstock.types.logical.kinds import BIGINT, INT, STRING, ArrayType, Field, MapType

_TEXTS = ArrayType(STRING)
_PROPERTIES = MapType(STRING, STRING)
_OPTIONS = (IGNORE_ERRORS, TIMESTAMP_FORMAT, *WRITE_OPTIONS)
_TIMESTAMP = "TIMESTAMP_LTZ(3)"


class ChangeFormat(TableFormat):
    """Rows with a kind, in an envelope."""

    options: tuple[Option, ...] = _OPTIONS
    read_mode = "retract"
    write_mode = "retract"
    fields: Mapping[str, MetadataField] = MappingProxyType({})  # metadata by key
    envelope: Envelope = "before-after"
    operation = "op"
    operations = ("c", "d")

    def decoder(self, request: ReadRequest, values: dict[str, Any]) -> Decoder:
        metadata = [self.fields[key] for key, _ in request.metadata]
        decoder = self.rows(request.fields, metadata, values)
        return CastMetadata.if_needed(decoder, request, self.metadata)

    def rows(self, fields: Sequence[Field], metadata: Sequence[MetadataField], values: dict[str, Any]) -> Decoder:
        """Returns the decoder of rows, then metadata."""
        raise NotImplementedError

    def encoder(self, fields: Sequence[Field], values: dict[str, Any]) -> Encoder:
        return ChangeEncoder(fields, self.envelope, self.operation, self.operations, write_settings(values))


class DebeziumFormat(ChangeFormat):
    """Records of Debezium, with or without the schema around them."""

    name = "debezium-json"
    options = (Option("schema-include", "boolean", False), *_OPTIONS)
    metadata = MappingProxyType(
        {
            "schema": "STRING",
            "ingestion-timestamp": _TIMESTAMP,
            "source.timestamp": _TIMESTAMP,
            "source.database": "STRING",
            "source.schema": "STRING",
            "source.table": "STRING",
            "source.properties": "MAP<STRING, STRING>",
        }
    )
    fields = MappingProxyType(
        {
            "schema": MetadataField("schema", STRING, outside=True),
            "ingestion-timestamp": MetadataField("ts_ms", BIGINT, milliseconds=True),
            "source.timestamp": MetadataField("source", _PROPERTIES, "ts_ms", milliseconds=True),
            "source.database": MetadataField("source", _PROPERTIES, "db"),
            "source.schema": MetadataField("source", _PROPERTIES, "schema"),
            "source.table": MetadataField("source", _PROPERTIES, "table"),
            "source.properties": MetadataField("source", _PROPERTIES),
        }
    )
    names: EnvelopeNames = DEBEZIUM

    def rows(self, fields: Sequence[Field], metadata: Sequence[MetadataField], values: dict[str, Any]) -> Decoder:
        return BeforeAfterDecoder(
            fields, self.names, read_settings(values), metadata, values.get("schema-include", False)
        )

    def encoder(self, fields: Sequence[Field], values: dict[str, Any]) -> Encoder:
        if values["schema-include"]:
            raise ConfigError(
                "TABLE_OPTION",
                "Debezium JSON serialization doesn't support 'debezium-json.schema-include' option been set to true.",
            )
        return super().encoder(fields, values)


class OggFormat(ChangeFormat):
    """Records of Oracle GoldenGate."""

    name = "ogg-json"
    metadata = MappingProxyType(
        {
            "table": "STRING",
            "primary-keys": "ARRAY<STRING>",
            "ingestion-timestamp": "TIMESTAMP_LTZ(6)",
            "event-timestamp": "TIMESTAMP_LTZ(6)",
        }
    )
    fields = MappingProxyType(
        {"table": MetadataField("table", STRING), "primary-keys": MetadataField("primary_keys", _TEXTS)}
    )
    operation = "op_type"
    operations = ("I", "D")

    def decoder(self, request: ReadRequest, values: dict[str, Any]) -> Decoder:
        for key, _ in request.metadata:
            if key not in self.fields:
                raise UnsupportedOperation(
                    "TABLE_METADATA", f"Metadata '{key}' of the format 'ogg-json' is not supported."
                )
        return super().decoder(request, values)

    def rows(self, fields: Sequence[Field], metadata: Sequence[MetadataField], values: dict[str, Any]) -> Decoder:
        return BeforeAfterDecoder(fields, OGG, read_settings(values), metadata)


class CanalFormat(ChangeFormat):
    """Records of Canal."""

    name = "canal-json"
    options: tuple[Option, ...] = (*_OPTIONS, Option("database.include"), Option("table.include"))
    metadata = MappingProxyType(
        {
            "database": "STRING",
            "table": "STRING",
            "sql-type": "MAP<STRING, INT>",
            "pk-names": "ARRAY<STRING>",
            "ingestion-timestamp": _TIMESTAMP,
            "event-timestamp": _TIMESTAMP,
        }
    )
    fields = MappingProxyType(
        {
            "database": MetadataField("database", STRING),
            "table": MetadataField("table", STRING),
            "sql-type": MetadataField("sqlType", MapType(STRING, INT)),
            "pk-names": MetadataField("pkNames", _TEXTS),
            "ingestion-timestamp": MetadataField("ts", BIGINT, milliseconds=True),
            "event-timestamp": MetadataField("es", BIGINT, milliseconds=True),
        }
    )
    envelope: Envelope = "rows"
    operation = "type"
    operations = ("INSERT", "DELETE")
    form: OldValuesFormat = CANAL

    def check(self, values: dict[str, Any]) -> str | None:
        for name in ("database.include", "table.include"):
            try:
                re.compile(values.get(name) or "")
            except re.error as error:
                return f"Option '{self.name}.{name}' is '{values[name]}', which is not a regular expression: {error}."
        return None

    def rows(self, fields: Sequence[Field], metadata: Sequence[MetadataField], values: dict[str, Any]) -> Decoder:
        database, table = values.get("database.include"), values.get("table.include")
        return OldValuesDecoder(fields, self.form, read_settings(values), metadata, database, table)


class MaxwellFormat(CanalFormat):
    """Records of Maxwell."""

    name = "maxwell-json"
    options = _OPTIONS
    metadata = MappingProxyType(
        {
            "database": "STRING",
            "table": "STRING",
            "primary-key-columns": "ARRAY<STRING>",
            "ingestion-timestamp": _TIMESTAMP,
        }
    )
    fields = MappingProxyType(
        {
            "database": MetadataField("database", STRING),
            "table": MetadataField("table", STRING),
            "primary-key-columns": MetadataField("primary_key_columns", _TEXTS),
            "ingestion-timestamp": MetadataField("ts", BIGINT, milliseconds=True),
        }
    )
    envelope = "row"
    operations = ("insert", "delete")
    form = MAXWELL
