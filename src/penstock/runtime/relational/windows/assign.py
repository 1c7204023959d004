"""The window table functions TUMBLE, HOP and CUMULATE without state: each row once per window that it belongs to."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from penstock.runtime.relational.changes import Changes
from penstock.runtime.relational.specs.window import Window
from penstock.runtime.relational.windows.grid import WindowGrid
from penstock.runtime.relational.windows.local_time import Millis, instants_of, local_times

_TIMESTAMP = pa.timestamp("ms")
_INSTANT = pa.timestamp("ms", "UTC")


def assign_windows(changes: Changes, window: Window, now: int, time_is_instant: bool | None = None) -> Changes:
    """Appends window_start, window_end and window_time to rows; kinds stay as they are. Rows without a time are dropped.

    now: the processing time, for windows that are not in event time. time_is_instant: whether window_time is TIMESTAMP_LTZ, if
    it does not follow from the window: a time attribute in processing time, or with a zone, is.

    >>> rows = assign_windows(Changes([pa.array([12_000], _TIMESTAMP)], 1), Window("TUMBLE", 10_000, time_column=0), 0)
    >>> [str(column[0]) for column in rows.columns[1:]]
    ['1970-01-01 00:00:10', '1970-01-01 00:00:20', '1970-01-01 00:00:19.999000']
    """
    rows, times = row_times(changes, window, now)
    at, starts, ends = WindowGrid(window).windows(local_times(times, window.zone))
    if changes.length == 0 or len(at) != changes.length or len(rows) != changes.length or window.kind != "TUMBLE":
        changes = changes.take(rows[at])
    instant = time_is_instant_of(changes, window) if time_is_instant is None else time_is_instant
    properties = window_columns(starts, ends, window.zone, ("start", "end", "time"), instant)
    return Changes([*changes.columns, *properties], len(at), changes.kinds)


def time_is_instant_of(changes: Changes, window: Window) -> bool:
    """Returns whether the time attribute of a window is TIMESTAMP_LTZ."""
    if not window.event_time or window.time_column < 0:
        return not window.event_time or window.zone != ""
    return changes.columns[window.time_column].type.tz is not None


def row_times(changes: Changes, window: Window, now: int) -> tuple[NDArray[np.int64], Millis]:
    """Returns the positions of the rows that have a time, and their times (instants) in milliseconds."""
    if not window.event_time:
        return np.arange(changes.length), np.full(changes.length, now, np.int64)
    return column_millis(changes.columns[window.time_column])


def column_millis(column: pa.Array) -> tuple[NDArray[np.int64], Millis]:
    """Returns the positions of the values of a column of timestamps that are not NULL, and the values in milliseconds."""
    factor = {"s": 0.001, "ms": 1, "us": 1000, "ns": 1_000_000}[column.type.unit]
    rows = np.arange(len(column))
    if column.null_count:
        rows = np.flatnonzero(np.asarray(column.is_valid()))
        column = column.drop_null()
    times = np.asarray(pc.cast(column, pa.int64()))
    return rows, times if factor == 1 else times // int(factor) if factor > 1 else times * 1000


def window_columns(
    starts: Millis, ends: Millis, zone: str, properties: tuple[str, ...], time_is_instant: bool
) -> list[pa.Array]:
    """Returns columns of windows: "start" and "end" as local time, "time" as the last millisecond, "proctime" as an instant."""
    columns: list[pa.Array] = []
    for name in properties:
        if name == "start":
            columns.append(pa.array(starts).cast(_TIMESTAMP))
        elif name == "end":
            columns.append(pa.array(ends).cast(_TIMESTAMP))
        else:
            wanted = _INSTANT if time_is_instant else _TIMESTAMP
            columns.append(pa.array(instants_of(ends - 1, zone)).cast(wanted))
    return columns
