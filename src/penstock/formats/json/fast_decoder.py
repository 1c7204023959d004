"""JSON decoded to rows at once, where it holds just what the row's type says: the fast way of the common case."""

from __future__ import annotations

import decimal
from collections.abc import Callable
from typing import Annotated, Any

import msgspec

from penstock.formats.java_text import date_of, instant_of, is_binary
from penstock.formats.json_times import TimestampForm
from penstock.row import Row, make_row
from penstock.types import (
    BasicType,
    BasicTypeInfo,
    DateTypeInfo,
    MapTypeInfo,
    PrimitiveArrayTypeInfo,
    RowTypeInfo,
    TimestampTypeInfo,
    TimeTypeInfo,
    TypeInformation,
)
from penstock.types.collection import SequenceTypeInfo

Finish = Callable[[Any], Any]
Strict = tuple[Any, Finish | None]  # an annotation for msgspec, and what makes the value of what it decodes

_BASIC: dict[BasicType, Any] = {
    BasicType.STRING: str,
    BasicType.CHAR: str,
    BasicType.BOOLEAN: bool,
    BasicType.DOUBLE: float,
    BasicType.BIG_INT: int,
    BasicType.BIG_DEC: decimal.Decimal,
}


class StrictRows:
    """Decodes messages to rows. Raises on one that does not hold just what the type says, though it may be convertible."""

    def __init__(self, struct: Any, finish: Finish) -> None:
        self._decode = msgspec.json.Decoder(struct).decode
        self._finish = finish

    def __call__(self, message: bytes) -> Row:
        row: Row = self._finish(self._decode(message))
        return row


def strict_rows(kind: RowTypeInfo, form: TimestampForm, fail_on_missing_field: bool) -> StrictRows | None:
    """The fast way for a type of rows; None where a part of it has none."""
    found = _Strict(form, fail_on_missing_field).of(kind)
    return None if found is None or found[1] is None else StrictRows(found[0], found[1])


class _Strict:
    def __init__(self, form: TimestampForm, required: bool) -> None:
        self._form = form
        self._required = required

    def of(self, kind: TypeInformation) -> Strict | None:
        if isinstance(kind, BasicTypeInfo):
            return self._basic(kind)
        if isinstance(kind, DateTypeInfo):
            return str, date_of
        if isinstance(kind, TimeTypeInfo):
            return str, self._form.read_clock
        if isinstance(kind, TimestampTypeInfo):
            return (str | int), self._form.read
        if is_binary(kind):
            return bytes, None
        if isinstance(kind, RowTypeInfo):
            return self._row(kind)
        if isinstance(kind, SequenceTypeInfo):
            element = self.of(kind.element_type)
            if element is None:
                return None
            annotation, finish = element
            part = annotation if isinstance(kind, PrimitiveArrayTypeInfo) else annotation | None
            return list[part], None if finish is None else _each(finish)  # type: ignore[valid-type]
        if isinstance(kind, MapTypeInfo) and _is_text(kind.key_type):
            held = self.of(kind.value_type)
            if held is None:
                return None
            annotation, finish = held
            return dict[str, annotation | None], None if finish is None else _each_value(finish)  # type: ignore[valid-type]
        return None

    def _basic(self, kind: BasicTypeInfo) -> Strict | None:
        basic = kind.basic_type
        if kind.range is not None:
            return Annotated[int, msgspec.Meta(ge=kind.range[0], le=kind.range[1])], None
        if basic is BasicType.FLOAT:
            return float, kind.convert
        if basic is BasicType.INSTANT:
            read = self._form.read_instant or self._form.read
            return (str | int), lambda value: instant_of(read(value))
        return _BASIC[basic], None

    def _row(self, kind: RowTypeInfo) -> Strict | None:
        names = kind.get_field_names()
        parts = [self.of(t) for t in kind.field_types]
        known = [part for part in parts if part is not None]
        if len(known) < len(parts) or len(set(names)) < len(names):
            return None
        fields: list[Any] = [
            (f"f{i}", annotation | None) if self._required else (f"f{i}", annotation | None, None)
            for i, (annotation, _) in enumerate(known)
        ]
        struct = msgspec.defstruct("Row", fields, rename={f"f{i}": name for i, name in enumerate(names)}, gc=False)
        finishes = [(i, finish) for i, (_, finish) in enumerate(known) if finish is not None]
        return struct, _row_of(names, finishes)


def _row_of(names: list[str], finishes: list[tuple[int, Finish]]) -> Finish:
    fields_of = msgspec.structs.astuple
    if not finishes:
        return lambda struct: make_row(names, list(fields_of(struct)))

    def row(struct: Any) -> Row:
        values = list(fields_of(struct))
        for at, finish in finishes:
            if values[at] is not None:
                values[at] = finish(values[at])
        return make_row(names, values)

    return row


def _each(finish: Finish) -> Finish:
    return lambda values: [None if v is None else finish(v) for v in values]


def _each_value(finish: Finish) -> Finish:
    return lambda values: {k: None if v is None else finish(v) for k, v in values.items()}


def _is_text(kind: TypeInformation) -> bool:
    return isinstance(kind, BasicTypeInfo) and kind.basic_type is BasicType.STRING
