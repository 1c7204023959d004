"""The format 'raw': the bytes of a record are one value."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from penstock.errors import ConfigError
from penstock.formats.charset import resolve_charset
from penstock.formats.columns.interface import Decoded
from penstock.formats.columns.record_error import misfit
from penstock.runtime.relational.changes import Changes
from penstock.types.logical.arrow import arrow_type
from penstock.types.logical.kinds import BinaryType, BooleanType, CharType, Field, FloatType, IntegerType, LogicalType

_INTEGERS = {8: "b", 16: "h", 32: "i", 64: "q"}


def number_layout(type_: LogicalType) -> str | None:
    """Returns the layout of a number for `struct`, without the byte order, or None for other types."""
    match type_:
        case IntegerType():
            return _INTEGERS[type_.bits]
        case FloatType():
            return "f" if type_.bits == 32 else "d"
        case BooleanType():
            return "?"
    return None


class RawValues:
    """Decodes and encodes one column.

    >>> from penstock.types.logical.kinds import INT, STRING
    >>> RawValues(Field("n", INT)).decode([b"\\x00\\x00\\x01\\x00"]).changes.columns[0].to_pylist()
    [256]
    >>> RawValues(Field("s", STRING)).encode(Changes([pa.array(["a", None])], 2))[0]
    [b'a', None]
    """

    def __init__(self, field: Field, charset: str = "UTF-8", little_endian: bool = False, wanted: bool = True) -> None:
        self.field = field
        self.charset = resolve_charset(charset)
        self.wanted = wanted  # False if a query needs only the number of rows
        layout = number_layout(field.type)
        if layout is None and not isinstance(field.type, (CharType, BinaryType)):
            raise ConfigError("TABLE_FORMAT", f"The 'raw' format doesn't support '{field.type}' as column type.")
        self.layout = None if layout is None else ("<" if little_endian else ">") + layout

    def decode(self, elements: list[Any]) -> Decoded:
        """Decodes records. A record without a value is null."""
        if not self.wanted:
            return Decoded(Changes([], len(elements)))
        bad: list[tuple[int, Exception]] = []
        try:
            values = [None if e is None else self._value(e) for e in elements]
            return Decoded(Changes([pa.array(values, arrow_type(self.field.type))], len(values)))
        except (struct.error, UnicodeDecodeError):
            values, origins = [], []
        for at, element in enumerate(elements):
            try:
                values.append(None if element is None else self._value(element))
                origins.append(at)
            except (struct.error, UnicodeDecodeError):
                bad.append((at, misfit(self.field.name, self.field.type, bytes(element))))
        column = pa.array(values, arrow_type(self.field.type))
        return Decoded(Changes([column], len(values)), np.array(origins, np.int64), bad)

    def _value(self, element: Any) -> Any:
        data = element.encode(self.charset) if isinstance(element, str) else bytes(element)
        if self.layout is not None:
            return struct.unpack(self.layout, data)[0]
        return data.decode(self.charset) if isinstance(self.field.type, CharType) else data

    def encode(self, changes: Changes) -> tuple[list[Any], NDArray[np.int64] | None]:
        """Returns the bytes of each value; None for null."""
        values = changes.columns[0].to_pylist()
        if self.layout is not None:
            pack, layout = struct.pack, self.layout
            return [None if v is None else pack(layout, v) for v in values], None
        if isinstance(self.field.type, CharType):
            return [None if v is None else v.encode(self.charset) for v in values], None
        return values, None
