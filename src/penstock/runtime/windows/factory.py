"""Creates the window operator for an assigner."""

from __future__ import annotations

from typing import Any

from penstock.runtime.windows.merging_operator import MergingWindowOperator
from penstock.runtime.windows.operator import WindowOperator
from penstock.runtime.windows.session_operator import SessionWindowOperator
from penstock.windows import (
    DynamicEventTimeSessionWindows,
    EventTimeSessionWindows,
    MergingWindowAssigner,
    WindowAssigner,
)


def window_operator(assigner: WindowAssigner[Any, Any], *, batch_mode: bool = False, **settings: Any) -> WindowOperator:
    """Returns the operator for a window assigner. The settings are those of WindowOperator.

    In batch mode, timers that are registered in timer callbacks do not fire, so SessionWindowOperator is not used.

    >>> type(window_operator(EventTimeSessionWindows.with_gap(10), reduce=max)).__name__
    'SessionWindowOperator'
    """
    if not isinstance(assigner, MergingWindowAssigner):
        return WindowOperator(assigner, **settings)
    trigger = settings.get("trigger") or assigner.get_default_trigger(None)
    session = type(assigner) in (EventTimeSessionWindows, DynamicEventTimeSessionWindows)
    if session and trigger.waits_for_end() and not batch_mode:
        return SessionWindowOperator(assigner, **settings)
    return MergingWindowOperator(assigner, **settings)
