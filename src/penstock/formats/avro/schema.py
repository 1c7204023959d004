"""Avro schemas and their row types."""

from __future__ import annotations

import importlib
import json
from functools import cached_property
from pathlib import Path
from typing import Any

from penstock.errors import ConfigError
from penstock.formats.avro.union import AvroNullTypeInfo, AvroUnionTypeInfo
from penstock.types import PickledBytesTypeInfo, RowTypeInfo, TypeInformation, Types


def fastavro() -> Any:
    """Imports and returns the package fastavro."""
    try:
        return importlib.import_module("fastavro")
    except ImportError:
        raise ConfigError(
            "MISSING_PACKAGE",
            "Avro needs the package fastavro, which is not installed. Install it with `pip install 'penstock[avro]'`.",
        ) from None


class AvroSchema:
    """An Avro schema.

    >>> schema = AvroSchema.parse_string('{"type": "record", "name": "P", "fields": [{"name": "x", "type": "long"}]}')
    >>> schema.row_type()
    RowTypeInfo(x: Long)
    """

    def __init__(self, text: str) -> None:
        self.text = text
        _ = self.parsed  # raises an error now if the schema is invalid

    @staticmethod
    def parse_string(json_schema: str) -> AvroSchema:
        """Parses a schema in JSON."""
        return AvroSchema(json_schema)

    @staticmethod
    def parse_file(file_path: str) -> AvroSchema:
        """Parses a schema file."""
        try:
            return AvroSchema(Path(file_path).read_text(encoding="utf-8"))
        except OSError as error:
            raise ConfigError(
                "AVRO_SCHEMA", f"The Avro schema file cannot be read: {error}. Correct the path."
            ) from None

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"AvroSchema({self.text!r:.80})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AvroSchema) and json.loads(self.text) == json.loads(other.text)

    def __hash__(self) -> int:
        return hash(json.dumps(json.loads(self.text), sort_keys=True))

    def __reduce__(self) -> tuple[Any, ...]:
        return AvroSchema, (self.text,)

    @cached_property
    def parsed(self) -> Any:
        """The parsed schema of fastavro, cached per process."""
        try:
            return fastavro().parse_schema(json.loads(self.text))
        except ConfigError:
            raise
        except Exception as error:  # errors of fastavro and json
            raise ConfigError(
                "AVRO_SCHEMA", f"The Avro schema is invalid: {error}. It starts with {self.text!r:.80}. Correct it."
            ) from None

    def row_type(self) -> RowTypeInfo:
        """Returns the row type of the records."""
        kind = avro_type(json.loads(self.text), {})
        if not isinstance(kind, RowTypeInfo):
            raise ConfigError(
                "AVRO_SCHEMA",
                f"The Avro schema {self.text!r:.80} does not describe records; rows need a record schema.",
            )
        return kind


class GenericRecordAvroTypeInfo(PickledBytesTypeInfo):
    """Type of Avro records as dicts."""

    def __init__(self, schema: AvroSchema) -> None:
        self.schema = schema
        self.name = "GENERIC_RECORD_AVRO"

    def __repr__(self) -> str:
        return f"GenericRecordAvroTypeInfo({str(self.schema)!r:.80})"


_PRIMITIVE = {
    "string": Types.STRING,
    "boolean": Types.BOOLEAN,
    "int": Types.INT,
    "long": Types.LONG,
    "float": Types.FLOAT,
    "double": Types.DOUBLE,
    "enum": Types.STRING,
    "null": AvroNullTypeInfo,
}
_LOGICAL = {
    "date": Types.SQL_DATE,
    "time-millis": Types.SQL_TIME,
    "time-micros": Types.SQL_TIME,
    "timestamp-millis": Types.SQL_TIMESTAMP,
    "timestamp-micros": Types.SQL_TIMESTAMP,
    "local-timestamp-millis": Types.SQL_TIMESTAMP,
    "local-timestamp-micros": Types.SQL_TIMESTAMP,
    "decimal": Types.BIG_DEC,
}


def unwrap_schema(schema: Any, named: dict[str, Any]) -> Any:
    """Resolves names, and unions of one schema and null. Other unions remain lists."""
    if isinstance(schema, list):
        others = [s for s in schema if s not in ("null", {"type": "null"})]
        return unwrap_schema(others[0], named) if len(others) == 1 else schema
    if isinstance(schema, str):
        return named.get(schema, {"type": schema})
    if isinstance(schema.get("type"), (dict, list)):
        return unwrap_schema(schema["type"], named)
    if "name" in schema:
        named[schema["name"]] = schema
        if "namespace" in schema:
            named[f"{schema['namespace']}.{schema['name']}"] = schema
    return named.get(schema["type"], schema)


def avro_type(schema: Any, named: dict[str, Any]) -> TypeInformation:
    """Returns the type of a schema, mapped as in Flink. Values of unions of several types are pickled, except in files."""
    schema = unwrap_schema(schema, named)
    if isinstance(schema, list):
        return AvroUnionTypeInfo([avro_type(s, named) for s in schema if s not in ("null", {"type": "null"})])
    kind = schema["type"]
    if schema.get("logicalType") in _LOGICAL:
        return _LOGICAL[schema["logicalType"]]()
    if kind in ("record", "error"):
        types = [avro_type(f["type"], named) for f in schema["fields"]]
        return Types.ROW_NAMED([f["name"] for f in schema["fields"]], types)
    if kind == "array":
        return Types.OBJECT_ARRAY(avro_type(schema["items"], named))
    if kind == "map":
        return Types.MAP(Types.STRING(), avro_type(schema["values"], named))
    if kind in ("bytes", "fixed"):
        return Types.PRIMITIVE_ARRAY(Types.BYTE())
    return _PRIMITIVE[kind]()
