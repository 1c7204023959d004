"""Instants and local times in milliseconds, as numpy arrays: windows of TIMESTAMP_LTZ lie on the grid of local time.

Without a zone ("") and in UTC, both are the same.
"""

from __future__ import annotations

import datetime
import functools

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from penstock.runtime.relational.functions.zones import local_to_instant, to_local, zone_of
from penstock.time import MAX_WATERMARK

Millis = NDArray[np.int64]
_HOUR = 3_600_000
_NANOS = 1_000_000
_RANGE = 200_000_000_000_000  # about the year 8300; beyond it, calendars of Python end and zones do not matter


def is_shifted(zone: str) -> bool:
    """Returns whether local times of a zone differ from instants."""
    return zone != "" and zone_of(zone) is not datetime.UTC


def local_times(instants: Millis, zone: str) -> Millis:
    """Returns instants as local times.

    >>> local_times(np.array([0]), "Asia/Tokyo").tolist()
    [32400000]
    """
    if not is_shifted(zone) or len(instants) == 0:
        return instants
    inside = np.clip(instants, -_RANGE // 4, _RANGE)
    local = to_local(pa.array(inside).cast(pa.timestamp("ms", "UTC")), zone)
    result: Millis = np.asarray(pc.cast(local, pa.int64())) + (instants - inside)
    return result


def instants_of(locals_: Millis, zone: str) -> Millis:
    """Returns local times as instants: the earlier of two, and times that a clock skips are moved to after the gap."""
    return _by_distinct_values(locals_, zone, _instant)


def due_times(ends: Millis, zone: str) -> Millis:
    """Returns the watermarks at which windows with these ends (local times) are complete.

    That is the last millisecond of a window. If clocks are set back, a local time occurs twice and the later one counts. If
    they skip it, the window is complete as soon as the gap has passed.

    >>> due_times(np.array([10_000]), "").tolist()
    [9999]
    """
    last = np.where(ends == MAX_WATERMARK, ends, ends - 1)
    return _by_distinct_values(last, zone, _timer_instant)


def latest_end(watermark: int, zone: str) -> int:
    """Returns an upper bound for the ends (local times) of windows that are complete at a watermark."""
    if watermark >= MAX_WATERMARK - 1:
        return MAX_WATERMARK
    if not is_shifted(zone) or watermark < -_RANGE // 4:
        return watermark + 1
    return int(local_times(np.array([watermark], np.int64), zone)[0]) + 1


def _by_distinct_values(values: Millis, zone: str, convert: functools._lru_cache_wrapper[int]) -> Millis:
    if not is_shifted(zone) or len(values) == 0:
        return values
    distinct, inverse = np.unique(values, return_inverse=True)
    return np.array([convert(v, zone) for v in distinct.tolist()], np.int64)[inverse]


@functools.lru_cache(10_000)
def _instant(local: int, zone: str) -> int:
    if not -_RANGE // 4 <= local <= _RANGE:
        return local
    return local_to_instant(local * _NANOS, zone) // _NANOS


@functools.lru_cache(10_000)
def _timer_instant(local: int, zone: str) -> int:
    first = _instant(local, zone)
    if not -_RANGE // 4 <= local <= _RANGE or not _has_summer_time(zone):
        return first
    hour_later = _instant(local + _HOUR, zone)
    if hour_later - first > _HOUR:  # the local time occurs twice
        return hour_later - _HOUR
    if hour_later == first:  # the local time does not exist
        return first - first % _HOUR
    return first


@functools.cache
def _has_summer_time(zone: str) -> bool:
    found = zone_of(zone) or datetime.UTC
    months = [datetime.datetime(2037, month, 1, tzinfo=found).utcoffset() for month in range(1, 13)]
    return len(set(months)) > 1
