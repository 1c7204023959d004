"""Counts per window of event time: tumbling, sliding, sessions with a fixed gap and with one that elements choose."""

import sys
from collections.abc import Iterable

from pyflink.common import Time, Types, WatermarkStrategy
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import ProcessWindowFunction, StreamExecutionEnvironment
from pyflink.datastream.window import (
    EventTimeSessionWindows,
    SessionWindowTimeGapExtractor,
    SlidingEventTimeWindows,
    TimeWindow,
    TumblingEventTimeWindows,
)

WITH_FIVE, WITHOUT_FIVE = (1, 2, 3, 4, 5, 8, 9, 15), (1, 2, 3, 4, 8, 9, 15)


class SecondField(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp) -> int:
        return int(value[1])


class OwnGap(SessionWindowTimeGapExtractor):
    def extract(self, element: tuple) -> int:
        return element[1]


class Count(ProcessWindowFunction[tuple, tuple, str, TimeWindow]):
    def process(
        self, key: str, context: ProcessWindowFunction.Context[TimeWindow], elements: Iterable[tuple]
    ) -> Iterable[tuple]:
        return [(key, context.window().start, context.window().end, len(list(elements)))]


WINDOWS = {
    "tumbling": (TumblingEventTimeWindows.of(Time.milliseconds(5)), WITH_FIVE),
    "sliding": (SlidingEventTimeWindows.of(Time.milliseconds(5), Time.milliseconds(2)), WITH_FIVE),
    "session": (EventTimeSessionWindows.with_gap(Time.milliseconds(5)), WITHOUT_FIVE),
    "dynamic": (EventTimeSessionWindows.with_dynamic_gap(OwnGap()), WITHOUT_FIVE),
}

if __name__ == "__main__":
    windows, times = WINDOWS[sys.argv[1]]
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    pairs = env.from_collection([("hi", t) for t in times], type_info=Types.TUPLE([Types.STRING(), Types.INT()]))
    in_order = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(SecondField())
    keyed = pairs.assign_timestamps_and_watermarks(in_order).key_by(lambda pair: pair[0], key_type=Types.STRING())
    result = Types.TUPLE([Types.STRING(), Types.INT(), Types.INT(), Types.INT()])
    keyed.window(windows).process(Count(), result).print()
    env.execute()
