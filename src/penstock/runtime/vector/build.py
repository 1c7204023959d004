"""Picks the class that runs some windows by columns."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.runtime.vector.by_clock import ClockWindows
from penstock.runtime.vector.early import EarlyWindows
from penstock.runtime.vector.early_by_clock import EarlyByClock
from penstock.runtime.vector.grid import Grid
from penstock.runtime.vector.late import LateWindows
from penstock.runtime.vector.sessions import VectorSessions
from penstock.runtime.vector.sliced import SlicedWindows
from penstock.runtime.vector.windows import VectorWindows
from penstock.windows import EarlyFiringTrigger


def vector_windows(kind: str, window: Any) -> VectorWindows:
    """The operator of a kind of aggregation, for a window's description.

    >>> from types import SimpleNamespace
    >>> from penstock.functions.named_aggregates import count
    >>> from penstock.windows import TumblingEventTimeWindows
    >>> told = SimpleNamespace(assigner=TumblingEventTimeWindows.of(10), trigger=None, aggregate=count(), function=None)
    >>> type(vector_windows("slices", told)).__name__
    'SlicedWindows'
    """
    return _KINDS[kind](window)


def _slices(window: Any) -> VectorWindows:
    return SlicedWindows(Grid.of(window.assigner), window.aggregate, window.function)


def _early(window: Any) -> VectorWindows:
    return EarlyWindows(Grid.of(window.assigner), window.trigger.interval, window.aggregate, window.function)


def _early_by_clock(window: Any) -> VectorWindows:
    grid, event_time = Grid.of(window.assigner), window.assigner.is_event_time()
    final = type(window.trigger) is EarlyFiringTrigger
    return EarlyByClock(grid, window.trigger.interval, event_time, final, window.aggregate, window.function)


def _late(window: Any) -> VectorWindows:
    grid = Grid.of(window.assigner)
    return LateWindows(grid, window.allowed_lateness, window.late_tag, window.aggregate, window.function)


def _sessions(window: Any) -> VectorWindows:
    return VectorSessions(window.assigner.gap, window.aggregate, window.function)


def _clock(window: Any) -> VectorWindows:
    return ClockWindows(Grid.of(window.assigner), window.aggregate, window.function)


_KINDS: dict[str, Callable[[Any], VectorWindows]] = {
    "slices": _slices,
    "early": _early,
    "early by clock": _early_by_clock,
    "late": _late,
    "sessions": _sessions,
    "clock": _clock,
}
