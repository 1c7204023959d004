"""Windows, and who decides about them: descriptions only. What runs is in `runtime/window.py`."""

from penstock.windows.assigner import MergingWindowAssigner, WindowAssigner
from penstock.windows.count_trigger import CountTrigger
from penstock.windows.count_windows import CountSlidingWindowAssigner, CountTumblingWindowAssigner
from penstock.windows.evictor import Evictor, TimestampedValue
from penstock.windows.global_windows import GlobalWindows, NeverTrigger
from penstock.windows.purging_trigger import PurgingTrigger
from penstock.windows.session import (
    DynamicEventTimeSessionWindows,
    DynamicProcessingTimeSessionWindows,
    EventTimeSessionWindows,
    ProcessingTimeSessionWindows,
    SessionWindowTimeGapExtractor,
)
from penstock.windows.sliding import SlidingEventTimeWindows, SlidingProcessingTimeWindows
from penstock.windows.time_triggers import ContinuousEventTimeTrigger, EventTimeTrigger, ProcessingTimeTrigger
from penstock.windows.trigger import Trigger, TriggerResult
from penstock.windows.tumbling import TumblingEventTimeWindows, TumblingProcessingTimeWindows
from penstock.windows.window import CountWindow, GlobalWindow, TimeWindow, Window

__all__ = [
    "ContinuousEventTimeTrigger",
    "CountSlidingWindowAssigner",
    "CountTrigger",
    "CountTumblingWindowAssigner",
    "CountWindow",
    "DynamicEventTimeSessionWindows",
    "DynamicProcessingTimeSessionWindows",
    "EventTimeSessionWindows",
    "EventTimeTrigger",
    "Evictor",
    "GlobalWindow",
    "GlobalWindows",
    "MergingWindowAssigner",
    "NeverTrigger",
    "ProcessingTimeSessionWindows",
    "ProcessingTimeTrigger",
    "PurgingTrigger",
    "SessionWindowTimeGapExtractor",
    "SlidingEventTimeWindows",
    "SlidingProcessingTimeWindows",
    "TimeWindow",
    "TimestampedValue",
    "Trigger",
    "TriggerResult",
    "TumblingEventTimeWindows",
    "TumblingProcessingTimeWindows",
    "Window",
    "WindowAssigner",
]
