"""Whether what was set on windows fits together: asked where the program sets it, and by what runs it."""

from __future__ import annotations

from typing import Any

from penstock.errors import PlanError
from penstock.windows.assigner import MergingWindowAssigner, WindowAssigner
from penstock.windows.trigger import Trigger


def check_trigger(assigner: WindowAssigner[Any, Any], trigger: Trigger[Any, Any]) -> None:
    """Refuses a trigger whose state would be lost when windows merge.

    >>> from penstock.windows import EventTimeSessionWindows, EventTimeTrigger
    >>> check_trigger(EventTimeSessionWindows.with_gap(10), EventTimeTrigger.create())
    """
    if isinstance(assigner, MergingWindowAssigner) and not trigger.can_merge():
        raise PlanError(
            "TRIGGER_CANNOT_MERGE",
            f"{type(assigner).__name__} merges windows, and {type(trigger).__name__} cannot: its state of the merged windows "
            "would be lost. Use another trigger, or give it can_merge and on_merge.",
        )


def check_lateness(allowed_lateness: int) -> None:
    """Refuses a negative lateness.

    >>> check_lateness(0)
    """
    if allowed_lateness < 0:
        raise PlanError(
            "ALLOWED_LATENESS",
            f"An allowed lateness of {allowed_lateness} ms was given; it must not be negative. "
            "Leave it out if late elements are not to be taken.",
        )
