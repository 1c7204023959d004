"""The rules that type calls of aggregate functions. Nullability is Flink's, also where a result can be NULL in spite of it."""

from __future__ import annotations

from typing import Any

from penstock.runtime.relational.aggregates.definition import AggregateCallTyping, AggregateRule
from penstock.runtime.relational.functions.definition import MISSING
from penstock.types.logical.decimals import average_type, total_type
from penstock.types.logical.kinds import (
    BIGINT,
    DOUBLE,
    INT,
    NUMERIC,
    ArrayType,
    BitmapType,
    BooleanType,
    CharType,
    DateType,
    DecimalType,
    IntegerType,
    LogicalType,
    MapType,
    MultisetType,
    NullType,
    RawType,
    RowType,
    TimestampType,
    TimeType,
    varchar,
)

_COUNT = BIGINT.with_nullable(False)
_JSON = varchar(2000, nullable=False)  # Calcite's type of JSON aggregates; results are not cut
_COMPARABLE = (*NUMERIC, CharType, BooleanType, DateType, TimeType, TimestampType)
_NOT_JSON = (DateType, TimeType, MultisetType, RawType, BitmapType)


def _arguments(call: AggregateCallTyping, expected: str, least: int, most: int) -> None:
    """Checks the number of arguments. A NULL literal has no type, so an aggregate of it is refused."""
    if not least <= len(call) <= most:
        call.refuse(expected)
    for position, type_ in enumerate(call.types):
        if isinstance(type_, NullType):
            call.refuse(expected, position)


def _numeric(call: AggregateCallTyping) -> LogicalType:
    _arguments(call, "one numeric argument", 1, 1)
    if not isinstance(call.types[0], NUMERIC):
        call.refuse("one numeric argument", 0)
    return call.types[0]


def _null_without_rows(call: AggregateCallTyping, type_: LogicalType) -> LogicalType:
    return type_.with_nullable(call.types[0].nullable or not call.never_empty)


def count(call: AggregateCallTyping) -> LogicalType:
    _arguments(call, "* or typed arguments", 0, 1_000)
    return _COUNT


def count_distinct(call: AggregateCallTyping) -> LogicalType:
    _arguments(call, "one argument", 1, 1)
    return _COUNT


def total(call: AggregateCallTyping) -> LogicalType:
    type_ = _numeric(call)
    return _null_without_rows(call, total_type(type_) if isinstance(type_, DecimalType) else type_)


def total_or_zero(call: AggregateCallTyping) -> LogicalType:
    return total(call).with_nullable(False)


def average(call: AggregateCallTyping) -> LogicalType:
    type_ = _numeric(call)
    return _null_without_rows(call, average_type(type_) if isinstance(type_, DecimalType) else type_)


deviation: AggregateRule = average


def extreme(call: AggregateCallTyping) -> LogicalType:
    expected = "one argument of a type with an order: a number, a text, a boolean, a date or a time"
    _arguments(call, expected, 1, 1)
    if not isinstance(call.types[0], _COMPARABLE):
        call.refuse(expected, 0)
    return _null_without_rows(call, call.types[0])


def like_argument(call: AggregateCallTyping) -> LogicalType:
    _arguments(call, "one argument", 1, 1)
    return _null_without_rows(call, call.types[0])


def single(call: AggregateCallTyping) -> LogicalType:
    _arguments(call, "one argument that is no collection", 1, 1)
    if not isinstance(call.types[0], _COMPARABLE):
        call.refuse("one argument that is no collection", 0)
    return _null_without_rows(call, call.types[0])


def joined_text(call: AggregateCallTyping) -> LogicalType:
    expected = "a text, and optionally a separator that is a literal"
    _arguments(call, expected, 1, 2)
    for position, type_ in enumerate(call.types):
        if not isinstance(type_, CharType):
            call.refuse(expected, position)
    if len(call) == 2 and call.literals[1] is MISSING:
        call.refuse(expected, 1)
    return call.types[0]


def array(call: AggregateCallTyping) -> LogicalType:
    _arguments(call, "one argument", 1, 1)
    return ArrayType(_plain(call.types[0]), nullable=call.types[0].nullable)


def multiset(call: AggregateCallTyping) -> LogicalType:
    _arguments(call, "one argument", 1, 1)
    return MultisetType(_plain(call.types[0]), nullable=False)


def _plain(type_: LogicalType) -> LogicalType:
    if isinstance(type_, TimestampType):
        return TimestampType(type_.precision, type_.local, nullable=type_.nullable)
    return type_


