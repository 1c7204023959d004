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


def window_operator(assigner: WindowAssigner[Any, Any], *, batch_mode: bool = False, **settings: Any) -> WindowOperator:
    """The operator of a window assigner; the settings are those of WindowOperator.

    In batch mode timers that callbacks set do not fire, so sessions must not rely on them.

    >>> type(window_operator(EventTimeSessionWindows.with_gap(10), reduce=max)).__name__
    'SessionOperator'
    """
    if not isinstance(assigner, MergingWindowAssigner):
        return WindowOperator(assigner, **settings)
    trigger = settings.get("trigger") or assigner.get_default_trigger(None)
    session = type(assigner) in (EventTimeSessionWindows, DynamicEventTimeSessionWindows)
    if session and trigger.waits_for_end() and not batch_mode:
        return SessionOperator(assigner, **settings)
    return MergingWindowOperator(assigner, **settings)
