"""Converts between values of fastavro and values of rows."""

from __future__ import annotations

import datetime
import uuid
from collections.abc import Callable
from typing import Any

from penstock.formats.avro.schema import unwrap_schema
from penstock.row import Row, make_row

Convert = Callable[[Any], Any]
_TIMESTAMPS = ("timestamp-millis", "timestamp-micros")


def from_avro(schema: Any, named: dict[str, Any]) -> Convert | None:
    """Returns a converter from values of fastavro, or None if no conversion is needed. It does not accept None."""
    schema = unwrap_schema(schema, named)
    if isinstance(schema, list):
        return None
    kind, logical = schema["type"], schema.get("logicalType")
    if logical in _TIMESTAMPS:
        return lambda timestamp: timestamp.replace(tzinfo=None)
    if logical == "uuid":
        return str
    if kind in ("record", "error"):
        names = [f["name"] for f in schema["fields"]]
        parts = [(n, _or_none(from_avro(f["type"], named))) for n, f in zip(names, schema["fields"], strict=True)]
        return lambda record: make_row(names, [part(record[n]) for n, part in parts])
    return _container_converter(schema, lambda inner: from_avro(inner, named))


def to_avro(schema: Any, named: dict[str, Any]) -> Convert | None:
    """Returns a converter to values of fastavro, or None if no conversion is needed. It does not accept None."""
    schema = unwrap_schema(schema, named)
    if isinstance(schema, list):
        return None
    kind, logical = schema["type"], schema.get("logicalType")
    if logical in _TIMESTAMPS:
        return lambda timestamp: timestamp.replace(tzinfo=datetime.UTC)
    if logical == "uuid":
        return uuid.UUID
    if kind in ("record", "error"):
        names = [f["name"] for f in schema["fields"]]
        parts = [_or_none(to_avro(f["type"], named)) for f in schema["fields"]]

        def record(row: Row) -> dict[str, Any]:
            return {n: part(v) for n, part, v in zip(names, parts, row, strict=True)}

        return record
    return _container_converter(schema, lambda inner: to_avro(inner, named))


def _container_converter(schema: Any, converter: Callable[[Any], Convert | None]) -> Convert | None:
    if schema["type"] == "array":
        inner = converter(schema["items"])
        return None if inner is None else _each(_or_none(inner))
    if schema["type"] == "map":
        inner = converter(schema["values"])
        return None if inner is None else _each_value(_or_none(inner))
    return None


def _each(convert: Convert) -> Convert:
    return lambda values: [convert(v) for v in values]


def _each_value(convert: Convert) -> Convert:
    return lambda values: {k: convert(v) for k, v in values.items()}


def _or_none(convert: Convert | None) -> Convert:
    if convert is None:
        return lambda value: value
    return lambda value: None if value is None else convert(value)
