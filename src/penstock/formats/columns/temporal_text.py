"""Dates, times and timestamps as text, by columns: as java.time prints and parses them in Flink's formats."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

Digits = NDArray[np.int64]

_UNITS = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
_LENGTHS = np.array([31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31])
_DATE, _TIME = 10, 8  # characters


class TextFormError(ValueError):
    """A text does not have the expected form."""


def parse_dates(texts: pa.Array) -> pa.Array:
    """Parses texts such as 2024-05-01.

    >>> parse_dates(pa.array(["1970-01-02", None])).to_pylist()
    [datetime.date(1970, 1, 2), None]
    """
    return _by_length(texts, _date_values, pa.int32()).cast(pa.date32())


def parse_times(texts: pa.Array) -> pa.Array:
    """Parses texts such as 12:30:00.5 to milliseconds."""

    def values(cells: Any) -> Digits:
        seconds, fraction = _clock_values(cells, 0)
        return seconds * 1000 + fraction // 10**6

    return _by_length(texts, values, pa.int32()).cast(pa.time32("ms"))


def parse_timestamps(texts: pa.Array, unit: str, separator: str = " ", suffix: str = "") -> pa.Array:
    """Parses texts such as 2024-05-01 12:30:00.123 with up to nine digits of the second. Further digits than the unit has are cut.

    >>> parse_timestamps(pa.array(["1970-01-01 00:00:01.5"]), "ms").cast(pa.int64()).to_pylist()
    [1500]
    """
    scale = _UNITS[unit]
    zone = "UTC" if suffix else None
    if _has_common_form(texts, separator, suffix):
        try:
            return texts.cast(pa.timestamp(unit, zone))
        except pa.ArrowInvalid:  # wrong, or more digits than the unit has
            pass

    def values(cells: Any) -> Digits:
        if suffix:
            if cells.shape[1] < len(suffix) or (cells[:, -1] != ord(suffix)).any():
                raise TextFormError
            cells = cells[:, :-1]
        if cells.shape[1] < _DATE + 1 + _TIME or (cells[:, _DATE] != ord(separator)).any():
            raise TextFormError
        days = _date_values(cells[:, :_DATE])
        seconds, fraction = _clock_values(cells, _DATE + 1)
        seconds = days * 86_400 + seconds
        if (
            scale == 10**9
            and len(seconds)
            and (seconds.min() < -(2**63) // scale + 1 or seconds.max() > 2**63 // scale - 1)
        ):
            raise TextFormError  # the year does not fit into nanoseconds
        return seconds * scale + fraction // (10**9 // scale)

    return _by_length(texts, values, pa.int64()).cast(pa.timestamp(unit, zone))


def _has_common_form(texts: pa.Array, separator: str, suffix: str) -> bool:
    """Whether all texts are equally long and have separator and suffix in place. Arrow would accept other forms, too."""
    count = len(texts)
    if not count or texts.null_count == count:
        return False
    _, ends, data = texts.buffers()
    limits = np.frombuffer(ends, np.int32)[texts.offset : texts.offset + count + 1]
    lengths = np.diff(limits)
    length = int(lengths.max())
    if length < _DATE + 1 + _TIME + len(suffix) or length == _DATE + 2 + _TIME + len(suffix):
        return False
    if (
        int(limits[-1] - limits[0]) != length * (count - texts.null_count)
        or not ((lengths == length) | (lengths == 0)).all()
    ):
        return False
    cells = np.frombuffer(data, np.uint8)[limits[0] : limits[-1]].reshape(-1, length)
    last = cells[:, -1]
    ends_well = (last == ord(suffix)).all() if suffix else ((last >= 48) & (last <= 57)).all()
    return bool(ends_well) and bool((cells[:, _DATE] == ord(separator)).all())


def _by_length(texts: pa.Array, values: Any, kind: pa.DataType) -> pa.Array:
    """Calls a function with the texts of each length as a table of characters, one row per text. Nulls stay null."""
    if isinstance(texts, pa.ChunkedArray):
        texts = texts.combine_chunks()
    nulls = texts.null_count
    present = texts.drop_null() if nulls else texts
    count = len(present)
    results = np.zeros(count, np.int64)
    if count:
        _, ends, data = present.buffers()
        limits = np.frombuffer(ends, np.int32)[present.offset : present.offset + count + 1]
        text = np.frombuffer(data, np.uint8)[limits[0] : limits[-1]] if data is not None else np.empty(0, np.uint8)
        lengths = np.diff(limits)
        first = int(lengths[0])
        if (lengths == first).all():
            results = values(text.reshape(count, first))
        else:
            starts = limits[:-1] - limits[0]
            for length in np.unique(lengths):
                at = np.flatnonzero(lengths == length)
                results[at] = values(text[starts[at][:, None] + np.arange(length)])
    found = pa.array(results.astype(kind.to_pandas_dtype(), copy=False))
    if not nulls:
        return found
    valid = np.asarray(texts.is_valid())
    full = np.zeros(len(texts), found.type.to_pandas_dtype())
    full[valid] = np.asarray(found)
    return pa.array(full, mask=~valid)


def _number(cells: Any, start: int, end: int) -> Digits:
    """Returns the number that some columns of characters form."""
    digits = cells[:, start:end].astype(np.int64) - 48
    if digits.size and (digits.min() < 0 or digits.max() > 9):
        raise TextFormError
    number: Digits = digits[:, 0]
    for column in range(1, end - start):
        number = number * 10 + digits[:, column]
    return number


def _date_values(cells: Any) -> Digits:
    if cells.shape[1] != _DATE or (cells[:, 4] != 45).any() or (cells[:, 7] != 45).any():
        raise TextFormError
    year, month, day = _number(cells, 0, 4), _number(cells, 5, 7), _number(cells, 8, 10)
    if not len(year):
        return year
    if month.min() < 1 or month.max() > 12 or day.min() < 1:
        raise TextFormError
    if day.max() > 28:
        leap = (year % 4 == 0) & ((year % 100 != 0) | (year % 400 == 0))
        if (day > _LENGTHS[month - 1] + (leap & (month == 2))).any():
            raise TextFormError
    # Days since 1970 in the Gregorian calendar; years begin in March, so that the leap day is the last one.
    years = year - (month <= 2)
    era = years // 400
    of_era = years - era * 400
    of_year = (153 * (month + np.where(month > 2, -3, 9)) + 2) // 5 + day - 1
    days: Digits = era * 146_097 + of_era * 365 + of_era // 4 - of_era // 100 + of_year - 719_468
    return days


def _clock_values(cells: Any, start: int) -> tuple[Digits, Digits]:
    """Returns the seconds of the day and the nanoseconds."""
    length = cells.shape[1] - start
    if length < _TIME or (cells[:, start + 2] != 58).any() or (cells[:, start + 5] != 58).any():
        raise TextFormError
    hour, minute = _number(cells, start, start + 2), _number(cells, start + 3, start + 5)
    second = _number(cells, start + 6, start + 8)
    if hour.max() > 23 or minute.max() > 59 or second.max() > 59:
        raise TextFormError
    fraction = np.zeros(len(hour), np.int64)
    digits = length - _TIME - 1
    if digits >= 0:
        if not 1 <= digits <= 9 or (cells[:, start + _TIME] != 46).any():
            raise TextFormError
        fraction = _number(cells, start + _TIME + 1, start + _TIME + 1 + digits) * 10 ** (9 - digits)
    return hour * 3600 + minute * 60 + second, fraction


def format_timestamps(column: pa.Array, separator: str = " ", suffix: str = "") -> pa.Array:
    """Formats timestamps. Zeros at the end of the fraction are left out, and an empty fraction too.

    >>> format_timestamps(pa.array([1500, 2000], pa.timestamp("ms")), "T").to_pylist()
    ['1970-01-01T00:00:01.5', '1970-01-01T00:00:02']
    """
    texts = _without_zeros(column.cast(pa.timestamp(column.type.unit)).cast(pa.string()))
    if separator != " ":
        texts = pc.replace_substring(texts, " ", separator, max_replacements=1)
    return pc.binary_join_element_wise(texts, suffix, "") if suffix else texts


def format_times(column: pa.Array) -> pa.Array:
    """Formats times of the day. Zeros at the end of the fraction are left out.

    >>> format_times(pa.array([1500], pa.time32("ms"))).to_pylist()
    ['00:00:01.5']
    """
    return _without_zeros(column.cast(pa.string()))


def _without_zeros(texts: pa.Array) -> pa.Array:
    """Arrow prints all digits of the fraction, so that a point ends the zeros."""
    return pc.utf8_rtrim(pc.utf8_rtrim(texts, characters="0"), characters=".")
