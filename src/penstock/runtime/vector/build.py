"""Picks the class that runs some windows by columns."""

from __future__ import annotations

from typing import Any

from penstock.runtime.vector.by_clock import ClockWindows
from penstock.runtime.vector.early import EarlyWindows
from penstock.runtime.vector.grid import Grid
from penstock.runtime.vector.sessions import VectorSessions
from penstock.runtime.vector.sliced import SlicedWindows
from penstock.runtime.vector.windows import VectorWindows


def vector_windows(kind: str, assigner: Any, trigger: Any, aggregate: Any, function: Any) -> VectorWindows:
    """The operator of a kind of aggregation.

    >>> from penstock.functions.named_aggregates import count
    >>> from penstock.windows import TumblingEventTimeWindows
    >>> type(vector_windows("slices", TumblingEventTimeWindows.of(10), None, count(), None)).__name__
    'SlicedWindows'
    """
    if kind == "sessions":
        return VectorSessions(assigner.gap, aggregate, function)
    if kind == "early":
        return EarlyWindows(Grid.of(assigner), trigger.interval, aggregate, function)
    if kind == "clock":
        return ClockWindows(Grid.of(assigner), aggregate, function)
    assert kind == "slices"
    return SlicedWindows(Grid.of(assigner), aggregate, function)
