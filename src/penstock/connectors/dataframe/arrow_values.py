"""Elements of a known type as Arrow columns that Spark can read."""

from __future__ import annotations

import datetime
import decimal
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from penstock.errors import PlanError
from penstock.types import (
    BasicTypeInfo,
    DateTypeInfo,
    InstantTypeInfo,
    MapTypeInfo,
    PrimitiveArrayTypeInfo,
    RowTypeInfo,
    TimestampTypeInfo,
    TypeInformation,
)
from penstock.types.arrow import DECIMAL, WITH_DECIMALS
from penstock.types.collection import BytesTypeInfo, SequenceTypeInfo
from penstock.types.fields import FieldsTypeInfo
from penstock.types.python import ClassTypeInfo, PlainTypeInfo, PythonTypeInfo

_MOMENT = pa.timestamp("us", "UTC")
_PLAIN: dict[type, Any] = {
    str: pa.string(),
    bool: pa.bool_(),
    int: pa.int64(),
    float: pa.float64(),
    bytes: pa.binary(),
    decimal.Decimal: DECIMAL,
    datetime.date: pa.date32(),
    datetime.datetime: _MOMENT,
}


@dataclass(frozen=True, slots=True)
class _Form:
    """The Arrow type of values, and what they are made into first; None: nothing."""

    arrow: Any
    made: Callable[[Any], Any] | None = None


class ArrowForm:
    """How elements of a type become record batches: a column for each field, or one column `value`.

    >>> from penstock.types import Types
    >>> ArrowForm(Types.TUPLE([Types.STRING(), Types.LONG()])).batch([("a", 1)]).to_pylist()
    [{'f0': 'a', 'f1': 1}]
    """

    def __init__(self, type_info: TypeInformation) -> None:
        kind = _shape(type_info)
        self._fields = kind if isinstance(kind, FieldsTypeInfo) else None
        names = _names(kind)
        types = [kind] if self._fields is None else self._fields.field_types
        self._forms = [_form(t, n) for t, n in zip(types, names, strict=True)]
        self.schema = pa.schema([pa.field(n, f.arrow) for n, f in zip(names, self._forms, strict=True)])

    def batch(self, values: Sequence[Any]) -> Any:
        """A record batch of these elements."""
        columns = [values] if self._fields is None else self._fields.columns(values)
        arrays = [_array(form, column) for form, column in zip(self._forms, columns, strict=True)]
        return pa.record_batch(arrays, schema=self.schema)


def _names(kind: TypeInformation) -> list[str]:
    if isinstance(kind, RowTypeInfo):
        return kind.get_field_names()
    if isinstance(kind, ClassTypeInfo):
        return list(kind.field_names)
    if isinstance(kind, FieldsTypeInfo):
        return [f"f{i}" for i in range(len(kind.field_types))]
    return ["value"]


def _shape(type_info: TypeInformation) -> TypeInformation:
    """What stands behind an annotation."""
    if isinstance(type_info, PythonTypeInfo) and type_info.shape is not None:
        return type_info.shape
    return type_info


def _array(form: _Form, values: Sequence[Any]) -> Any:
    made = form.made
    return pa.array(values if made is None else [None if v is None else made(v) for v in values], form.arrow)


def _form(type_info: TypeInformation, column: str) -> _Form:
    kind = _shape(type_info)
    if isinstance(kind, BasicTypeInfo) and kind.basic_type in WITH_DECIMALS:
        return _Form(WITH_DECIMALS[kind.basic_type])
    if isinstance(kind, PlainTypeInfo) and kind.kind in _PLAIN:
        return _Form(_PLAIN[kind.kind])
    if isinstance(kind, DateTypeInfo):
        return _Form(pa.date32())
    if isinstance(kind, TimestampTypeInfo):
        return _Form(_MOMENT)
    if isinstance(kind, InstantTypeInfo):
        return _Form(_MOMENT, lambda v: v.seconds * 1_000_000 + v.nanos // 1000)
    if isinstance(kind, BytesTypeInfo) or (isinstance(kind, PrimitiveArrayTypeInfo) and kind.binary):
        return _Form(pa.binary(), bytes)
    if isinstance(kind, SequenceTypeInfo):
        return _list(_form(kind.element_type, column))
    if isinstance(kind, MapTypeInfo):
        return _map(_form(kind.key_type, column), _form(kind.value_type, column))
    if isinstance(kind, FieldsTypeInfo):
        return _struct(kind, column)
    raise PlanError(
        "DATAFRAME_TYPE",
        f"Column '{column}' would be of type {type_info.name}, which Spark has no column for. Map the elements to rows of simple "
        "types before, with output_type=Types.ROW_NAMED([...], [...]).",
    )


def _list(inner: _Form) -> _Form:
    made = inner.made
    if made is None:
        return _Form(pa.list_(inner.arrow), list)
    return _Form(pa.list_(inner.arrow), lambda v: [None if x is None else made(x) for x in v])


def _map(key: _Form, value: _Form) -> _Form:
    keys, values = key.made or _same, value.made or _same
    return _Form(
        pa.map_(key.arrow, value.arrow),
        lambda v: [(keys(k), None if x is None else values(x)) for k, x in v.items()],
    )


def _struct(kind: FieldsTypeInfo, column: str) -> _Form:
    names = _names(kind)
    forms = [_form(t, f"{column}.{n}") for t, n in zip(kind.field_types, names, strict=True)]

    def made(value: Any) -> dict[str, Any]:
        (fields,) = zip(*kind.columns([value]), strict=True)
        return {
            n: v if v is None or f.made is None else f.made(v) for n, v, f in zip(names, fields, forms, strict=True)
        }

    return _Form(pa.struct([pa.field(n, f.arrow) for n, f in zip(names, forms, strict=True)]), made)


def _same(value: Any) -> Any:
    return value
