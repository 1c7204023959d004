"""Aggregate functions of users in calls."""

from __future__ import annotations

import msgspec

from penstock.runtime.relational.python_functions.function import PythonFunction


class PythonAggregate(msgspec.Struct, frozen=True):
    """A Python function that an AggregateCall with the function "PYTHON" calls.

    function: the function. The style "general" gets the values of one row at a time, "pandas" those of all rows as pandas.Series.
    retracts, merges: whether it has these methods. views: whether its accumulator has a ListView or a MapView.
    replays: its accumulator is the list of its rows, because rows of several accumulators must be merged, which it cannot do.
    emits_rows: it is a table aggregate function.
    zone: the time zone of the session, for timestamps with a local time zone.
    """

    function: PythonFunction
    retracts: bool = False
    merges: bool = False
    views: bool = False
    replays: bool = False
    emits_rows: bool = False
    zone: str = "UTC"
