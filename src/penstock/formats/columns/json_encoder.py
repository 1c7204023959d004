"""The encoder of JSON records: the text that Flink's JSON format writes, built by columns."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Context
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from penstock.formats.columns.json_struct import check_key
from penstock.formats.columns.record_error import no_such_type
from penstock.formats.columns.temporal_text import format_times, format_timestamps
from penstock.runtime.relational.changes import Changes
from penstock.runtime.relational.java.numbers import double_text, float_text
from penstock.types.logical.kinds import (
    INT,
    ArrayType,
    BinaryType,
    BooleanType,
    CharType,
    DateType,
    DecimalType,
    Field,
    FloatType,
    IntegerType,
    LogicalType,
    MapType,
    MultisetType,
    NullType,
    RowType,
    TimestampType,
    TimeType,
)

_SPECIAL = r'["\\\x00-\x1f]'
_EXACT = Context(prec=76)
_CONTROL = re.compile(r"\\u00([0-9a-f]{2})")


@dataclass(frozen=True, slots=True)
class JsonWriteSettings:
    """How JSON is written: the options of the format."""

    timestamp_separator: str = " "  # "T" for ISO-8601
    decimal_as_plain_number: bool = False
    ignore_null_fields: bool = False


class JsonEncoder:
    """Encodes rows as JSON objects.

    >>> from penstock.types.logical.kinds import STRING
    >>> rows = Changes([pa.array([1, None]), pa.array(["x", 'a"b'])], 2)
    >>> JsonEncoder([Field("a", INT), Field("b", STRING)]).encode(rows)[0]
    [b'{"a":1,"b":"x"}', b'{"a":null,"b":"a\\\\"b"}']
    """

    def __init__(self, fields: Sequence[Field], settings: JsonWriteSettings | None = None) -> None:
        self.fields = tuple(fields)
        self.settings = settings or JsonWriteSettings()
        for field in self.fields:
            check_json_type(field.type)

    def encode(self, changes: Changes) -> tuple[list[Any], NDArray[np.int64] | None]:
        """Returns one JSON text per row, without a line end."""
        return self.texts(changes.columns, changes.length).cast(pa.binary()).to_pylist(), None

    def texts(self, columns: Sequence[pa.Array], length: int) -> pa.Array:
        """Returns the objects of some columns as text."""
        return self._object(
            [field.name for field in self.fields], [field.type for field in self.fields], columns, length
        )

    def _object(
        self, names: Sequence[str], types: Sequence[LogicalType], columns: Sequence[pa.Array], length: int
    ) -> pa.Array:
        if not columns:
            return pa.array(["{}"] * length, pa.string())
        parts: list[Any] = []
        for at, (name, type_, column) in enumerate(zip(names, types, columns, strict=True)):
            key = f"{_quote(name)}:"
            values = self._values(column, type_)
            if self.settings.ignore_null_fields:
                parts.append(pc.fill_null(pc.binary_join_element_wise(f",{key}", values, ""), ""))
            else:
                parts += [("{" if at == 0 else ",") + key, pc.fill_null(values, "null")]
        if not self.settings.ignore_null_fields:
            return pc.binary_join_element_wise(*parts, "}", "")
        joined = pc.utf8_slice_codeunits(pc.binary_join_element_wise(*parts, ""), 1)
        return pc.binary_join_element_wise("{", joined, "}", "")

    def _values(self, column: pa.Array, type_: LogicalType) -> pa.Array:
        """Returns the JSON text of each value, or null."""
        match type_:
            case BooleanType() | IntegerType():
                return column.cast(pa.string())
            case FloatType():
                return pa.array([_float(v, type_.bits) for v in column.to_pylist()], pa.string())
            case DecimalType():
                return self._decimals(column)
            case CharType():
                return quoted(column)
            case BinaryType():
                texts = [None if v is None else f'"{base64.b64encode(v).decode()}"' for v in column.to_pylist()]
                return pa.array(texts, pa.string())
            case DateType():
                return _in_quotes(column.cast(pa.string()))
            case TimeType():
                return _in_quotes(format_times(column))
            case TimestampType():
                suffix = "Z" if type_.local else ""
                return _in_quotes(format_timestamps(column, self.settings.timestamp_separator, suffix))
            case ArrayType():
                elements = pc.fill_null(self._values(column.flatten(), type_.element), "null")
                return _joined(column, elements, "[", "]")
            case MapType():
                return self._maps(column, type_.value)
            case MultisetType():
                return self._maps(column, INT)
            case RowType():
                types = [field.type for field in type_.fields]
                names = [field.name for field in type_.fields]
                text = self._object(names, types, column.flatten(), len(column))
                return pc.if_else(column.is_valid(), text, pa.scalar(None, pa.string()))
        return pa.nulls(len(column), pa.string())

    def _decimals(self, column: pa.Array) -> pa.Array:
        if self.settings.decimal_as_plain_number:
            return pa.array([None if v is None else format(v, "f") for v in column.to_pylist()], pa.string())
        return pa.array([None if v is None else java_decimal(v) for v in column.to_pylist()], pa.string())

    def _maps(self, column: pa.Array, value: LogicalType) -> pa.Array:
        start, end = (column.offsets[0].as_py(), column.offsets[-1].as_py()) if len(column) else (0, 0)
        keys, items = column.keys.slice(start, end - start), column.items.slice(start, end - start)
        lists = pa.ListArray.from_arrays(
            pc.subtract(column.offsets, start).cast(pa.int32()),
            keys,
            mask=column.is_null() if column.null_count else None,
        )
        texts = pc.fill_null(self._values(items, value), "null")
        return _joined(lists, pc.binary_join_element_wise(quoted(keys), texts, ":"), "{", "}")


def check_json_type(type_: LogicalType) -> None:
    """Refuses types that the format does not have."""
    match type_:
        case ArrayType():
            check_json_type(type_.element)
        case MapType() | MultisetType():
            check_key(type_)
            if isinstance(type_, MapType):
                check_json_type(type_.value)
        case RowType():
            for field in type_.fields:
                check_json_type(field.type)
        case (
            BooleanType() | IntegerType() | FloatType() | DecimalType() | CharType() | BinaryType() | DateType()
            | TimeType() | TimestampType() | NullType()
        ):  # fmt: skip
            return
        case _:
            raise no_such_type("json", type_)


def quoted(column: pa.Array) -> pa.Array:
    """Returns texts as JSON strings, escaped as Jackson does."""
    special = pc.match_substring_regex(column, _SPECIAL)
    plain = _in_quotes(column)
    if not pc.any(special).as_py():
        return plain
    at = np.flatnonzero(np.asarray(pc.fill_null(special, False)))
    return pc.replace_with_mask(
        plain, pc.fill_null(special, False), pa.array([_quote(column[int(i)].as_py()) for i in at], pa.string())
    )


def _in_quotes(texts: pa.Array) -> pa.Array:
    return pc.binary_join_element_wise('"', texts, '"', "")


def _quote(text: str) -> str:
    return _CONTROL.sub(lambda match: f"\\u00{match[1].upper()}", json.dumps(text, ensure_ascii=False))


def _joined(column: pa.Array, elements: pa.Array, opening: str, closing: str) -> pa.Array:
    """Joins the texts of the elements of each list."""
    lengths = pc.fill_null(pc.list_value_length(column), 0)
    offsets = np.zeros(len(column) + 1, np.int32)
    np.cumsum(np.asarray(lengths), out=offsets[1:])
    lists = pa.ListArray.from_arrays(pa.array(offsets), elements)
    texts = pc.binary_join_element_wise(opening, pc.binary_join(lists, ","), closing, "")
    return pc.if_else(column.is_valid(), texts, pa.scalar(None, pa.string())) if column.null_count else texts


def _float(value: float | None, bits: int) -> str | None:
    if value is None:
        return None
    text = double_text(value) if bits == 64 else float_text(value)
    return text if text[-1].isdigit() else f'"{text}"'  # JSON has no NaN and no infinity


def java_decimal(value: Any) -> str:
    """Returns a decimal as BigDecimal.toString does after the zeros at its end are removed.

    >>> from decimal import Decimal
    >>> [java_decimal(Decimal(text)) for text in ("0.00000012", "12.30", "100", "0.00")]
    ['1.2E-7', '12.3', '1E+2', '0']
    """
    return str(value.normalize(_EXACT))  # Python has the same rules for exponents
