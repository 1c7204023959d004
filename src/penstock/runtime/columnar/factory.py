"""Creates the columnar operator for a window aggregation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.runtime.columnar.allowed_lateness import AllowedLatenessWindowOperator
from penstock.runtime.columnar.early_event_time import EarlyEventTimeWindowOperator
from penstock.runtime.columnar.early_processing_time import EarlyProcessingTimeWindowOperator
from penstock.runtime.columnar.operator import ColumnarWindowOperator
from penstock.runtime.columnar.processing_time import ProcessingTimeWindowOperator
from penstock.runtime.columnar.sessions import ColumnarSessionWindowOperator
from penstock.runtime.columnar.sliced_windows import SlicedWindowOperator
from penstock.runtime.columnar.slices import Grid
from penstock.windows import EarlyFiringTrigger


def columnar_window_operator(kind: str, window: Any) -> ColumnarWindowOperator:
    """Returns the operator for a kind of columnar aggregation and the description of its windows.

    >>> from types import SimpleNamespace
    >>> from penstock.functions.named_aggregates import count
    >>> from penstock.windows import TumblingEventTimeWindows
    >>> assigner = TumblingEventTimeWindows.of(10)
    >>> window = SimpleNamespace(assigner=assigner, trigger=None, aggregate=count(), function=None)
    >>> type(columnar_window_operator("slices", window)).__name__
    'SlicedWindowOperator'
    """
    return _KINDS[kind](window)


def _slices(window: Any) -> ColumnarWindowOperator:
    return SlicedWindowOperator(Grid.from_assigner(window.assigner), window.aggregate, window.function)


def _early_event_time(window: Any) -> ColumnarWindowOperator:
    return EarlyEventTimeWindowOperator(
        Grid.from_assigner(window.assigner), window.trigger.interval, window.aggregate, window.function
    )


def _early_processing_time(window: Any) -> ColumnarWindowOperator:
    grid, event_time = Grid.from_assigner(window.assigner), window.assigner.is_event_time()
    final = type(window.trigger) is EarlyFiringTrigger
    return EarlyProcessingTimeWindowOperator(
        grid, window.trigger.interval, event_time, final, window.aggregate, window.function
    )


def _allowed_lateness(window: Any) -> ColumnarWindowOperator:
    grid = Grid.from_assigner(window.assigner)
    return AllowedLatenessWindowOperator(
        grid, window.allowed_lateness, window.late_tag, window.aggregate, window.function
    )


def _sessions(window: Any) -> ColumnarWindowOperator:
    return ColumnarSessionWindowOperator(window.assigner.gap, window.aggregate, window.function)


def _processing_time(window: Any) -> ColumnarWindowOperator:
    return ProcessingTimeWindowOperator(Grid.from_assigner(window.assigner), window.aggregate, window.function)


_KINDS: dict[str, Callable[[Any], ColumnarWindowOperator]] = {
    "slices": _slices,
    "early": _early_event_time,
    "early by clock": _early_processing_time,
    "late": _allowed_lateness,
    "sessions": _sessions,
    "clock": _processing_time,
}
