"""All aggregate functions, and the functions that exist only with OVER, by name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from penstock.runtime.relational.aggregates import rules
from penstock.runtime.relational.aggregates.definition import (
    AggregateCallTyping,
    AggregateFunction,
    AggregateRule,
    AggregateTyping,
)
from penstock.types.logical.kinds import LogicalType, TimestampType

AGGREGATE_FUNCTIONS: dict[str, AggregateFunction] = {}


def _define(name: str, rule: AggregateRule, signature: str, documentation: str, **facts: bool) -> None:
    AGGREGATE_FUNCTIONS[name] = AggregateFunction(name, rule, signature, documentation, **facts)


_define("COUNT", rules.count, "COUNT(*) or COUNT(value, ...)", "how many rows there are, or rows without NULL")
_define("SUM", rules.total, "SUM(numeric)", "the sum; integers wrap around")
_define("SUM0", rules.total_or_zero, "SUM0(numeric)", "the sum, or 0 without rows")
_define("AVG", rules.average, "AVG(numeric)", "the mean; of integers, without its fraction")
_define("MIN", rules.extreme, "MIN(value)", "the lowest value")
_define("MAX", rules.extreme, "MAX(value)", "the highest value")
for _name, _what in {
    "STDDEV_POP": "the standard deviation of a population",
    "STDDEV_SAMP": "the standard deviation of a sample",
    "STDDEV": "the standard deviation of a sample",
    "VAR_POP": "the variance of a population",
    "VAR_SAMP": "the variance of a sample",
    "VARIANCE": "the variance of a sample",
}.items():
    _define(_name, rules.deviation, f"{_name}(numeric)", _what)
_define("FIRST_VALUE", rules.like_argument, "FIRST_VALUE(value)", "the first value that is not NULL", ordered=True)
_define("LAST_VALUE", rules.like_argument, "LAST_VALUE(value)", "the last value that is not NULL", ordered=True)
_define("LISTAGG", rules.joined_text, "LISTAGG(text[, separator])", "all texts, joined by a comma", ordered=True)
_define("ARRAY_AGG", rules.array, "ARRAY_AGG(value)", "all values as an array", ordered=True)
_define("COLLECT", rules.multiset, "COLLECT(value)", "all values as a multiset")
_define("JSON_OBJECTAGG", rules.json_object, "JSON_OBJECTAGG(KEY text VALUE value)", "pairs as a JSON object")
_define("JSON_ARRAYAGG", rules.json_array, "JSON_ARRAYAGG(value)", "values as a JSON array", ordered=True)
_define("SINGLE_VALUE", rules.single, "SINGLE_VALUE(value)", "the only value; several values are an error")
_define("APPROX_COUNT_DISTINCT", rules.count_distinct, "APPROX_COUNT_DISTINCT(value)", "how many different values")
_define("PERCENTILE", rules.percentile, "PERCENTILE(numeric, share[, frequency])", "the value at a share of the rows")
_define("BITMAP_BUILD_AGG", rules.bitmap_of_integers, "BITMAP_BUILD_AGG(integer)", "the bitmap of the integers")
_define(
    "BITMAP_BUILD_CARDINALITY_AGG",
    rules.bitmap_of_integers_size,
    "BITMAP_BUILD_CARDINALITY_AGG(integer)",
    "how many different integers there are",
)
for _name, _what in {"AND": "in all bitmaps", "OR": "in any bitmap", "XOR": "in an odd number of bitmaps"}.items():
    _define(f"BITMAP_{_name}_AGG", rules.bitmap, f"BITMAP_{_name}_AGG(bitmap)", f"the integers that are {_what}")
    _define(
        f"BITMAP_{_name}_CARDINALITY_AGG",
        rules.bitmap_size,
        f"BITMAP_{_name}_CARDINALITY_AGG(bitmap)",
        f"how many integers are {_what}",
    )

for _name, _what in {
    "ROW_NUMBER": "the number of the row",
    "RANK": "the number of the row; rows that are equal in order have the same one",
    "DENSE_RANK": "like RANK, without gaps",
}.items():
    _define(_name, rules.row_number, f"{_name}()", _what, over_only=True)
_define("CUME_DIST", rules.share, "CUME_DIST()", "the share of rows up to this one", over_only=True)
_define("PERCENT_RANK", rules.share, "PERCENT_RANK()", "the rank as a share", over_only=True)
_define("NTILE", rules.tile, "NTILE(n)", "the number of the row's part, if rows are divided into n", over_only=True)
_define("LAG", rules.neighbour, "LAG(value[, offset[, default]])", "the value of an earlier row", over_only=True)
_define("LEAD", rules.neighbour, "LEAD(value[, offset[, default]])", "the value of a later row", over_only=True)


def aggregate_type(
    name: str,
    argument_types: Sequence[LogicalType],
    literals: Sequence[Any],
    distinct: bool = False,
    *,
    grouped: bool = False,
    filtered: bool = False,
) -> AggregateTyping:
    """Returns the type of a call and the conversions of its arguments. Raises TypeMismatch if the arguments do not fit.

    literals: the value of each argument that is a literal, MISSING for others. grouped: pass True if the query has GROUP BY, or
    the call has OVER. filtered: whether the call has a FILTER. The name must be in AGGREGATE_FUNCTIONS.

    >>> from penstock.types.logical.kinds import DecimalType, IntegerType
    >>> print(aggregate_type("SUM", [DecimalType(8, 2)], [None]).type)
    DECIMAL(38, 2)
    >>> print(aggregate_type("SUM", [IntegerType(32, nullable=False)], [None], grouped=True).type)
    INT NOT NULL
    """
    call = AggregateCallTyping(argument_types, literals, distinct, grouped, filtered)
    type_ = AGGREGATE_FUNCTIONS[name].rule(call)
    if isinstance(type_, TimestampType) and type_.attribute:  # the result of an aggregate is no time attribute
        type_ = TimestampType(type_.precision, type_.local, nullable=type_.nullable)
    return AggregateTyping(type_, call.casts)
