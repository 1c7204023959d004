"""The connector 'upsert-kafka'."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.connectors.kafka import KafkaOffsetsInitializer
from penstock.formats.columns.interface import Decoded, Decoder
from penstock.runtime.relational.changes import DELETE, UPDATE_AFTER, Changes
from penstock.table.connectors.formats.format import ReadRequest
from penstock.table.connectors.interface import ScanRequest, SinkRequest, TableSink, TableSource
from penstock.table.connectors.kafka.connector import (
    TableOptions,
    check_writable,
    decoders,
    kafka_metadata,
    physical_fields,
)
from penstock.table.connectors.kafka.options import UPSERT_OPTIONS, KeyAndValue, bounded_offsets, split_fields
from penstock.table.connectors.kafka.records import RecordDecoder, RecordEncoder, TableRecordSerializer, WholeRecords
from penstock.types.logical.arrow import arrow_type
from penstock.types.logical.kinds import Field


class UpsertDecoder:
    """Decodes records by key: a value is the current row of its key, and a record without a value removes the row."""

    def __init__(
        self, records: RecordDecoder, columns: Sequence[Field], keys: Decoder, key_places: Mapping[int, int]
    ) -> None:
        self.records = records
        self.columns = tuple(columns)
        self.keys = keys  # decodes the key columns that are wanted
        self.key_places = dict(key_places)  # position of a wanted column -> position in the decoded key

    def decode(self, elements: list[Any]) -> Decoded:
        """Decodes Kafka records."""
        live = [i for i, record in enumerate(elements) if record.value is not None]
        if len(live) == len(elements):
            decoded = self.records.decode(elements)
            rows = decoded.changes
            kinds = np.full(rows.length, UPDATE_AFTER, np.int8)
            return Decoded(rows.with_kinds(kinds), decoded.origins, decoded.bad)
        removed = [i for i, record in enumerate(elements) if record.value is None]
        current = self._moved(self.records.decode([elements[i] for i in live]), live)
        gone = self._moved(self._removed([elements[i] for i in removed]), removed)
        assert current.origins is not None
        assert gone.origins is not None
        origins = np.concatenate([current.origins, gone.origins])
        kinds = np.repeat(np.array([UPDATE_AFTER, DELETE], np.int8), [len(current.origins), len(gone.origins)])
        order = np.argsort(origins, kind="stable")
        plain = [part.changes.with_kinds(None) for part in (current, gone)]
        rows = Changes.concatenate(plain).with_kinds(kinds).take(order)
        bad = sorted(current.bad + gone.bad, key=lambda entry: entry[0])
        return Decoded(rows, origins[order], bad)

    def _moved(self, decoded: Decoded, at: list[int]) -> Decoded:
        """Returns the same rows with positions among all records."""
        positions = np.array(at, np.int64)
        origins = positions if decoded.origins is None else positions[decoded.origins]
        return Decoded(decoded.changes, origins, [(at[i], error) for i, error in decoded.bad])

    def _removed(self, elements: list[Any]) -> Decoded:
        """Returns rows that have only the columns of the key."""
        keys = self.keys.decode([record.key for record in elements])
        count = keys.changes.length
        origins = np.arange(count) if keys.origins is None else keys.origins
        columns: list[pa.Array] = [
            keys.changes.columns[self.key_places[i]]
            if i in self.key_places
            else pa.nulls(count, arrow_type(field.type))
            for i, field in enumerate(self.columns)
        ]
        for name, field in self.records.metadata:
            if name.startswith("value."):
                columns.append(pa.nulls(count, arrow_type(field.type)))
            else:
                columns.append(self.records.metadata_column(name, field, elements, origins))
        return Decoded(Changes(columns, count), origins, keys.bad)


class UpsertKafkaConnector:
    """Reads and writes topics in which each key has one current value."""

    name = "upsert-kafka"

    def metadata_columns(self, options: dict[str, str]) -> dict[str, str]:
        """Returns the metadata that can be read."""
        return kafka_metadata(options)

    def _checked(
        self, path: Sequence[str], given: Mapping[str, str], columns: Sequence[Field], primary_key: Sequence[str]
    ) -> tuple[TableOptions, KeyAndValue]:
        options = TableOptions(self.name, path, given, UPSERT_OPTIONS)
        values = options.values
        if options.key is None:
            raise values.error("Required option 'key.format' is missing. It names the format of keys, such as 'json'.")
        if not primary_key:
            raise values.error(
                "'upsert-kafka' tables require to define a PRIMARY KEY constraint. The PRIMARY KEY specifies which columns "
                "should be read from or write to the Kafka message key."
            )
        for chosen in (options.key, options.value):
            if chosen.format.read_mode != "append":
                raise values.error(
                    f"'upsert-kafka' connector doesn't support '{chosen.format.name}', which has its own changes."
                )
        return options, split_fields(values, columns, list(primary_key))

    def source(self, request: ScanRequest) -> TableSource:
        """Returns a source of current rows and removed keys. It reads the topic from its beginning."""
        columns = physical_fields(request)
        options, parts = self._checked(request.path, request.options, columns, request.table.primary_key)
        value, key, places, own = decoders(options, request, parts, columns)
        records = RecordDecoder(value, key, places, request.metadata, own, request.zone)
        assert options.key is not None
        names = [columns[i].name for i in parts.key]
        wanted = [(at, field) for at, field in enumerate(request.columns) if field.name in names]
        key_fields = [Field(field.name.removeprefix(parts.prefix), field.type) for _, field in wanted]
        keys = options.key.format.decoder(
            ReadRequest(key_fields, parts.key_fields(columns), (), request.zone), options.settings("key")
        )
        decoder = UpsertDecoder(records, request.columns, keys, {at: i for i, (at, _) in enumerate(wanted)})
        stop = bounded_offsets(options.values)
        source = options.build_source(WholeRecords(), KafkaOffsetsInitializer.earliest(), stop)
        return TableSource(source, decoder, "upsert")

    def sink(self, request: SinkRequest) -> TableSink:
        """Returns a sink of the current rows; a removed row is a record without a value."""
        names = [request.columns[i].name for i in request.primary_key] or list(request.table.primary_key)
        options, parts = self._checked(request.path, request.options, request.columns, names)
        check_writable(options.values, request)
        assert options.key is not None
        values = options.values
        encoder = RecordEncoder(
            options.value.format.encoder(parts.value_fields(request.columns), options.settings("value")),
            parts.value,
            options.key.format.encoder(parts.key_fields(request.columns), options.settings("key")),
            parts.key,
            request.metadata,
            len(request.columns),
            tombstones=True,
            zone=request.zone,
        )
        sink = options.build_sink(TableRecordSerializer(values["topic"] or [""], None, whole=True))
        return TableSink(sink, encoder, "upsert")
