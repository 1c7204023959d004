"""Windows, window assigners, triggers and evictors. The operators that run them are in `runtime/windows`."""

from penstock.windows.assigner import MergingWindowAssigner, WindowAssigner
from penstock.windows.count_trigger import CountTrigger
from penstock.windows.count_windows import CountSlidingWindowAssigner, CountTumblingWindowAssigner
from penstock.windows.delta_function import DeltaFunction
from penstock.windows.delta_trigger import DeltaTrigger
from penstock.windows.evictor import Evictor, TimestampedValue
from penstock.windows.evictors import CountEvictor, DeltaEvictor, TimeEvictor
from penstock.windows.global_windows import EndOfStreamTrigger, GlobalWindows, NeverTrigger
from penstock.windows.purging_trigger import PurgingTrigger
from penstock.windows.serializers import (
    CountWindowSerializer,
    GlobalWindowSerializer,
    TimeWindowSerializer,
    TypeSerializer,
)
from penstock.windows.session import (
    DynamicEventTimeSessionWindows,
    DynamicProcessingTimeSessionWindows,
    EventTimeSessionWindows,
    ProcessingTimeSessionWindows,
    SessionWindowTimeGapExtractor,
)
from penstock.windows.sliding import SlidingEventTimeWindows, SlidingProcessingTimeWindows
from penstock.windows.time_triggers import (
    ContinuousEventTimeTrigger,
    ContinuousProcessingTimeTrigger,
    EarlyFiringTrigger,
    EventTimeTrigger,
    ProcessingTimeTrigger,
)
from penstock.windows.timeout_trigger import ProcessingTimeoutTrigger
from penstock.windows.trigger import Trigger, TriggerResult
from penstock.windows.tumbling import TumblingEventTimeWindows, TumblingProcessingTimeWindows
from penstock.windows.window import CountWindow, GlobalWindow, TimeWindow, Window

__all__ = [
    "ContinuousEventTimeTrigger",
    "ContinuousProcessingTimeTrigger",
    "CountEvictor",
    "CountSlidingWindowAssigner",
    "CountTrigger",
    "CountTumblingWindowAssigner",
    "CountWindow",
    "CountWindowSerializer",
    "DeltaEvictor",
    "DeltaFunction",
    "DeltaTrigger",
    "DynamicEventTimeSessionWindows",
    "DynamicProcessingTimeSessionWindows",
    "EarlyFiringTrigger",
    "EndOfStreamTrigger",
    "EventTimeSessionWindows",
    "EventTimeTrigger",
    "Evictor",
    "GlobalWindow",
    "GlobalWindowSerializer",
    "GlobalWindows",
    "MergingWindowAssigner",
    "NeverTrigger",
    "ProcessingTimeSessionWindows",
    "ProcessingTimeTrigger",
    "ProcessingTimeoutTrigger",
    "PurgingTrigger",
    "SessionWindowTimeGapExtractor",
    "SlidingEventTimeWindows",
    "SlidingProcessingTimeWindows",
    "TimeEvictor",
    "TimeWindow",
    "TimeWindowSerializer",
    "TimestampedValue",
    "Trigger",
    "TriggerResult",
    "TumblingEventTimeWindows",
    "TumblingProcessingTimeWindows",
    "TypeSerializer",
    "Window",
    "WindowAssigner",
]
