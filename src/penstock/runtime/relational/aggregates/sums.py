"""COUNT, SUM, SUM0 and AVG."""

from __future__ import annotations

import decimal
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from penstock.runtime.relational.aggregates.column_accumulator import (
    Codes,
    ColumnAccumulator,
    Field,
    Signs,
    valid_rows,
    with_nulls,
)
from penstock.runtime.relational.aggregates.multisets import Multisets
from penstock.types.logical.arrow import arrow_type
from penstock.types.logical.kinds import DecimalType, FloatType, IntegerType, LogicalType

_LOW = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)
_DIVISION = decimal.Context(prec=38, rounding=decimal.ROUND_HALF_UP)
_WIDE = decimal.Context(prec=100, rounding=decimal.ROUND_HALF_UP)


def _add_counts(field: Field, codes: Codes, signs: Signs | None) -> None:
    if signs is None:
        field += np.bincount(codes, minlength=len(field))
    else:
        np.add.at(field, codes, signs)


class Count(ColumnAccumulator):
    """COUNT(*), and COUNT of rows where all arguments are not NULL."""

    initial = (0,)
    dtypes = (np.int64,)

    def add(
        self,
        fields: list[Field],
        codes: Codes,
        arguments: list[pa.Array],
        signs: Signs | None,
        multiset: Multisets | None = None,
    ) -> None:
        for index, column in enumerate(arguments):
            if column.null_count:
                keep = column.is_valid().to_numpy(zero_copy_only=False)
                arguments = [c.filter(pa.array(keep)) for c in arguments[index:]]
                signs = None if signs is None else signs[keep]
                self.add(fields, codes[keep], arguments, signs)
                return
        _add_counts(fields[0], codes, signs)

    def merge(self, fields: list[Field], codes: Codes, others: list[Field]) -> None:
        np.add.at(fields[0], codes, others[0])

    def results(self, fields: list[Field]) -> pa.Array:
        return pa.array(fields[0].copy(), pa.int64())


class NumberSum(ColumnAccumulator):
    """SUM, SUM0 and AVG of integers and floating-point numbers: the sum, and how many values are not NULL.

    Floating-point numbers are added in the order of rows, so that the result does not depend on batches. SUM of FLOAT rounds each
    step to single precision, as Flink does.
    """

    def __init__(self, function: str, argument: LogicalType, type_: LogicalType) -> None:
        self._function = function
        self._type = arrow_type(type_)
        self._bits = type_.bits if isinstance(type_, IntegerType) else 0
        self._sum_type: Any = np.int64
        zero: Any = 0
        if isinstance(argument, FloatType):
            self._sum_type = np.float32 if argument.bits == 32 and function != "AVG" else np.float64
            zero = -0.0 if function == "SUM" else 0.0  # -0.0 + x is x for all x, also for -0.0
        self.initial = (zero, 0)
        self.dtypes = (self._sum_type, np.int64)

    def add(
        self,
        fields: list[Field],
        codes: Codes,
        arguments: list[pa.Array],
        signs: Signs | None,
        multiset: Multisets | None = None,
    ) -> None:
        column, codes, signs = valid_rows(arguments[0], codes, signs)
        values = column.to_numpy(zero_copy_only=False).astype(self._sum_type, copy=False)
        with np.errstate(all="ignore"):
            np.add.at(fields[0], codes, values if signs is None else values * signs.astype(self._sum_type))
        _add_counts(fields[1], codes, signs)

    def merge(self, fields: list[Field], codes: Codes, others: list[Field]) -> None:
        with np.errstate(all="ignore"):
            np.add.at(fields[0], codes, others[0])
        np.add.at(fields[1], codes, others[1])

    def results(self, fields: list[Field]) -> pa.Array:
        total, count = fields
        empty = count == 0
        with np.errstate(all="ignore"):
            if self._function == "AVG":
                total = self._average(total, np.where(empty, 1, count))
            if self._bits:
                total = total.astype(f"int{self._bits}")
        if self._function == "SUM0":
            return pa.array(total.copy(), self._type)
        return with_nulls(total, empty, self._type)

    def _average(self, total: NDArray[Any], count: NDArray[np.int64]) -> NDArray[Any]:
        if not self._bits:
            return total / count
        quotient, rest = np.divmod(total, count)
        towards_zero: NDArray[Any] = quotient + ((rest != 0) & ((total < 0) != (count < 0)))
        return towards_zero


