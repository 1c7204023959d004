"""Avro records to columns and back."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from decimal import Context, Decimal
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from penstock.errors import ConfigError
from penstock.formats.avro.records import AvroDeserializationSchema
from penstock.formats.avro.schema import AvroSchema, fastavro
from penstock.formats.avro.schema_registry import MAGIC, SchemaRegistry
from penstock.formats.columns.avro_schema import avro_schema, without_logical_types
from penstock.formats.columns.interface import Decoded
from penstock.formats.columns.json_struct import list_column, map_column
from penstock.formats.columns.record_error import unreadable
from penstock.runtime.relational.changes import Changes
from penstock.types.logical.arrow import arrow_type
from penstock.types.logical.kinds import (
    INT,
    ArrayType,
    DateType,
    DecimalType,
    Field,
    LogicalType,
    MapType,
    MultisetType,
    RowType,
    TimestampType,
    TimeType,
)

_EXACT = Context(prec=40)


def avro_column(values: list[Any], type_: LogicalType) -> pa.Array:
    """Returns the column of values that fastavro read: plain numbers and bytes, or dates and decimals (from files)."""
    arrow = arrow_type(type_)
    match type_:
        case DateType() | TimeType() | TimestampType():
            if any(v is not None and not isinstance(v, int) for v in values):
                return pa.array(values, arrow)
            return pa.array(values, pa.int64() if isinstance(type_, TimestampType) else pa.int32()).cast(arrow)
        case DecimalType():
            return pa.array([None if v is None else _decimal(v, type_.scale) for v in values], arrow)
        case ArrayType():
            return list_column(values, lambda elements: avro_column(elements, type_.element))
        case MapType() | MultisetType():
            value = type_.value if isinstance(type_, MapType) else INT
            return map_column(values, arrow.key_type, lambda items: avro_column(items, value))
        case RowType():
            mask = pa.array([v is None for v in values], pa.bool_())
            columns = [avro_column([None if v is None else v[f.name] for v in values], f.type) for f in type_.fields]
            return pa.StructArray.from_arrays(columns, fields=list(arrow), mask=mask)
    return pa.array(values, arrow)


def _decimal(data: bytes | Decimal, scale: int) -> Decimal:
    if isinstance(data, Decimal):
        return data
    return Decimal(int.from_bytes(data, "big", signed=True)).scaleb(-scale, _EXACT)


def avro_values(column: pa.Array, type_: LogicalType) -> list[Any]:
    """Returns the values of a column as fastavro writes them without logical types."""
    match type_:
        case DateType() | TimeType():
            return list(column.cast(pa.int32()).to_pylist())
        case TimestampType():
            return list(column.cast(pa.int64()).to_pylist())
        case DecimalType():
            return [None if v is None else _unscaled(v, type_.scale) for v in column.to_pylist()]
        case ArrayType():
            elements = avro_values(column.flatten(), type_.element)
            return _lists(column, elements)
        case MapType() | MultisetType():
            value = type_.value if isinstance(type_, MapType) else INT
            start, end = (column.offsets[0].as_py(), column.offsets[-1].as_py()) if len(column) else (0, 0)
            items = avro_values(column.items.slice(start, end - start), value)
            keys = column.keys.slice(start, end - start).to_pylist()
            lengths = [None if p is None else len(p) for p in column.to_pylist()]
            results, at = [], 0
            for length in lengths:
                results.append(
                    None if length is None else dict(zip(keys[at : at + length], items[at : at + length], strict=True))
                )
                at += length or 0
            return results
        case RowType():
            names = [field.name for field in type_.fields]
            parts = [avro_values(c, f.type) for c, f in zip(column.flatten(), type_.fields, strict=True)]
            rows = zip(*parts, strict=True) if parts else [()] * len(column)
            valid = column.is_valid().to_pylist()
            return [dict(zip(names, row, strict=True)) if ok else None for ok, row in zip(valid, rows, strict=True)]
    return list(column.to_pylist())


def _lists(column: pa.Array, elements: list[Any]) -> list[Any]:
    results: list[Any] = []
    at = 0
    for value in column.value_lengths().to_pylist():
        results.append(None if value is None else elements[at : at + value])
        at += value or 0
    return results


def _unscaled(value: Decimal, scale: int) -> bytes:
    number = int(value.scaleb(scale, _EXACT))
    return number.to_bytes((8 + (number + (number < 0)).bit_length()) // 8, "big", signed=True)


class AvroDecoder:
    """Decodes Avro records. `fields` are all fields of a record; `wanted` are those that become columns.

    With a registry, each record starts with the id of the schema that it was written with.

    >>> from penstock.types.logical.kinds import STRING
    >>> fields = [Field("a", INT), Field("b", STRING)]
    >>> records, _ = AvroEncoder(fields).encode(Changes([pa.array([1], pa.int32()), pa.array(["x"])], 1))
    >>> AvroDecoder(fields, fields[1:]).decode(records).changes.columns[0].to_pylist()
    ['x']
    """

    def __init__(
        self,
        fields: Sequence[Field],
        wanted: Sequence[Field],
        legacy: bool = True,
        registry: SchemaRegistry | None = None,
        schema: str | None = None,
    ) -> None:
        self.wanted = tuple(wanted)
        self.registry = registry
        self.schema = json.loads(schema) if schema else avro_schema(fields, legacy)
        if registry is not None and not schema:  # written with another schema, of which only the wanted fields are read
            self.schema = avro_schema(wanted, legacy)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name not in ("_reader", "_schemas")}

    @cached_property
    def _reader(self) -> AvroDeserializationSchema:
        plain = json.dumps(without_logical_types(self.schema))
        registry = None if self.registry is None else _PlainRegistry(self.registry)
        return AvroDeserializationSchema(AvroSchema(plain), registry)

    def decode(self, elements: list[Any]) -> Decoded:
        """Decodes the elements of one chunk. A record without a value has no row."""
        bad: list[tuple[int, Exception]] = []
        origins: list[int] | None = None
        try:
            records = self._reader.decode(elements)
        except ConfigError:
            raise
        except Exception:
            records, origins = [], []
            for at, element in enumerate(elements):
                if element is None:
                    continue
                try:
                    records.append(self._reader.deserialize(element))
                    origins.append(at)
                except ConfigError:
                    raise
                except Exception as error:
                    bad.append((at, unreadable("an Avro record of this table", error)))
        return Decoded(
            record_changes(records, self.wanted), None if origins is None else np.array(origins, np.int64), bad
        )


def record_changes(records: list[Any], wanted: Sequence[Field]) -> Changes:
    """Returns the rows of records that are dicts."""
    return Changes([avro_column([r[f.name] for r in records], f.type) for f in wanted], len(records))


class _PlainRegistry(SchemaRegistry):
    """Returns schemas without logical types."""

    def __init__(self, registry: SchemaRegistry) -> None:
        self._registry = registry

    def schema(self, number: int) -> str:
        return json.dumps(without_logical_types(json.loads(self._registry.schema(number))))


class AvroFileRecords:
    """Decodes the records of Avro files, which are dicts."""

    def __init__(self, wanted: Sequence[Field]) -> None:
        self.wanted = tuple(wanted)

    def decode(self, elements: list[Any]) -> Decoded:
        """Returns the rows of some records."""
        return Decoded(record_changes(elements, self.wanted))


class AvroFileRows:
    """Encodes rows as records of Avro files."""

    def __init__(self, fields: Sequence[Field]) -> None:
        self.fields = tuple(fields)

    def encode(self, changes: Changes) -> tuple[list[Any], NDArray[np.int64] | None]:
        """Returns one dict per row."""
        return record_dicts(changes, self.fields), None


def record_dicts(changes: Changes, fields: Sequence[Field]) -> list[dict[str, Any]]:
    """Returns rows as dicts whose values are plain numbers, bytes and texts."""
    names = [field.name for field in fields]
    columns = [avro_values(c, f.type) for c, f in zip(changes.columns, fields, strict=True)]
    rows = zip(*columns, strict=True) if columns else [()] * changes.length
    return [dict(zip(names, row, strict=True)) for row in rows]


class AvroEncoder:
    """Encodes rows as Avro records. With a registry, the id of the schema precedes each record."""

    def __init__(
        self,
        fields: Sequence[Field],
        legacy: bool = True,
        registry: SchemaRegistry | None = None,
        subject: str = "",
        schema: str | None = None,
    ) -> None:
        self.fields = tuple(fields)
        self.registry = registry
        self.subject = subject
        self.schema = json.loads(schema) if schema else avro_schema(fields, legacy)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name not in ("_parsed", "_header")}

    @cached_property
    def _parsed(self) -> Any:
        return AvroSchema(json.dumps(without_logical_types(self.schema))).parsed

    @cached_property
    def _header(self) -> bytes:
        if self.registry is None:
            return b""
        return MAGIC + self.registry.register(self.subject, json.dumps(self.schema)).to_bytes(4, "big")

    def encode(self, changes: Changes) -> tuple[list[Any], NDArray[np.int64] | None]:
        """Returns one record per row."""
        write, schema, header = fastavro().schemaless_writer, self._parsed, self._header
        records = []
        for row in record_dicts(changes, self.fields):
            stream = io.BytesIO()
            stream.write(header)
            write(stream, schema, row)
            records.append(stream.getvalue())
        return records, None
