"""Computes the columns of generated rows from their numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from penstock.errors import UnsupportedOperation
from penstock.formats.columns.interface import Decoded
from penstock.runtime.relational.changes import Changes
from penstock.types.logical.arrow import arrow_type, timestamp_unit
from penstock.types.logical.kinds import (
    ArrayType,
    BinaryType,
    BooleanType,
    CharType,
    DateType,
    DayTimeIntervalType,
    DecimalType,
    FloatType,
    IntegerType,
    LogicalType,
    MapType,
    MultisetType,
    RowType,
    TimestampType,
    TimeType,
    YearMonthIntervalType,
)

Bits = NDArray[np.uint64]
_HEX = np.frombuffer(b"0123456789abcdef", np.uint8)
_PER_MILLISECOND = {"ms": 1, "us": 1000, "ns": 1_000_000}


@dataclass(frozen=True, slots=True)
class FieldPlan:
    """How a column is generated. `start` and `end` are those of a sequence; otherwise values are random."""

    type: LogicalType
    start: int | None = None
    end: int | None = None
    low: Any = None
    high: Any = None
    max_past: int = 0  # milliseconds
    length: int = 100
    var_len: bool = False
    null_rate: float = 0.0
    nested: tuple[FieldPlan, ...] = ()  # fields, or key and value, or the element


class GeneratedColumns:
    """Computes columns. Equal numbers and seeds give equal values.

    >>> from penstock.types.logical.kinds import INT
    >>> plan = FieldPlan(INT, start=5, end=9)
    >>> GeneratedColumns([plan]).decode([(0, (1, 0)), (2, (1, 0))]).changes.columns[0].to_pylist()
    [5, 7]
    """

    def __init__(self, plans: Sequence[FieldPlan], numbers: Sequence[int] | None = None) -> None:
        self.plans = tuple(plans)
        self.numbers = tuple(range(len(plans))) if numbers is None else tuple(numbers)  # positions in the table

    def decode(self, elements: list[Any]) -> Decoded:
        """Computes the rows of some numbers, which have the same origin."""
        count = len(elements)
        if not count:
            return Decoded(
                Changes([_column(p, np.empty(0, np.uint64), np.empty(0, np.int64), 0) for p in self.plans], 0)
            )
        rows = np.fromiter((element[0] for element in elements), np.int64, count)
        seed, clock = elements[0][1]
        columns = []
        for number, plan in zip(self.numbers, self.plans, strict=True):
            bits = mix(rows.astype(np.uint64) + np.uint64(mix_one(seed + number * 0x9E3779B97F4A7C15)))
            columns.append(_column(plan, bits, rows, clock))
        return Decoded(Changes(columns, count))


def mix(values: Bits) -> Bits:
    """Returns 64 random bits per number, always the same ones (the finalizer of SplitMix64)."""
    values = (values + np.uint64(0x9E3779B97F4A7C15)).astype(np.uint64)
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))


def mix_one(value: int) -> int:
    """Returns the random bits of one number."""
    return int(mix(np.array([value & 0xFFFFFFFFFFFFFFFF], np.uint64))[0])


def _fractions(bits: Bits) -> NDArray[np.float64]:
    """Returns numbers from 0 to 1, without 1."""
    return (bits >> np.uint64(11)).astype(np.float64) * 2.0**-53


def _column(plan: FieldPlan, bits: Bits, rows: NDArray[np.int64], clock: int) -> pa.Array:
    if plan.start is not None:
        return _sequence(plan, rows)
    column = _random(plan, mix(bits), rows, clock)
    if plan.null_rate:
        nulls = _fractions(mix(bits ^ np.uint64(0x5851F42D4C957F2D))) < plan.null_rate
        column = _with_nulls(column, nulls)
    return column


def _with_nulls(column: pa.Array, nulls: NDArray[np.bool_]) -> pa.Array:
    positions = np.arange(len(column))
    return column.take(pa.array(positions, mask=nulls))


def _sequence(plan: FieldPlan, rows: NDArray[np.int64]) -> pa.Array:
    numbers = pa.array(rows + (plan.start or 0))
    match plan.type:
        case CharType():
            return numbers.cast(pa.string())
        case DecimalType():
            return numbers.cast(pa.decimal128(19)).cast(arrow_type(plan.type))
        case _:
            return numbers.cast(arrow_type(plan.type))


def _integers(bits: Bits, low: int, high: int) -> NDArray[np.int64]:
    span = high - low + 1
    if span >= 2**64:
        return bits.view(np.int64)
    offsets = (bits % np.uint64(span)).astype(np.uint64)
    return (offsets + np.uint64(low & 0xFFFFFFFFFFFFFFFF)).view(np.int64)


def _random(plan: FieldPlan, bits: Bits, rows: NDArray[np.int64], clock: int) -> pa.Array:
    type_ = plan.type
    match type_:
        case BooleanType():
            return pa.array((bits & np.uint64(1)).astype(bool))
        case IntegerType() | YearMonthIntervalType():
            return pa.array(_integers(bits, plan.low, plan.high)).cast(arrow_type(type_))
        case DayTimeIntervalType():
            return pa.array(_integers(bits, plan.low, plan.high)).cast(pa.duration("ms"))
        case FloatType():
            numbers = plan.low + (plan.high - plan.low) * _fractions(bits)
            return pa.array(numbers.astype(np.float32 if type_.bits == 32 else np.float64))
        case DecimalType():
            return _decimals(plan, type_, bits)
        case CharType() | BinaryType():
            return _texts(plan, bits, isinstance(type_, CharType))
        case DateType():
            past = _past(plan, bits)
            return pa.array(((clock - past) // 86_400_000).astype(np.int32)).cast(pa.date32())
        case TimeType():
            return pa.array(_integers(bits, 0, 86_399_999).astype(np.int32)).cast(pa.time32("ms"))
        case TimestampType():
            unit = timestamp_unit(type_.precision)
            return pa.array((clock - _past(plan, bits)) * _PER_MILLISECOND[unit]).cast(arrow_type(type_))
        case ArrayType():
            return pa.ListArray.from_arrays(*_elements(plan, bits, rows, clock))
        case MapType() | MultisetType():
            offsets, keys, items = _elements(plan, bits, rows, clock)
            return pa.MapArray.from_arrays(offsets, keys, items).cast(arrow_type(type_))
        case RowType():
            columns = [
                _column(nested, mix(bits + np.uint64(mix_one(at + 1))), rows, clock)
                for at, nested in enumerate(plan.nested)
            ]
            return pa.StructArray.from_arrays(columns, fields=list(arrow_type(type_)))
    raise UnsupportedOperation("TABLE_OPTION", f"datagen does not generate values of type {type_}.")


def _past(plan: FieldPlan, bits: Bits) -> NDArray[np.int64]:
    return _integers(bits, 0, max(plan.max_past, 0))


def _elements(plan: FieldPlan, bits: Bits, rows: NDArray[np.int64], clock: int) -> list[Any]:
    """Returns the offsets of lists of three elements, and their columns."""
    size = plan.length
    offsets = pa.array(np.arange(len(bits) + 1, dtype=np.int32) * size)
    each = np.repeat(bits, size) + np.tile(np.arange(size, dtype=np.uint64), len(bits))
    numbers = np.repeat(rows, size)
    return [
        offsets,
        *(_column(n, mix(each + np.uint64(mix_one(at + 7))), numbers, clock) for at, n in enumerate(plan.nested)),
    ]


def _decimals(plan: FieldPlan, type_: DecimalType, bits: Bits) -> pa.Array:
    scale = 10**type_.scale
    low, high = int(plan.low * scale), int(plan.high * scale)
    if high - low < 2**62:
        unscaled = _integers(bits, low, high).tolist()
    else:
        other = mix(bits).tolist()
        span = high - low + 1
        unscaled = [low + ((a << 64 | b) % span) for a, b in zip(bits.tolist(), other, strict=True)]
    from decimal import Context, Decimal

    exact = Context(prec=40)
    values = [Decimal(u).scaleb(-type_.scale, exact) for u in unscaled]
    return pa.array(values, arrow_type(type_))


def _texts(plan: FieldPlan, bits: Bits, is_text: bool) -> pa.Array:
    """Returns texts of hexadecimal digits, or bytes."""
    count, length = len(bits), plan.length
    words = -(-max(length, 1) // (16 if is_text else 8))
    all_bits = np.empty((count, words), np.uint64)
    for word in range(words):
        bits = mix(bits)
        all_bits[:, word] = bits
    cells = all_bits.view(np.uint8).reshape(count, words * 8)
    if is_text:
        cells = np.stack([cells & 15, cells >> 4], axis=2).reshape(count, words * 16)
        cells = _HEX[cells]
    cells = np.ascontiguousarray(cells[:, :length])
    if plan.var_len and length:
        lengths = 1 + (mix(bits) % np.uint64(length)).astype(np.int64)
        kept = np.arange(length) < lengths[:, None]
        data, sizes = cells[kept], lengths
    else:
        data, sizes = cells.ravel(), np.full(count, length, np.int64)
    offsets = np.zeros(count + 1, np.int32)
    np.cumsum(sizes, out=offsets[1:])
    kind = pa.string() if is_text else pa.binary()
    return pa.Array.from_buffers(kind, count, [None, pa.py_buffer(offsets), pa.py_buffer(data.tobytes())])
