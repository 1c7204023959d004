"""Converts Python values for Arrow columns: objects become structs, dicts become lists of pairs."""

from __future__ import annotations

import dataclasses
import datetime
import decimal
import enum
import uuid
from collections.abc import Sequence
from typing import Any

import msgspec
import pyarrow as pa

from penstock.row import Row
from penstock.time import Instant

_UNCHANGED = (
    *(str, bool, int, float, bytes, type(None), decimal.Decimal),
    *(datetime.date, datetime.datetime, datetime.time, datetime.timedelta),
)
ARROW_ERRORS = (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, OverflowError)


class NoArrowColumn(Exception):  # noqa: N818 - a signal: the column then has pickles or text
    """Arrow has no column type for a value."""


def to_arrow_value(value: Any) -> Any:
    """Converts a value to one that Arrow can infer a column type for.

    >>> to_arrow_value(("a", 1)), to_arrow_value({1: "x"})
    ({'f0': 'a', 'f1': 1}, [{'key': 1, 'value': 'x'}])
    """
    if type(value) in _UNCHANGED:
        return value
    if isinstance(value, Row):
        names = getattr(value, "_fields", None) or [f"f{i}" for i in range(len(value))]
        return {n: to_arrow_value(v) for n, v in zip(names, list(value), strict=True)}
    if isinstance(value, tuple):
        names = getattr(value, "_fields", None) or [f"f{i}" for i in range(len(value))]
        return {n: to_arrow_value(v) for n, v in zip(names, value, strict=True)}
    if isinstance(value, dict):
        return [{"key": to_arrow_value(k), "value": to_arrow_value(v)} for k, v in value.items()]
    if isinstance(value, (list, set, frozenset)):
        return [to_arrow_value(v) for v in value]
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: to_arrow_value(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if isinstance(value, msgspec.Struct):
        return {n: to_arrow_value(getattr(value, n)) for n in value.__struct_fields__}
    if isinstance(value, Instant):
        return datetime.datetime.fromtimestamp(value.seconds, datetime.UTC).replace(microsecond=value.nanos // 1000)
    if isinstance(value, enum.Enum):
        return value.name
    if isinstance(value, uuid.UUID):
        return str(value)
    raise NoArrowColumn(type(value).__name__)


def arrow_column(values: Sequence[Any]) -> pa.Array:
    """A column of values of any types. Arrow infers its type; values of several types become text.

    >>> arrow_column([1, None]).type, arrow_column([1, "a"]).to_pylist()
    (DataType(int64), ['1', "'a'"])
    """
    try:
        return pa.array([to_arrow_value(v) for v in values])
    except (NoArrowColumn, *ARROW_ERRORS):
        return text_column(values)


def text_column(values: Sequence[Any]) -> pa.Array:
    """A column with the `repr` of values."""
    return pa.array([None if v is None else repr(v) for v in values], pa.string())