def _json_value(call: AggregateCallTyping, position: int) -> None:
    if not _fits_json(call.types[position]):
        call.refuse("a value that converts to JSON: no DATE or TIME, and only texts as keys of maps", position)


def _fits_json(type_: LogicalType) -> bool:
    match type_:
        case ArrayType():
            return _fits_json(type_.element)
        case MapType():
            return isinstance(type_.key, CharType) and _fits_json(type_.value)
        case RowType():
            return all(_fits_json(field.type) for field in type_.fields)
    return not isinstance(type_, _NOT_JSON)


def json_array(call: AggregateCallTyping) -> LogicalType:
    _arguments(call, "one argument", 1, 1)
    _json_value(call, 0)
    return _JSON


def json_object(call: AggregateCallTyping) -> LogicalType:
    _arguments(call, "a text as the key, and a value", 2, 2)
    if not isinstance(call.types[0], CharType):
        call.refuse("a text as the key, and a value", 0)
    _json_value(call, 1)
    return _JSON


def percentile(call: AggregateCallTyping) -> LogicalType:
    expected = "a number, a share from 0 to 1 or an array of them, and optionally an integer as the frequency"
    _arguments(call, expected, 2, 3)
    value, share = call.types[:2]
    if not isinstance(value, NUMERIC):
        call.refuse(expected, 0)
    if share.nullable or not _is_share(call.literals[1]):
        call.refuse(expected, 1)
    if len(call) == 3 and not isinstance(call.types[2], IntegerType):
        call.refuse(expected, 2)
    if isinstance(share, ArrayType):
        if share.element.nullable or not isinstance(share.element, NUMERIC):
            call.refuse(expected, 1)
        call.cast(1, ArrayType(DOUBLE.with_nullable(False)))
        return ArrayType(DOUBLE)
    if not isinstance(share, NUMERIC):
        call.refuse(expected, 1)
    call.cast(1, DOUBLE)
    return DOUBLE


def _is_share(literal: Any) -> bool:
    """Only a literal number is checked here; other shares are checked when rows arrive."""
    if literal is MISSING or isinstance(literal, str | bytes | list | tuple) or literal is None:
        return True
    return bool(0 <= literal <= 1)


def bitmap(call: AggregateCallTyping) -> LogicalType:
    _arguments(call, "one bitmap", 1, 1)
    if not isinstance(call.types[0], BitmapType):
        call.refuse("one bitmap", 0)
    return BitmapType()


def bitmap_size(call: AggregateCallTyping) -> LogicalType:
    bitmap(call)
    return BIGINT


def bitmap_of_integers(call: AggregateCallTyping) -> LogicalType:
    _arguments(call, "one argument of type INT", 1, 1)
    if not isinstance(call.types[0], IntegerType) or call.types[0].bits > INT.bits:
        call.refuse("one argument of type INT", 0)
    call.cast(0, INT)
    return BitmapType()


def bitmap_of_integers_size(call: AggregateCallTyping) -> LogicalType:
    bitmap_of_integers(call)
    return BIGINT


def row_number(call: AggregateCallTyping) -> LogicalType:
    _arguments(call, "no argument", 0, 0)
    return _COUNT


def share(call: AggregateCallTyping) -> LogicalType:
    _arguments(call, "no argument", 0, 0)
    return DOUBLE.with_nullable(False)


def tile(call: AggregateCallTyping) -> LogicalType:
    expected = "one positive integer literal"
    _arguments(call, expected, 1, 1)
    literal = call.literals[0]
    if not isinstance(literal, int) or isinstance(literal, bool):
        call.refuse(expected, 0)
    return _COUNT


def neighbour(call: AggregateCallTyping) -> LogicalType:
    """LAG and LEAD: NULL if there is no such row, unless a default that is not NULL is given."""
    expected = "a value, optionally an integer as the offset, and optionally a default of the value's type"
    if len(call) == 3 and isinstance(call.types[2], NullType):
        call.cast(2, call.types[0])
    _arguments(call, expected, 1, 3)
    first = call.types[0]
    if len(call) > 1 and not isinstance(call.types[1], IntegerType):
        call.refuse(expected, 1)
    if len(call) < 3:
        return first.with_nullable(True)
    default = call.types[2]
    both_text = isinstance(first, CharType) and isinstance(default, CharType)
    if not both_text and first.with_nullable(True) != default.with_nullable(True):
        call.refuse(expected, 2)  # Flink asks for an explicit cast, too
    return first.with_nullable(default.nullable)
