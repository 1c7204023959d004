"""Messages of Avro: as dicts or as rows, alone or with the number of their schema before them."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from functools import cached_property
from typing import Any

from penstock.errors import ConfigError, UnsupportedOperation
from penstock.formats.avro_schema import AvroSchema, avro
from penstock.formats.avro_values import Convert, from_avro, to_avro
from penstock.formats.fitting import as_type
from penstock.formats.schema import DeserializationSchema, SerializationSchema
from penstock.formats.schema_registry import MAGIC, SchemaRegistry, registry_of


class AvroDeserializationSchema(DeserializationSchema[Any]):
    """Records of Avro as dicts.

    With a registry, a message begins with a zero byte and the four bytes of the number of the schema that it was written with;
    it is read as the reader's schema says: fields that it lacks have their defaults, others are left out.

    >>> schema = AvroSchema('{"type": "record", "name": "P", "fields": [{"name": "x", "type": "long"}]}')
    >>> AvroDeserializationSchema.for_generic(schema).decode(AvroSerializationSchema.for_generic(schema).encode([{"x": 7}]))
    [{'x': 7}]
    """

    drops_none = False

    def __init__(self, schema: AvroSchema | str, registry: Any = None) -> None:
        self.schema = schema if isinstance(schema, AvroSchema) else AvroSchema(schema)
        self._registry = None if registry is None else registry_of(registry)
        self._writers: dict[int, AvroSchema] = {}

    @staticmethod
    def for_generic(schema: AvroSchema) -> AvroDeserializationSchema:
        """Of messages that hold nothing but the record."""
        return AvroDeserializationSchema(schema)

    def deserialize(self, message: bytes) -> Any:
        return self.decode([message])[0]

    def decode(self, messages: Sequence[bytes]) -> list[Any]:
        read, schema = avro().schemaless_reader, self.schema.parsed
        values = []
        for message in messages:
            stream = io.BytesIO(
                message + b"\0"
            )  # one byte more: what is skipped in a record that is cut off ends behind it
            if self._registry is None:
                values.append(read(stream, schema, None))
            else:
                values.append(read(stream, self._writer(self._registry, stream).parsed, schema))
            if stream.tell() > len(message):
                raise ValueError("the message is cut off")
            if stream.tell() < len(message):
                raise ValueError(
                    f"{len(message) - stream.tell()} bytes are left behind the record: is it of another schema?"
                )
        return values

    def _writer(self, registry: SchemaRegistry, stream: io.BytesIO) -> AvroSchema:
        head = stream.read(5)
        if len(head) < 5 or head[:1] != MAGIC:
            raise ValueError("the message does not begin with a zero byte and the number of a schema")
        number = int.from_bytes(head[1:], "big")
        if number not in self._writers:
            try:
                self._writers[number] = AvroSchema(registry.schema(number))
            except KeyError:
                raise ValueError(f"the registry has no schema {number}") from None
        return self._writers[number]


class AvroSerializationSchema(SerializationSchema[Any]):
    """Dicts as records of Avro; with a registry, the number of the schema stands before them."""

    def __init__(self, schema: AvroSchema | str, registry: Any = None, subject: str = "") -> None:
        self.schema = schema if isinstance(schema, AvroSchema) else AvroSchema(schema)
        self._registry = None if registry is None else registry_of(registry)
        self._subject = subject
        if self._registry is not None and not subject:
            raise ConfigError("SCHEMA_SUBJECT", "A schema registry was given without a subject, such as 'TOPIC-value'.")

    @staticmethod
    def for_generic(schema: AvroSchema) -> AvroSerializationSchema:
        """Of messages that hold nothing but the record."""
        return AvroSerializationSchema(schema)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_head"}

    @cached_property
    def _head(self) -> bytes:
        if self._registry is None:
            return b""
        return MAGIC + self._registry.register(self._subject, self.schema.text).to_bytes(4, "big")

    def serialize(self, element: Any) -> bytes:
        return self.encode([element])[0]

    def encode(self, values: list[Any]) -> list[bytes]:
        write, schema, head = avro().schemaless_writer, self.schema.parsed, self._head
        messages = []
        for value in values:
            stream = io.BytesIO()
            stream.write(head)
            write(stream, schema, value)
            messages.append(stream.getvalue())
        return messages


class ConfluentRegistryAvroDeserializationSchema(AvroDeserializationSchema):
    """Records with the number of their schema in a registry, under Flink's name."""

    @staticmethod
    def for_generic(schema: AvroSchema, url: Any = None) -> AvroDeserializationSchema:
        """Read as a schema says; `url` is a registry's address, or a registry."""
        return ConfluentRegistryAvroDeserializationSchema(schema, url)


class ConfluentRegistryAvroSerializationSchema(AvroSerializationSchema):
    """The same for writing."""

    @staticmethod
    def for_generic(  # type: ignore[override]  # Flink's order of parameters
        subject: str, schema: AvroSchema, url: Any
    ) -> AvroSerializationSchema:
        """Written with a schema, which is registered under a subject."""
        return ConfluentRegistryAvroSerializationSchema(schema, url, subject)


def _schema_of(method: str, record_class: str | None, text: str | None) -> AvroSchema:
    if record_class is not None:
        raise UnsupportedOperation(
            "JAVA_FUNCTION",
            f"{method} got the record class {record_class}, a Java class, and no Flink runs here. Give avro_schema_string.",
        )
    if text is None:
        raise ConfigError("AVRO_SCHEMA", f"{method} got no schema. Give avro_schema_string.")
    return AvroSchema(text)


class AvroRowDeserializationSchema(AvroDeserializationSchema):
    """Records of Avro as rows.

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
    """Rows as records of Avro."""

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
        rows = as_type("AvroRowSerializationSchema", self.type_info, values)
        return super().encode([convert(row) for row in rows])
