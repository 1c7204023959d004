"""Creates the accumulators of a call."""

from __future__ import annotations

from typing import Any

from penstock.errors import PlanError
from penstock.runtime.relational.aggregates.bags import BagAccumulator, BitmapAccumulator, JsonObject, Percentile
from penstock.runtime.relational.aggregates.column_accumulator import ColumnAccumulator
from penstock.runtime.relational.aggregates.deviations import Deviation
from penstock.runtime.relational.aggregates.ends import End, Single
from penstock.runtime.relational.aggregates.extremes import (
    ChangelogExtreme,
    NumberExtreme,
    ValueExtreme,
    plain_numbers,
)
from penstock.runtime.relational.aggregates.lists import JoinedText, JsonList, ValueList, joined
from penstock.runtime.relational.aggregates.sums import Count, DecimalSum, NumberSum
from penstock.runtime.relational.python_aggregates.accumulator import make_python_accumulator
from penstock.runtime.relational.specs.aggregate_call import AggregateCall
from penstock.types.logical.arrow import arrow_type
from penstock.types.logical.kinds import DecimalType


def make_accumulator(call: AggregateCall, insert_only: bool) -> ColumnAccumulator:
    """Returns the accumulators of a call; with `insert_only`, rows are never removed."""
    name, type_ = call.function, call.type
    if call.python is not None:
        return make_python_accumulator(call)
    argument: Any = call.argument_types[0] if call.argument_types else None
    if name.startswith("BITMAP_"):
        return BitmapAccumulator(name, argument, type_)
    match name:
        case "COUNT" | "APPROX_COUNT_DISTINCT":
            return Count()
        case "SUM" | "SUM0" | "AVG":
            if isinstance(argument, DecimalType) and isinstance(type_, DecimalType):
                return DecimalSum(name, argument, type_)
            return NumberSum(name, argument, type_)
        case "MIN" | "MAX":
            if not insert_only:
                return ChangelogExtreme(name, type_)
            numbers = plain_numbers(arrow_type(type_)) is not None
            return NumberExtreme(name, type_) if numbers else ValueExtreme(name, type_)
        case "STDDEV_POP" | "STDDEV_SAMP" | "STDDEV" | "VAR_POP" | "VAR_SAMP" | "VARIANCE":
            return Deviation(name, argument, type_)
        case "FIRST_VALUE":
            if insert_only:
                return End(True, type_)
            return ValueList(argument, type_, lambda values: values[0] if values else None, False)
        case "LAST_VALUE":
            if insert_only:
                return End(False, type_)
            return ValueList(argument, type_, lambda values: values[-1] if values else None, False)
        case "LISTAGG":
            separator = str(call.options[0]) if call.options else ","
            if insert_only:
                return JoinedText(type_, separator)
            return ValueList(argument, type_, joined(separator), False)
        case "ARRAY_AGG":
            return ValueList(argument, type_, lambda values: values or None, not call.ignore_nulls)
        case "JSON_ARRAYAGG":
            return JsonList(argument, type_, _keeps_nulls(call, False))
        case "JSON_OBJECTAGG":
            return JsonObject(call.argument_types, type_, _keeps_nulls(call, True))
        case "COLLECT":
            return BagAccumulator(argument, type_)
        case "SINGLE_VALUE":
            return Single(type_)
        case "PERCENTILE":
            return Percentile(call.argument_types, type_)
    raise PlanError("UNKNOWN_AGGREGATE", f"There is no aggregate function {name}. It may exist only with OVER.")


def _keeps_nulls(call: AggregateCall, default: bool) -> bool:
    """The option is "NULL ON NULL" or "ABSENT ON NULL"."""
    return str(call.options[0]).startswith("NULL") if call.options else default
