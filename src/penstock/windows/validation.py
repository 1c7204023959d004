"""Checks of window settings. They run where the program sets them, and again in the window operator."""

from __future__ import annotations

from typing import Any

from penstock.errors import PlanError, UserFunctionError
from penstock.windows.assigner import MergingWindowAssigner, WindowAssigner
from penstock.windows.trigger import Trigger, TriggerResult


def check_trigger(assigner: WindowAssigner[Any, Any], trigger: Trigger[Any, Any]) -> None:
    """Raises an error if the windows merge and the trigger cannot merge its state.

    >>> from penstock.windows import EventTimeSessionWindows, EventTimeTrigger
    >>> check_trigger(EventTimeSessionWindows.with_gap(10), EventTimeTrigger.create())
    """
    if isinstance(assigner, MergingWindowAssigner) and not trigger.can_merge():
        raise PlanError(
            "TRIGGER_CANNOT_MERGE",
            f"{type(assigner).__name__} merges windows, but {type(trigger).__name__} cannot merge its state. Use another "
            "trigger, or implement can_merge and on_merge.",
        )


def check_trigger_result(trigger: Trigger[Any, Any], result: Any) -> TriggerResult:
    """Returns the result of a trigger's method. Raises an error if it is not a TriggerResult, for example None.

    >>> from penstock.windows import EventTimeTrigger
    >>> check_trigger_result(EventTimeTrigger.create(), TriggerResult.FIRE)
    <TriggerResult.FIRE: (True, False)>
    """
    if isinstance(result, TriggerResult):
        return result
    raise UserFunctionError(
        "TRIGGER_RESULT",
        f"{type(trigger).__name__} returned {result!r}. The methods on_element, on_processing_time and on_event_time of a trigger "
        "must return a TriggerResult. Return TriggerResult.CONTINUE if the window should not fire.",
    )


def check_lateness(allowed_lateness: int) -> None:
    """Raises an error if the allowed lateness is negative.

    >>> check_lateness(0)
    """
    if allowed_lateness < 0:
        raise PlanError(
            "ALLOWED_LATENESS",
            f"The allowed lateness is {allowed_lateness} ms, but it must not be negative. "
            "Remove it to drop late elements.",
        )
