"""What a program says of a stream's windows, as one frozen description."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from penstock.functions import OutputTag
from penstock.types import TypeInformation
from penstock.windows import Evictor, Trigger, WindowAssigner


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowDescription:
    """Windows, who decides about them, and what is made of their elements.

    At most one of `reduce` and `aggregate` is given; `function` gets its result, or all elements if there is none.

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
    value_type: TypeInformation | None = None  # of the elements that are kept; with `aggregate`, of its accumulators
