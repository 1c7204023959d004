"""Calls a Python function with whole columns: pandas or Arrow objects."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from penstock.runtime.relational.expressions.frame import Value
from penstock.runtime.relational.python_functions.errors import call_failed, wrong_result
from penstock.runtime.relational.python_functions.scope import LoadedFunction
from penstock.runtime.relational.python_functions.values import python_values
from penstock.types.logical.arrow import arrow_type
from penstock.types.logical.kinds import LogicalType, RowType, TimestampType
from penstock.types.logical.text import summary

if TYPE_CHECKING:
    import pandas as pd


class VectorizedCalls:
    """Calls a function once per batch. How many rows a batch has is not known to the function."""

    def __init__(self, function: LoadedFunction, types: Sequence[LogicalType], result: LogicalType) -> None:
        self._function = function
        self._types = types
        self._result = result
        self._pandas = function.function.style == "pandas"

    def __call__(self, arguments: Sequence[Value], length: int, zone: str) -> pa.Array:
        prepare = self._series if self._pandas else self._array
        given = [prepare(a, t, length, zone) for a, t in zip(arguments, self._types, strict=True)]
        names = self._function.function.row_names
        if names is not None:
            given = [_frame(given, names) if self._pandas else pa.StructArray.from_arrays(given, list(names))]
        try:
            result = self._function.call(*given)
        except Exception as error:
            raise call_failed(self._function, error, f"columns of {length} rows") from error
        column = self._from_pandas(result, zone) if self._pandas else self._from_arrow(result, length)
        if len(column) != length:
            raise self._wrong(f"returned {len(column)} values for {length} rows")
        if not self._result.nullable and column.null_count:
            raise self._wrong(f"returned NULL, which does not fit {summary(self._result)}")
        return column

    def _wrong(self, problem: str) -> Exception:
        return wrong_result(self._function, problem, self._result, None)

    # -- arguments

    def _array(self, argument: Value, type_: LogicalType, length: int, zone: str) -> Any:
        if isinstance(argument, pa.Scalar):
            return pa.repeat(argument, length) if argument.is_valid else pa.nulls(length, argument.type)
        return argument

    def _series(self, argument: Value, type_: LogicalType, length: int, zone: str) -> Any:
        """A column is a Series, a column of rows a DataFrame; a constant is a plain value."""
        if isinstance(argument, pa.Scalar):
            one = pa.array([argument], argument.type) if argument.is_valid else pa.nulls(1, argument.type)
            return python_values(one, type_, zone)[0]
        return series_of(argument, type_, zone)

    # -- results

    def _from_arrow(self, result: Any, length: int) -> pa.Array:
        if isinstance(result, pa.ChunkedArray):
            result = result.combine_chunks()
        if isinstance(result, pa.Scalar):
            result = pa.repeat(result, length) if result.is_valid else pa.nulls(length, result.type)
        if not isinstance(result, pa.Array):
            raise self._wrong(
                f"returned {type(result).__name__}, and a function of type 'arrow' returns a pyarrow.Array"
            )
        try:
            return result.cast(arrow_type(self._result))
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            raise self._wrong(f"returned a column of {result.type}, which does not fit: {error}") from error

    def _from_pandas(self, result: Any, zone: str) -> pa.Array:
        import pandas as pd

        try:
            if isinstance(result, pd.DataFrame):
                return self._from_frame(result, zone)
            if isinstance(result, pd.Series):
                return column_of_series(result, self._result, zone)
        except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, TypeError, ValueError) as error:
            raise self._wrong(f"returned values that do not fit: {error}") from error
        raise self._wrong(
            f"returned {type(result).__name__}, and a function of type 'pandas' returns a pandas.Series or DataFrame"
        )

    def _from_frame(self, frame: pd.DataFrame, zone: str) -> pa.Array:
        type_ = self._result
        if not isinstance(type_, RowType) or len(frame.columns) != len(type_.fields):
            raise self._wrong(f"returned a DataFrame with {len(frame.columns)} columns")
        parts = [column_of_series(frame.iloc[:, i], f.type, zone) for i, f in enumerate(type_.fields)]
        return pa.StructArray.from_arrays(parts, fields=list(arrow_type(type_)))


def series_of(column: pa.Array, type_: LogicalType, zone: str) -> Any:
    """Returns a column as a pandas.Series, or as a DataFrame if it consists of rows."""
    import pandas as pd

    if isinstance(type_, RowType):
        parts = [series_of(part, f.type, zone) for part, f in zip(column.flatten(), type_.fields, strict=True)]
        return pd.concat(parts, axis=1, keys=[f.name for f in type_.fields])
    found = column.to_pandas(date_as_object=True)
    if isinstance(type_, TimestampType) and type_.local:
        return found.dt.tz_convert(zone)
    return found


def _frame(series: Sequence[Any], names: Sequence[str]) -> pd.DataFrame:
    """A column of rows adds its own columns, as in PyFlink."""
    import pandas as pd

    parts = [s if isinstance(s, pd.DataFrame) else pd.Series(s).rename(n) for s, n in zip(series, names, strict=True)]
    return pd.concat(parts, axis=1)


def column_of_series(series: pd.Series, type_: LogicalType, zone: str) -> pa.Array:
    """Returns a Series as a column. NaN is NULL."""
    if isinstance(type_, TimestampType):
        if type_.local and getattr(series.dtype, "kind", "") == "M" and getattr(series.dtype, "tz", None) is None:
            series = series.dt.tz_localize(zone)
        elif not type_.local and getattr(series.dtype, "tz", None) is not None:
            series = series.dt.tz_convert(zone).dt.tz_localize(None)
    found = pa.Array.from_pandas(
        series, mask=series.isnull(), type=arrow_type(type_), safe=not isinstance(type_, TimestampType)
    )
    return found.combine_chunks() if isinstance(found, pa.ChunkedArray) else found
