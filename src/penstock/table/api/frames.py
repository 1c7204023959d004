"""Tables as frames of pandas, and back, by columns."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from penstock.errors import PlanError
from penstock.runtime.relational.changes import Changes
from penstock.runtime.relational.steps.frames import frame_of
from penstock.table.data_types import DataType
from penstock.table.relations import Frame, FrameRows, Relation
from penstock.types.logical import kinds
from penstock.types.logical.arrow import arrow_type
from penstock.types.logical.kinds import LogicalType

if TYPE_CHECKING:
    from penstock.table.environment.session import Session


def collected_frame(changes: Iterable[Changes], relation: Relation, session: Session) -> pd.DataFrame:
    """Returns the rows that are left of all changes. It reads them to their end."""
    fields = relation.row_type.fields
    parts = [part for part in changes if len(part)]
    names = [field.name for field in fields]
    if not parts:
        return pd.DataFrame.from_records([], columns=names)
    left = remaining(Changes.concatenate(parts))
    frame = pa.Table.from_arrays(left.columns, names=[str(i) for i in range(len(names))]).to_pandas()
    frame.columns = pd.Index(names)
    zone = session.config.get_local_timezone()
    for place, field in enumerate(fields):
        if isinstance(field.type, kinds.TimestampType) and field.type.local:
            frame.isetitem(place, frame.iloc[:, place].dt.tz_convert(zone))
    return frame


def remaining(changes: Changes) -> Changes:
    """Returns the rows that no later change removed.

    >>> some = Changes([pa.array(["a", "b", "a"])], 3, np.array([0, 0, 3], np.int8))
    >>> remaining(some).columns[0].to_pylist()
    ['b']
    """
    if changes.kinds is None:
        return changes
    codes = _row_codes(changes)
    signs = changes.signs()
    left = np.bincount(codes, weights=signs).astype(np.int64)
    # The last additions of equal rows stay: counted from the end, their number is at most what is left.
    added = np.flatnonzero(signs > 0)
    order = added[np.lexsort((-added, codes[added]))]
    first = np.r_[0, np.flatnonzero(np.diff(codes[order])) + 1] if len(order) else np.empty(0, np.int64)
    ranks = np.arange(len(order)) - np.repeat(first, np.diff(np.r_[first, len(order)]))
    kept = np.sort(order[ranks < left[codes[order]]])
    return changes.with_kinds(None).take(kept)


def _row_codes(changes: Changes) -> NDArray[np.int64]:
    """A number for each row, the same for equal rows."""
    codes = np.zeros(len(changes), np.int64)
    for column in changes.columns:
        own = _codes(column)
        codes = np.unique(codes * (own.max(initial=0) + 1) + own, return_inverse=True)[1].reshape(-1)
    return codes


def _codes(column: pa.Array) -> NDArray[np.int64]:
    try:
        found = column.dictionary_encode("encode").indices
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid):  # lists, maps and rows have no dictionaries
        found = pa.array([repr(value) for value in column.to_pylist()]).dictionary_encode().indices
    return found.to_numpy(zero_copy_only=False).astype(np.int64)  # type: ignore[no-any-return]


def frame_relation(frame: Any, schema: Any, zone: str) -> Frame:
    """Returns the relation of a frame. The schema is a ROW type, names or types of columns, or None."""
    if not isinstance(frame, pd.DataFrame):
        raise TypeError(f"from_pandas() takes a pandas.DataFrame, not {type(frame).__name__}.")
    row_type = _row_type(frame, schema)
    columns = [
        _column(frame.iloc[:, place], field.type, zone, field.name) for place, field in enumerate(row_type.fields)
    ]
    changes = Changes(columns, len(frame))
    digest = hashlib.sha256(frame_of(changes)).hexdigest()[:16] if columns else ""
    return Frame(row_type=row_type, rows=(), data=FrameRows(changes, digest))


def _row_type(frame: pd.DataFrame, schema: Any) -> kinds.RowType:
    found = pa.Schema.from_pandas(frame, preserve_index=False)
    names: Sequence[str] = [str(name) for name in found.names]
    types: Sequence[LogicalType | None] = [None] * len(names)
    if isinstance(schema, DataType) and isinstance(schema.logical, kinds.RowType):
        names = [field.name for field in schema.logical.fields]
        types = [field.type for field in schema.logical.fields]
    elif isinstance(schema, list | tuple) and schema and all(isinstance(part, str) for part in schema):
        names = schema
    elif isinstance(schema, list | tuple) and schema and all(isinstance(part, DataType) for part in schema):
        types = [part.logical for part in schema]
    elif schema is not None:
        raise TypeError(
            f"The schema of from_pandas() is a ROW type, a list of names or a list of types of columns, not {schema!r}."
        )
    if not len(names) == len(types) == len(found.names) and schema is not None:
        raise PlanError(
            "TABLE_SCHEMA",
            f"The schema has {len(schema if isinstance(schema, list | tuple) else names)} columns, and the "
            f"frame has {len(found.names)}: {', '.join(map(str, found.names))}.",
        )
    fields = [
        kinds.Field(name, type_ or logical_type(field.type))
        for name, type_, field in zip(names, types, found, strict=True)
    ]
    return kinds.RowType(tuple(fields), nullable=False)


def logical_type(type_: pa.DataType) -> LogicalType:
    """Returns the type of a column that Arrow has another type for.

    >>> print(logical_type(pa.int64()), logical_type(pa.list_(pa.string())))
    BIGINT ARRAY<STRING>
    """
    match = pa.types
    if match.is_boolean(type_):
        return kinds.BOOLEAN
    if match.is_integer(type_):
        return kinds.IntegerType(min(64, type_.bit_width * (2 if match.is_unsigned_integer(type_) else 1)))
    if match.is_floating(type_):
        return kinds.FloatType(64 if type_.bit_width == 64 else 32)
    if match.is_decimal(type_):
        return kinds.DecimalType(type_.precision, type_.scale)
    if match.is_string(type_) or match.is_large_string(type_) or match.is_null(type_):
        return kinds.STRING
    if match.is_fixed_size_binary(type_):
        return kinds.BinaryType(type_.byte_width, varying=False)
    if match.is_binary(type_) or match.is_large_binary(type_):
        return kinds.BYTES
    if match.is_date(type_):
        return kinds.DateType()
    if match.is_time(type_):
        return kinds.TimeType({"s": 0, "ms": 3, "us": 6, "ns": 9}[type_.unit])
    if match.is_timestamp(type_):
        return kinds.TimestampType({"s": 0, "ms": 3, "us": 6, "ns": 9}[type_.unit])
    if match.is_duration(type_):
        return kinds.MILLISECONDS
    if match.is_dictionary(type_):
        return logical_type(type_.value_type)
    if match.is_map(type_):
        return kinds.MapType(logical_type(type_.key_type), logical_type(type_.item_type))
    if match.is_list(type_) or match.is_large_list(type_):
        return kinds.ArrayType(logical_type(type_.value_type))
    if match.is_struct(type_):
        return kinds.RowType(tuple(kinds.Field(field.name, logical_type(field.type)) for field in type_))
    raise PlanError("TABLE_SCHEMA", f"A column of the Arrow type {type_} has no SQL type. Give a schema.")


def _column(series: pd.Series[Any], type_: LogicalType, zone: str, name: str) -> pa.Array:
    if isinstance(type_, kinds.TimestampType) and isinstance(series.dtype, pd.DatetimeTZDtype) and not type_.local:
        series = series.dt.tz_convert(zone).dt.tz_localize(None)
    elif isinstance(type_, kinds.TimestampType) and type_.local and pd.api.types.is_datetime64_dtype(series.dtype):
        series = series.dt.tz_localize(zone)
    try:
        found = pa.Array.from_pandas(series)
        wanted = arrow_type(type_)
        if isinstance(found, pa.ChunkedArray):
            found = found.combine_chunks()
        return found if found.type == wanted else found.cast(wanted, safe=not pa.types.is_temporal(wanted))
    except (pa.ArrowException, ValueError, TypeError) as error:
        raise PlanError(
            "TABLE_SCHEMA", f"Column '{name}' of the frame ({series.dtype}) does not fit {type_}: {error}."
        ) from error
