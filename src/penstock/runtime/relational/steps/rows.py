"""Changes as rows of the program, and back."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.row import Row, RowKind
from penstock.runtime.relational.changes import Changes
from penstock.runtime.relational.column_step import Rows, StepContext, StepResult
from penstock.runtime.relational.expressions.values import from_values, to_values
from penstock.time import NO_TIMESTAMP
from penstock.types.logical.kinds import (
    ArrayType,
    DateType,
    DayTimeIntervalType,
    LogicalType,
    MapType,
    MultisetType,
    RowType,
    TimestampType,
    TimeType,
)

_EPOCH = datetime.datetime(1970, 1, 1)
_UTC_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
_KINDS = [RowKind.INSERT, RowKind.UPDATE_BEFORE, RowKind.UPDATE_AFTER, RowKind.DELETE]


class ToRows:
    """Turns changes into `Row` objects with their kinds. Timestamps become datetimes, dates dates, rows tuples become `Row`."""

    def __init__(self, types: Sequence[LogicalType], names: Sequence[str] | None = None) -> None:
        self._types = list(types)
        self._names = None if names is None else list(names)

    def open(self) -> None:
        """Has nothing to compile."""

    def run(self, rows: Rows, context: StepContext) -> StepResult:
        assert isinstance(rows, Changes)
        return StepResult(self.convert(rows))

    def convert(self, changes: Changes) -> list[Row]:
        """Returns the rows."""
        columns = [python_values(c, t) for c, t in zip(changes.columns, self._types, strict=True)]
        kinds = changes.all_kinds().tolist()
        values = zip(*columns, strict=True) if columns else (() for _ in kinds)
        rows = []
        for kind, row_values in zip(kinds, values, strict=True):
            row = Row(*row_values)
            if self._names is not None:
                row.set_field_names(self._names)
            row.set_row_kind(_KINDS[kind])
            rows.append(row)
        return rows


class FromElements:
    """Turns the elements of a stream into changes: the fields of rows, tuples and objects, or the element itself as one column.

    positions: of the fields in rows and tuples. with_timestamps: the timestamps of the elements are the last column.
    """

    def __init__(
        self,
        types: Sequence[LogicalType],
        names: Sequence[str],
        positions: Sequence[int],
        *,
        whole: bool = False,
        with_timestamps: bool = False,
        with_kinds: bool = True,
    ) -> None:
        self._types = list(types)
        self._names = list(names)
        self._positions = list(positions)
        self._whole = whole
        self._with_timestamps = with_timestamps
        self.reads_timestamps = with_timestamps  # engine/program/timestamp_use.py
        self._with_kinds = with_kinds

    def open(self) -> None:
        """Has nothing to compile."""

    def run(self, rows: Rows, context: StepContext) -> StepResult:
        assert isinstance(rows, list)
        changes = self.convert(rows)
        if self._with_timestamps:
            stamps = context.timestamps()
            column = pa.array(stamps, pa.int64(), mask=stamps == NO_TIMESTAMP).cast(pa.timestamp("ms", "UTC"))
            changes.columns.append(column)
        return StepResult(changes)

    def convert(self, elements: list[Any]) -> Changes:
        """Returns the changes."""
        columns = [from_values([_plain(v, t) for v in self._values(elements, i)], t) for i, t in enumerate(self._types)]
        if not self._with_kinds:
            return Changes(columns, len(elements))
        kinds = np.array([e.get_row_kind().value if isinstance(e, Row) else 0 for e in elements], np.int8)
        return Changes(columns, len(elements), kinds if kinds.any() else None)

    def _values(self, elements: list[Any], index: int) -> list[Any]:
        if self._whole:
            return elements
        if isinstance(elements[0], Row | tuple | list):
            at = self._positions[index]
            return [element[at] for element in elements]
        name = self._names[index]
        if isinstance(elements[0], dict):
            return [element.get(name) for element in elements]
        return [getattr(element, name) for element in elements]


def python_values(column: Any, type_: LogicalType) -> list[Any]:
    """Returns a column as the Python values that programs see."""
    values = to_values(column, type_)
    convert = _to_python(type_)
    return values if convert is None else [None if v is None else convert(v) for v in values]


def _to_python(type_: LogicalType) -> Callable[[Any], Any] | None:
    match type_:
        case DateType():
            return lambda days: datetime.date(1970, 1, 1) + datetime.timedelta(days)
        case TimeType():
            return lambda ms: (_EPOCH + datetime.timedelta(milliseconds=ms)).time()
        case TimestampType():
            epoch = _UTC_EPOCH if type_.local else _EPOCH
            return lambda ns: epoch + datetime.timedelta(microseconds=ns // 1000)
        case DayTimeIntervalType():
            return lambda ms: datetime.timedelta(milliseconds=ms)
        case ArrayType():
            element = _nullable(_to_python(type_.element))
            return lambda values: [element(v) for v in values]
        case MapType():
            key, value = _nullable(_to_python(type_.key)), _nullable(_to_python(type_.value))
            return lambda pairs: {key(k): value(v) for k, v in pairs}
        case MultisetType():
            item = _nullable(_to_python(type_.element))
            return lambda pairs: {item(k): n for k, n in pairs}
        case RowType():
            names = [f.name for f in type_.fields]
            fields = [_nullable(_to_python(f.type)) for f in type_.fields]

            def row(values: Any) -> Row:
                made = Row(*(f(v) for f, v in zip(fields, values, strict=True)))
                made.set_field_names(names)
                return made

            return row
    return None


def _nullable(convert: Callable[[Any], Any] | None) -> Callable[[Any], Any]:
    if convert is None:
        return lambda value: value
    return lambda value: None if value is None else convert(value)


def _plain(value: Any, type_: LogicalType) -> Any:
    """The inverse of `python_values` for one value."""
    if value is None:
        return None
    match type_:
        case DateType():
            return (value - datetime.date(1970, 1, 1)).days if isinstance(value, datetime.date) else value
        case TimeType():
            if not isinstance(value, datetime.time):
                return value
            return ((value.hour * 60 + value.minute) * 60 + value.second) * 1000 + value.microsecond // 1000
        case TimestampType():
            if isinstance(value, datetime.datetime):
                since = value - (_UTC_EPOCH if value.tzinfo is not None else _EPOCH)
                return ((since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds) * 1000
            return int(getattr(value, "to_epoch_milli", lambda: value)()) * 1_000_000
        case DayTimeIntervalType():
            return round(value.total_seconds() * 1000) if isinstance(value, datetime.timedelta) else value
        case ArrayType():
            return [_plain(v, type_.element) for v in value]
        case MapType():
            return [(_plain(k, type_.key), _plain(v, type_.value)) for k, v in value.items()]
        case MultisetType():
            return [(_plain(k, type_.element), n) for k, n in value.items()]
        case RowType():
            return tuple(_plain(v, f.type) for v, f in zip(value, type_.fields, strict=True))
    return value