class DecimalSum(ColumnAccumulator):
    """SUM, SUM0 and AVG of decimals: the exact sum without its point as a Python integer, and the number of values.

    A sum that does not fit into the type of the result is NULL.
    """

    initial = (0, 0)
    dtypes = (None, np.int64)

    def __init__(self, function: str, argument: DecimalType, type_: DecimalType) -> None:
        self._function = function
        self._type = type_
        self._scale = argument.scale

    def add(
        self,
        fields: list[Field],
        codes: Codes,
        arguments: list[pa.Array],
        signs: Signs | None,
        multiset: Multisets | None = None,
    ) -> None:
        column, codes, signs = valid_rows(arguments[0], codes, signs)
        if not len(column):
            return
        sums, count = fields
        parts = []
        for limb in _limbs(column):
            part = np.zeros(len(count), np.int64)
            np.add.at(part, codes, limb if signs is None else limb * signs)
            parts.append(part)
        touched = np.unique(codes)
        for shift, part in enumerate(parts):
            for group, value in zip(touched.tolist(), part[touched].tolist(), strict=True):
                sums[group] += value << (32 * shift)
        _add_counts(count, codes, signs)

    def merge(self, fields: list[Field], codes: Codes, others: list[Field]) -> None:
        sums = fields[0]
        for group, value in zip(codes.tolist(), others[0], strict=True):
            sums[group] += value
        np.add.at(fields[1], codes, others[1])

    def results(self, fields: list[Field]) -> pa.Array:
        sums, counts = fields
        limit = 10**self._type.precision
        if self._function == "AVG":
            found = [self._average(s, n) for s, n in zip(sums, counts.tolist(), strict=True)]
        elif self._function == "SUM0":
            found = list(sums)
        else:
            found = [s if n else None for s, n in zip(sums, counts.tolist(), strict=True)]
        return decimal_column([v if v is None or -limit < v < limit else None for v in found], self._type)

    def _average(self, total: int, count: int) -> int | None:
        if count == 0 or abs(total) >= 10**38:
            return None
        quotient = _DIVISION.divide(decimal.Decimal(total).scaleb(-self._scale, _WIDE), decimal.Decimal(count))
        return int(
            _WIDE.quantize(quotient, decimal.Decimal(1).scaleb(-self._type.scale)).scaleb(self._type.scale, _WIDE)
        )


def _limbs(column: pa.Array) -> list[NDArray[np.int64]]:
    """Returns numbers of 128 bits as digits of 32 bits, lowest first. Only the last one is signed, so that sums do not overflow."""
    words = np.frombuffer(column.buffers()[1], np.uint64, 2 * (len(column) + column.offset))[2 * column.offset :]
    low, high = words[::2], words[1::2].view(np.int64)
    digits = [(low & _LOW).astype(np.int64)]
    if np.array_equal(low.view(np.int64) >> 63, high):
        return [*digits, low.view(np.int64) >> 32]
    return [*digits, (low >> _HALF).astype(np.int64), (words[1::2] & _LOW).astype(np.int64), high >> 32]


def decimal_column(values: list[int | None], type_: DecimalType) -> pa.Array:
    """Returns a column of decimals from integers without a point.

    >>> decimal_column([150, None], DecimalType(38, 2))[0]
    <pyarrow.Decimal128Scalar: Decimal('1.50')>
    """
    data = b"".join([(0 if v is None else v).to_bytes(16, "little", signed=True) for v in values])
    bits = None
    if None in values:
        bits = pa.array([v is not None for v in values], pa.bool_()).buffers()[1]
    return pa.Array.from_buffers(arrow_type(type_), len(values), [bits, pa.py_buffer(data)])
