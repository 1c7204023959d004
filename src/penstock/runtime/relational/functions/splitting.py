"""Functions that split text."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.runtime.relational.expressions.frame import Value
from penstock.runtime.relational.functions.definition import CallContext
from penstock.runtime.relational.functions.kernels import Family, by_value, over_distinct
from penstock.runtime.relational.functions.signatures import always_nullable, nullable_if_any, takes, text_or_null
from penstock.types.logical.kinds import STRING, ArrayType, MapType

_family = Family("string")


@_family.columns(
    "SPLIT_INDEX",
    takes("text, text, int", "text, int, int", returns=text_or_null),
    "the n-th part, from 0, of a text that is split at a separator",
)
def split_index(call: CallContext, value: Value, separator: Value, index: Value) -> Value:
    constant = all(isinstance(v, pa.Scalar) and v.is_valid for v in (separator, index))
    if constant and isinstance(value, pa.Array) and len(value):
        at, by = index.as_py(), separator.as_py()
        if at >= 0 and by and isinstance(by, str):
            return over_distinct(value, lambda texts: _split_part(texts, by, at))
    return by_value(split_index_of, strict=True)(call, value, separator, index)


def _split_part(texts: pa.Array, separator: str, index: int) -> pa.Array:
    """Returns a part of texts. A text without so many parts has none, and neither has an empty text."""
    parts = pc.split_pattern(texts, separator, max_splits=index + 1)
    ends = np.asarray(parts.offsets)
    at = ends[:-1] + index
    missing = (at >= ends[1:]) | ~np.asarray(pc.fill_null(pc.greater(pc.binary_length(texts), 0), False))
    return parts.values.take(pa.array(np.where(missing, 0, at), mask=missing))


def split_index_of(value: str, separator: str | int, index: int) -> str | None:
    """
    >>> split_index_of("a/b", "/", 1), split_index_of("a/b", "/", 2), split_index_of("", "/", 0)
    ('b', None, None)
    """
    if index < 0:
        return None
    if isinstance(separator, int):
        if not 0 <= separator <= 255:
            return None
        separator = chr(separator)
    parts = split_all(value, separator)
    return parts[index] if index < len(parts) else None


def split_all(value: str, separator: str) -> list[str]:
    """Splits a text at all occurrences of a separator; without one, at blanks."""
    if value == "":
        return []
    return value.split(separator) if separator else value.split()


@_family.values(
    "SPLIT", takes("text, text", returns=nullable_if_any(ArrayType(STRING))), "the parts of a text between a delimiter"
)
def split(value: str, delimiter: str) -> list[str]:
    return value.split(delimiter) if delimiter else list(value)


@_family.values(
    "STR_TO_MAP",
    takes("text", "text, text, text", returns=always_nullable(MapType(STRING, STRING))),
    "a text such as 'k1=v1,k2=v2' as a map",
)
def str_to_map(value: str, pairs: str = ",", equals: str = "=") -> list[tuple[str, str | None]]:
    from penstock.runtime.relational.java.regex import split_regex

    found: dict[str, str | None] = {}
    if value == "":
        return []
    for pair in split_regex(pairs, value):
        parts = split_regex(equals, pair, 2)
        found[parts[0]] = parts[1] if len(parts) == 2 else None
    return list(found.items())
