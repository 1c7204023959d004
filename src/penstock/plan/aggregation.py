"""Decides which windows of named aggregates are computed by columns, and where elements are combined (time-rules 5.6-5.9)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from penstock.functions.named_aggregates import NamedAggregate, NamedAggregates
from penstock.plan.nodes import Node, OperatorNode, WindowSpec
from penstock.plan.windows import WindowDescription
from penstock.windows import (
    ContinuousEventTimeTrigger,
    ContinuousProcessingTimeTrigger,
    EarlyFiringTrigger,
    EventTimeSessionWindows,
    EventTimeTrigger,
    ProcessingTimeTrigger,
    PurgingTrigger,
    SlidingEventTimeWindows,
    Trigger,
    TumblingEventTimeWindows,
    TumblingProcessingTimeWindows,
)


@dataclass(frozen=True, slots=True)
class Aggregation:
    """How a window operator processes columns. `kind` selects the operator."""

    kind: str  # "slices", "early", "early by clock", "late", "sessions", "clock"
    combined: bool  # before the shuffle; otherwise columns of elements are shuffled and combined after it
    window: WindowDescription

    @property
    def on_grid(self) -> bool:
        """Whether windows are aligned to a grid of event time, so that elements belong to slices."""
        return self.kind in ("slices", "early", "early by clock", "late") and self.window.assigner.is_event_time()

    @property
    def values(self) -> bool:
        """Whether the elements themselves are needed after the shuffle."""
        return self.kind == "late" and self.window.late_tag is not None

    @property
    def text(self) -> str:
        """The description for `explain`."""
        return "combined before the shuffle" if self.combined else "combined in columns after the shuffle"


def aggregation_of(window: WindowDescription) -> Aggregation | None:
    """How windows are computed by columns; None if elements must be processed one by one.

    >>> from penstock.functions.named_aggregates import count
    >>> tumbling = TumblingEventTimeWindows.of(10)
    >>> aggregation_of(WindowDescription(assigner=tumbling, trigger=EventTimeTrigger(), aggregate=count())).text
    'combined before the shuffle'
    """
    if type(window.aggregate) not in (NamedAggregate, NamedAggregates) or window.evictor is not None:
        return None
    assigner, trigger = window.assigner, _without_purging(window.trigger)
    if type(assigner) is TumblingProcessingTimeWindows and type(trigger) is ProcessingTimeTrigger:
        return Aggregation("clock", True, window)
    if type(assigner) is TumblingProcessingTimeWindows and type(window.trigger) is ContinuousProcessingTimeTrigger:
        return Aggregation("early by clock", True, window)
    if window.allowed_lateness or window.late_tag is not None:
        late = type(assigner) is TumblingEventTimeWindows and type(window.trigger) is EventTimeTrigger
        return Aggregation("late", False, window) if late else None
    on_grid = type(assigner) is TumblingEventTimeWindows or (
        type(assigner) is SlidingEventTimeWindows and assigner.slide <= assigner.size
    )
    if on_grid and type(trigger) is EventTimeTrigger:
        return Aggregation("slices", True, window)
    if type(assigner) is TumblingEventTimeWindows and type(window.trigger) is ContinuousEventTimeTrigger:
        return Aggregation("early", False, window)
    by_clock = type(window.trigger) in (ContinuousProcessingTimeTrigger, EarlyFiringTrigger)
    if type(assigner) is TumblingEventTimeWindows and by_clock:
        return Aggregation("early by clock", True, window)
    if type(assigner) is EventTimeSessionWindows and type(trigger) is EventTimeTrigger:
        return Aggregation("sessions", False, window)
    return None


def aggregation_of_node(node: Node) -> Aggregation | None:
    """How an operator processes columns. Operators with dead letters process elements one by one."""
    if not isinstance(node, OperatorNode) or not isinstance(node.spec, WindowSpec) or node.on_error == "dead_letter":
        return None
    return aggregation_of(node.spec.window)


def _without_purging(trigger: Trigger[Any, Any]) -> Trigger[Any, Any]:
    """The trigger without purging, which makes no difference for a window that fires once."""
    return trigger.nested_trigger if type(trigger) is PurgingTrigger else trigger
