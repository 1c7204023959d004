"""The encoder of CSV records."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from penstock.formats.columns.json_encoder import java_decimal
from penstock.formats.columns.record_error import no_such_type
from penstock.formats.columns.temporal_text import format_times, format_timestamps
from penstock.formats.csv.dialect import CsvDialect
from penstock.runtime.relational.changes import Changes
from penstock.runtime.relational.java.numbers import double_text, float_text
from penstock.types.logical.kinds import (
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
    RowType,
    TimestampType,
    TimeType,
)

_MAX_CHECKED = 24  # characters; longer texts are always quoted, as in Flink
_BACKSLASH = "\\"
_UNQUOTED = (BooleanType, IntegerType, FloatType, DecimalType)


class CsvEncoder:
    """Encodes rows as CSV lines, without line ends.

    >>> from penstock.types.logical.kinds import INT, STRING
    >>> rows = Changes([pa.array([1, None]), pa.array(["a,b", "c"])], 2)
    >>> CsvEncoder([Field("a", INT), Field("b", STRING)]).encode(rows)[0]
    [b'1,"a,b"', b',c']
    """

    def __init__(self, fields: Sequence[Field], dialect: CsvDialect | None = None) -> None:
        self.fields = tuple(fields)
        self.dialect = dialect or CsvDialect()
        self.dialect.check()
        for field in self.fields:
            check_csv_type(field.type)

    def encode(self, changes: Changes) -> tuple[list[Any], NDArray[np.int64] | None]:
        """Returns one line per row."""
        if not self.fields:
            return [b""] * changes.length, None
        columns: list[pa.Array] = []
        for field, column in zip(self.fields, changes.columns, strict=True):
            texts = self._text_column(column, field.type)
            columns.append(texts if isinstance(field.type, _UNQUOTED) else self._quoted(texts))
        null = self.dialect.null or ""
        lines = pc.binary_join_element_wise(
            *columns, self.dialect.delimiter, null_handling="replace", null_replacement=null
        )
        return lines.cast(pa.binary()).to_pylist(), None

    def _quoted(self, texts: pa.Array) -> pa.Array:
        """Adds quotes to texts that need them by Flink's rule: all characters below the last special one do, and long texts."""
        quote, escape = self.dialect.quote, self.dialect.escape
        if quote is None:
            return texts
        limit = max(map(ord, (self.dialect.delimiter, quote, "\r", "\n")))
        # A backslash is special for Jackson even if no escape character is set.
        unsafe = f"[\\x00-\\x{{{limit:x}}}\\x{{{ord(escape or _BACKSLASH):x}}}]"
        needed = pc.or_(pc.greater(pc.utf8_length(texts), _MAX_CHECKED), pc.match_substring_regex(texts, unsafe))
        inside = texts if escape is None else pc.replace_substring(texts, escape, escape * 2)
        quoted = pc.binary_join_element_wise(quote, pc.replace_substring(inside, quote, quote * 2), quote, "")
        return pc.if_else(needed, quoted, texts)

    def _text_column(self, column: pa.Array, type_: LogicalType) -> pa.Array:
        match type_:
            case CharType() | BooleanType() | IntegerType() | DateType():
                return column.cast(pa.string())
            case TimeType():
                return format_times(column)
            case TimestampType():
                return format_timestamps(column, " ", "Z" if type_.local else "")
        return pa.array(self._texts(column, type_), pa.string())

    def _texts(self, column: pa.Array, type_: LogicalType) -> list[str | None]:
        match type_:
            case FloatType():
                show = double_text if type_.bits == 64 else float_text
                return [None if v is None else show(v) for v in column.to_pylist()]
            case DecimalType():
                return [None if v is None else java_decimal(v) for v in column.to_pylist()]
            case BinaryType():
                return [None if v is None else base64.b64encode(v).decode() for v in column.to_pylist()]
            case CharType() | BooleanType() | IntegerType() | DateType() | TimeType() | TimestampType():
                return list(self._text_column(column, type_).to_pylist())
            case ArrayType():
                elements = self._nested(column.flatten(), type_.element)
                lengths = pc.list_value_length(column).to_pylist()
                return self._joined(lengths, elements)
            case RowType():
                parts = [self._nested(c, f.type) for c, f in zip(column.flatten(), type_.fields, strict=True)]
                join = self.dialect.array_delimiter.join
                rows = zip(*parts, strict=True)
                return [join(row) if ok else None for ok, row in zip(column.is_valid().to_pylist(), rows, strict=True)]
        raise no_such_type("csv", type_)

    def _nested(self, column: pa.Array, type_: LogicalType) -> list[str]:
        null = self.dialect.null or ""
        return [null if text is None else text for text in self._texts(column, type_)]

    def _joined(self, lengths: list[int | None], elements: list[str]) -> list[str | None]:
        join, results, at = self.dialect.array_delimiter.join, [], 0
        for length in lengths:
            results.append(None if length is None else join(elements[at : at + length]))
            at += length or 0
        return results


def check_csv_type(type_: LogicalType) -> None:
    """Refuses types that the format does not have."""
    match type_:
        case ArrayType():
            check_csv_type(type_.element)
        case RowType():
            for field in type_.fields:
                check_csv_type(field.type)
        case (
            BooleanType()
            | IntegerType()
            | FloatType()
            | DecimalType()
            | CharType()
            | BinaryType()
            | DateType()
            | TimeType()
            | TimestampType()
        ):
            return
        case _:
            raise no_such_type("csv", type_)
