"""Picks the class that runs some windows."""

from __future__ import annotations

from typing import Any

from penstock.runtime.window import WindowOperator
from penstock.runtime.window_merging import MergingWindowOperator
from penstock.runtime.window_session import SessionOperator
from penstock.windows import (
    DynamicEventTimeSessionWindows,
    EventTimeSessionWindows,
    MergingWindowAssigner,
    WindowAssigner,
)


def window_operator(assigner: WindowAssigner[Any, Any], **settings: Any) -> WindowOperator:
    """The operator of a window assigner; the settings are those of WindowOperator.

    >>> type(window_operator(EventTimeSessionWindows.with_gap(10), reduce=max)).__name__
    'SessionOperator'
    """
    if not isinstance(assigner, MergingWindowAssigner):
        return WindowOperator(assigner, **settings)
    trigger = settings.get("trigger") or assigner.get_default_trigger()
    session = type(assigner) in (EventTimeSessionWindows, DynamicEventTimeSessionWindows)
    kind = SessionOperator if session and trigger.waits_for_end() else MergingWindowOperator
    return kind(assigner, **settings)
