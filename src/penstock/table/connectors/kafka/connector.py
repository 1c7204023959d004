"""The connector 'kafka'."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from penstock.connectors.kafka import KafkaSink, KafkaSource
from penstock.table.connectors.dead_letters import check_dead_letters
from penstock.table.connectors.formats.format import ReadRequest
from penstock.table.connectors.formats.registry import ChosenFormat, choose_format
from penstock.table.connectors.interface import ScanRequest, SinkRequest, TableSink, TableSource
from penstock.table.connectors.kafka.options import (
    KAFKA_OPTIONS,
    KeyAndValue,
    bounded_offsets,
    check_topics,
    guarantee,
    split_fields,
    startup_offsets,
)
from penstock.table.connectors.kafka.records import (
    METADATA,
    WRITABLE,
    FixedPartitioner,
    RawValues,
    RecordDecoder,
    RecordEncoder,
    TableRecordSerializer,
    WholeRecords,
)
from penstock.table.connectors.options import Option, OptionValues, owner
from penstock.types.logical.kinds import Field


class TableOptions:
    """The checked options of a Kafka table, with the formats of key and value."""

    def __init__(self, name: str, path: Sequence[str], given: Mapping[str, str], known: Sequence[Option]) -> None:
        title = owner(path)
        value = choose_format(title, given, "value.format", "format")
        self.key = choose_format(title, given, "key.format")
        options = [*known, *(o for chosen in (value, self.key) if chosen for o in chosen.options)]
        self.values = OptionValues(title, name, given, options)
        if value is None:
            raise self.values.error(
                "Required option 'format' is missing. It names the format of values, such as 'json'."
            )
        self.value: ChosenFormat = value
        for chosen in (value, self.key):
            if chosen is not None and not chosen.format.in_messages:
                raise self.values.error(
                    f"The format '{chosen.format.name}' is one of files and cannot be used in messages."
                )
        check_topics(self.values)
        check_dead_letters(self.values, given)

    def settings(self, part: str) -> dict[str, Any]:
        """Returns the options of the format of the "key" or the "value". The subject in a registry has the name of the topic."""
        chosen = self.value if part == "value" else self.key
        assert chosen is not None
        settings = chosen.values(self.values)
        topics: Sequence[str] = self.values["topic"] or ()
        if "subject" in settings and settings["subject"] is None and len(topics) == 1:
            settings["subject"] = f"{topics[0]}-{part}"
        return settings

    def build_source(self, schema: Any, start: Any, stop: Any) -> KafkaSource:
        """Returns the source of records."""
        values = self.values
        builder = KafkaSource.builder().set_properties(values.after("properties."))
        if "scan.topic-partition-discovery.interval" in values.set:
            interval = values["scan.topic-partition-discovery.interval"]
            builder.set_property("partition.discovery.interval.ms", str(interval))
        if values["topic"] is not None:
            builder.set_topics(*values["topic"])
        else:
            builder.set_topic_pattern(values["topic-pattern"])
        builder.set_starting_offsets(start)
        if stop is not None:
            builder.set_bounded(stop)
        return builder.set_deserializer(schema).build()

    def build_sink(self, serializer: Any) -> KafkaSink:
        """Returns the sink of records."""
        values = self.values
        if values["topic"] is None:
            raise values.error("Option 'topic-pattern' applies only to reading. Set 'topic' to write to the table.")
        builder = KafkaSink.builder().set_record_serializer(serializer).set_delivery_guarantee(guarantee(values))
        builder.set_kafka_producer_config(values.after("properties."))
        if values["sink.delivery-guarantee"] == "exactly-once":
            builder.set_transactional_id_prefix(values["sink.transactional-id-prefix"])
        sink = builder.build()
        sink.wants_timestamps = False  # only the metadata column writes timestamps, as in Flink
        return sink


def kafka_metadata(options: Mapping[str, str]) -> dict[str, str]:
    """Returns the metadata of records, and that of the format of the values."""
    chosen = choose_format("Table", options, "value.format", "format")
    of_value = {} if chosen is None else {f"value.{key}": type_ for key, type_ in chosen.format.metadata.items()}
    return {**METADATA, **of_value}


def decoders(
    options: TableOptions, request: ScanRequest, parts: KeyAndValue, columns: Sequence[Field]
) -> tuple[Any, ...]:
    """Returns the decoder of values, that of keys or None, and where each wanted column is.

    Only wanted fields are decoded. A column that is in the key and in the value is read from the value.
    """
    names = [field.name for field in columns]
    wanted = [names.index(field.name) for field in request.columns]
    types = {names.index(field.name): field for field in request.columns}
    in_value = [i for i in parts.value if i in wanted]
    in_key = [i for i in parts.key if i in wanted and i not in parts.value]
    zone = request.zone
    own = [(key.removeprefix("value."), field) for key, field in request.metadata if key.startswith("value.")]
    value_request = ReadRequest([types[i] for i in in_value], parts.value_fields(columns), own, zone)
    value = options.value.format.decoder(value_request, options.settings("value"))
    key = None
    if in_key:
        assert options.key is not None
        fields = [Field(types[i].name.removeprefix(parts.prefix), types[i].type) for i in in_key]
        key = options.key.format.decoder(
            ReadRequest(fields, parts.key_fields(columns), (), zone), options.settings("key")
        )
    places = [("value", in_value.index(i)) if i in in_value else ("key", in_key.index(i)) for i in wanted]
    return value, key, places, len(own)


def physical_fields(request: ScanRequest) -> list[Field]:
    """Returns the physical columns of the table."""
    return [Field(c.name, c.type) for c in request.table.columns if c.kind == "physical"] or list(request.columns)


class KafkaConnector:
    """Reads and writes Kafka topics."""

    name = "kafka"

    def metadata_columns(self, options: dict[str, str]) -> dict[str, str]:
        """Returns the metadata that can be read."""
        return kafka_metadata(options)

    def _checked(
        self, path: Sequence[str], given: Mapping[str, str], columns: Sequence[Field]
    ) -> tuple[TableOptions, KeyAndValue]:
        options = TableOptions(self.name, path, given, KAFKA_OPTIONS)
        values = options.values
        if options.key is None and values["key.fields"]:
            raise values.error("Option 'key.fields' needs 'key.format'.")
        if options.key is not None and not values["key.fields"]:
            raise values.error("Option 'key.format' needs 'key.fields', the columns of the key.")
        if options.key is None and values["value.fields-include"] == "EXCEPT_KEY":
            raise values.error("Option 'value.fields-include' = 'EXCEPT_KEY' needs 'key.format' and 'key.fields'.")
        return options, split_fields(values, columns, values["key.fields"])

    def source(self, request: ScanRequest) -> TableSource:
        """Returns a source of values as bytes, or of whole records if key or metadata are read."""
        columns = physical_fields(request)
        options, parts = self._checked(request.path, request.options, columns)
        self._check_key(options, request.table.primary_key)
        value, key, places, own = decoders(options, request, parts, columns)
        start, stop = startup_offsets(options.values), bounded_offsets(options.values)
        mode = options.value.format.read_mode
        if key is None and not request.metadata:
            return TableSource(options.build_source(RawValues(), start, stop), value, mode)
        decoder = RecordDecoder(value, key, places, request.metadata, own, request.zone)
        return TableSource(options.build_source(WholeRecords(), start, stop), decoder, mode)

    def sink(self, request: SinkRequest) -> TableSink:
        """Returns a sink of records."""
        options, parts = self._checked(request.path, request.options, request.columns)
        self._check_key(options, request.table.primary_key)
        values = options.values
        check_writable(values, request)
        value = options.value.format.encoder(parts.value_fields(request.columns), options.settings("value"))
        key = None
        if options.key is not None:
            key = options.key.format.encoder(parts.key_fields(request.columns), options.settings("key"))
        partitioner = self._partitioner(values, key is not None)
        topics = values["topic"] or []
        whole = key is not None or bool(request.metadata)
        if len(topics) > 1 and not any(name == "topic" for name, _ in request.metadata):
            raise values.error(
                "Option 'topic' names several topics. Add a column `topic` STRING METADATA to choose one per row."
            )
        encoder: Any = value
        if whole:
            encoder = RecordEncoder(
                value, parts.value, key, parts.key, request.metadata, len(request.columns), zone=request.zone
            )
        sink = options.build_sink(TableRecordSerializer(topics or [""], partitioner, whole))
        return TableSink(sink, encoder, options.value.format.write_mode)

    def _check_key(self, options: TableOptions, primary_key: Sequence[str]) -> None:
        if primary_key and options.value.format.read_mode == "append":
            raise options.values.error(
                f"The Kafka table with '{options.value.format.name}' format doesn't support defining PRIMARY KEY constraint on the "
                "table, because it can't guarantee the semantic of primary key. Use 'upsert-kafka'."
            )

    def _partitioner(self, values: OptionValues, has_key: bool) -> FixedPartitioner | None:
        chosen = values["sink.partitioner"]
        if chosen == "round-robin" and has_key:
            raise values.error(
                "Option 'sink.partitioner' = 'round-robin' only works when record keys are not specified."
            )
        if chosen not in ("default", "fixed", "round-robin"):
            raise values.error(
                f"Option 'sink.partitioner' is '{chosen}'; expected 'default', 'fixed' or 'round-robin'. Classes are not supported."
            )
        return FixedPartitioner() if chosen == "fixed" else None


def check_writable(values: OptionValues, request: SinkRequest) -> None:
    """Refuses metadata that cannot be written."""
    for name, field in request.metadata:
        if name not in WRITABLE:
            raise values.error(
                f"Metadata '{name}' of column '{field.name}' cannot be written. Declare it VIRTUAL. "
                f"Writable are {', '.join(WRITABLE)}."
            )
