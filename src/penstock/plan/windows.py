"""The description of the windows of a stream."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from penstock.functions import OutputTag
from penstock.types import TypeInformation
from penstock.windows import Evictor, Trigger, WindowAssigner


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowDescription:
    """Assigner, trigger, evictor and functions of windows.

    At most one of `reduce` and `aggregate` is set. `function` gets its result, or all elements if both are None.

    >>> from penstock.windows import EventTimeTrigger, TumblingEventTimeWindows
    >>> WindowDescription(assigner=TumblingEventTimeWindows.of(10), trigger=EventTimeTrigger(), reduce=max).allowed_lateness
    0
    """

    assigner: WindowAssigner[Any, Any]
    trigger: Trigger[Any, Any]
    evictor: Evictor | None = None
    allowed_lateness: int = 0  # milliseconds
    late_tag: OutputTag[Any] | None = None
    reduce: Any = None
    aggregate: Any = None
    function: Any = None
    value_type: TypeInformation | None = None  # of stored elements, or of accumulators with `aggregate`
