"""Avro schemas of dicts and rows, with or without a schema registry."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from functools import cached_property
from typing import Any

from penstock.errors import ConfigError, UnsupportedOperation, warn_ignored
from penstock.formats.avro.schema import AvroSchema, fastavro
from penstock.formats.avro.schema_registry import MAGIC, SchemaRegistry, to_registry
from penstock.formats.avro.values import Convert, from_avro, to_avro
from penstock.formats.schema import DeserializationSchema, SerializationSchema
from penstock.formats.type_check import convert_elements_to


class AvroDeserializationSchema(DeserializationSchema[Any]):
    """Deserializes Avro records to dicts.

    With a registry, a message starts with a zero byte and the four-byte id of the writer schema. The record is converted to the
    reader schema: missing fields get their defaults, and unknown fields are skipped.

    >>> schema = AvroSchema('{"type": "record", "name": "P", "fields": [{"name": "x", "type": "long"}]}')
    >>> AvroDeserializationSchema.for_generic(schema).decode(AvroSerializationSchema.for_generic(schema).encode([{"x": 7}]))
    [{'x': 7}]
    """

    drops_none = False

    def __init__(self, schema: AvroSchema | str, registry: Any = None) -> None:
        self.schema = schema if isinstance(schema, AvroSchema) else AvroSchema(schema)
        self._registry = None if registry is None else to_registry(registry)
        self._writers: dict[int, AvroSchema] = {}

    @staticmethod
    def for_generic(schema: AvroSchema) -> AvroDeserializationSchema:
        """Returns a schema for messages that contain only the record."""
        return AvroDeserializationSchema(schema)

    def deserialize(self, message: bytes) -> Any:
        return self.decode([message])[0]

    def decode(self, messages: Sequence[bytes]) -> list[Any]:
        read, schema = fastavro().schemaless_reader, self.schema.parsed
        values = []
        for message in messages:
            # With one more byte, skipping a field of a truncated record ends after the message.
            stream = io.BytesIO(message + b"\0")
            if self._registry is None:
                values.append(read(stream, schema, None))
            else:
                values.append(read(stream, self._writer(self._registry, stream).parsed, schema))
            if stream.tell() > len(message):
                raise ValueError("the message is truncated")
            if stream.tell() < len(message):
                raise ValueError(
                    f"{len(message) - stream.tell()} bytes follow the record; it may have been written with another schema"
                )
        return values

    def _writer(self, registry: SchemaRegistry, stream: io.BytesIO) -> AvroSchema:
        header = stream.read(5)
        if len(header) < 5 or header[:1] != MAGIC:
            raise ValueError("the message does not start with a zero byte and a schema id")
        number = int.from_bytes(header[1:], "big")
        if number not in self._writers:
            try:
                self._writers[number] = AvroSchema(registry.schema(number))
            except KeyError:
                raise ValueError(f"the registry has no schema {number}") from None
        return self._writers[number]


class AvroSerializationSchema(SerializationSchema[Any]):
    """Serializes dicts to Avro records. With a registry, the schema id precedes each record."""

    def __init__(self, schema: AvroSchema | str, registry: Any = None, subject: str = "") -> None:
        self.schema = schema if isinstance(schema, AvroSchema) else AvroSchema(schema)
        self._registry = None if registry is None else to_registry(registry)
        self._subject = subject
        if self._registry is not None and not subject:
            raise ConfigError(
                "SCHEMA_SUBJECT", "The schema registry has no subject. Pass subject, such as 'TOPIC-value'."
            )
        if self._registry is None and subject:
            warn_ignored(f"{type(self).__name__}: subject has no effect without a registry.")

    @staticmethod
    def for_generic(schema: AvroSchema) -> AvroSerializationSchema:
        """Returns a schema for messages that contain only the record."""
        return AvroSerializationSchema(schema)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_header"}

    @cached_property
    def _header(self) -> bytes:
        if self._registry is None:
            return b""
        return MAGIC + self._registry.register(self._subject, self.schema.text).to_bytes(4, "big")

    def serialize(self, element: Any) -> bytes:
        return self.encode([element])[0]

    def encode(self, values: list[Any]) -> list[bytes]:
        write, schema, header = fastavro().schemaless_writer, self.schema.parsed, self._header
        messages = []
        for value in values:
            stream = io.BytesIO()
            stream.write(header)
            write(stream, schema, value)
            messages.append(stream.getvalue())
        return messages


class ConfluentRegistryAvroDeserializationSchema(AvroDeserializationSchema):
    """Deserializes Avro records that start with a schema id of a Confluent schema registry."""

    @staticmethod
    def for_generic(schema: AvroSchema, url: Any = None) -> AvroDeserializationSchema:
        """Returns a schema with this reader schema. `url` is the address of a registry, or a SchemaRegistry."""
        return ConfluentRegistryAvroDeserializationSchema(schema, url)


class ConfluentRegistryAvroSerializationSchema(AvroSerializationSchema):
    """Serializes Avro records with a schema id of a Confluent schema registry."""

    @staticmethod
    def for_generic(  # type: ignore[override]  # Flink's order of parameters
        subject: str, schema: AvroSchema, url: Any
    ) -> AvroSerializationSchema:
        """Returns a schema that registers the Avro schema under a subject."""
        return ConfluentRegistryAvroSerializationSchema(schema, url, subject)


def _schema_of(method: str, record_class: str | None, text: str | None) -> AvroSchema:
    if record_class is not None:
        raise UnsupportedOperation(
            "JAVA_FUNCTION",
            f"{method} got the Java class {record_class}, which is not available without Flink. Pass avro_schema_string instead.",
        )
    if text is None:
        raise ConfigError("AVRO_SCHEMA", f"{method} got no schema. Pass avro_schema_string.")
    return AvroSchema(text)


class AvroRowDeserializationSchema(AvroDeserializationSchema):
    """Deserializes Avro records to rows.

    >>> from penstock.row import Row
    >>> text = '{"type": "record", "name": "P", "fields": [{"name": "x", "type": ["null", "long"]}]}'
    >>> messages = AvroRowSerializationSchema(avro_schema_string=text).encode([Row(x=7), Row(x=None)])
    >>> AvroRowDeserializationSchema(avro_schema_string=text).decode(messages)
    [Row(x=7), Row(x=None)]
    """

    def __init__(
        self, record_class: str | None = None, avro_schema_string: str | None = None, registry: Any = None
    ) -> None:
        super().__init__(_schema_of("AvroRowDeserializationSchema", record_class, avro_schema_string), registry)
        self.output_type = self.schema.row_type()
        self.output_is_exact = self.output_type.exact

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_convert"}

    @cached_property
    def _convert(self) -> Convert:
        convert = from_avro(json.loads(self.schema.text), {})
        assert convert is not None
        return convert

    def decode(self, messages: Sequence[bytes]) -> list[Any]:
        convert = self._convert
        return [convert(record) for record in super().decode(messages)]


class AvroRowSerializationSchema(AvroSerializationSchema):
    """Serializes rows to Avro records."""

    def __init__(
        self,
        record_class: str | None = None,
        avro_schema_string: str | None = None,
        registry: Any = None,
        subject: str = "",
    ) -> None:
        super().__init__(_schema_of("AvroRowSerializationSchema", record_class, avro_schema_string), registry, subject)
        self.type_info = self.schema.row_type()

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in super().__getstate__().items() if name != "_convert"}

    @cached_property
    def _convert(self) -> Convert:
        convert = to_avro(json.loads(self.schema.text), {})
        assert convert is not None
        return convert

    def encode(self, values: list[Any]) -> list[bytes]:
        convert = self._convert
        rows = convert_elements_to("AvroRowSerializationSchema", self.type_info, values)
        return super().encode([convert(row) for row in rows])
