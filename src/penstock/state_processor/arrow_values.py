"""Python values as what Arrow has a column for: objects become structs, dicts become lists of pairs."""

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

_AS_THEY_ARE = (
    *(str, bool, int, float, bytes, type(None), decimal.Decimal),
    *(datetime.date, datetime.datetime, datetime.time, datetime.timedelta),
)
ARROW_ERRORS = (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, OverflowError)


class NotNatural(Exception):  # noqa: N818 - the value stays a pickle, or becomes text
    """Arrow has no column for such a value."""


def natural(value: Any) -> Any:
    """A value that Arrow finds a column for.

    >>> natural(("a", 1)), natural({1: "x"})
    ({'f0': 'a', 'f1': 1}, [{'key': 1, 'value': 'x'}])
    """
    if type(value) in _AS_THEY_ARE:
        return value
    if isinstance(value, Row):
        names = getattr(value, "_fields", None) or [f"f{i}" for i in range(len(value))]
        return {n: natural(v) for n, v in zip(names, list(value), strict=True)}
    if isinstance(value, tuple):
        names = getattr(value, "_fields", None) or [f"f{i}" for i in range(len(value))]
        return {n: natural(v) for n, v in zip(names, value, strict=True)}
    if isinstance(value, dict):
        return [{"key": natural(k), "value": natural(v)} for k, v in value.items()]
    if isinstance(value, (list, set, frozenset)):
        return [natural(v) for v in value]
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: natural(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if isinstance(value, msgspec.Struct):
        return {n: natural(getattr(value, n)) for n in value.__struct_fields__}
    if isinstance(value, Instant):
        return datetime.datetime.fromtimestamp(value.seconds, datetime.UTC).replace(microsecond=value.nanos // 1000)
    if isinstance(value, enum.Enum):
        return value.name
    if isinstance(value, uuid.UUID):
        return str(value)
    raise NotNatural(type(value).__name__)


def column(values: Sequence[Any]) -> pa.Array:
    """A column of values of any types: as Arrow finds it; as text when they are of several kinds.

    >>> column([1, None]).type, column([1, "a"]).to_pylist()
    (DataType(int64), ['1', "'a'"])
    """
    try:
        return pa.array([natural(v) for v in values])
    except (NotNatural, *ARROW_ERRORS):
        return texts(values)


def texts(values: Sequence[Any]) -> pa.Array:
    """Values as Python writes them."""
    return pa.array([None if v is None else repr(v) for v in values], pa.string())
