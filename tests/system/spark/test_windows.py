"""Windows on Spark: the same results as in the harness."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any

import penstock as ps
from penstock.connectors import ScriptedSource, Step
from penstock.connectors.scripted import At, Mark
from penstock.datastream import DataStream
from penstock.windows import CountTrigger, EventTimeSessionWindows, TimeWindow, TumblingEventTimeWindows
from tests.spark.both_engines import same_on_spark

Word = tuple[str, int]
LATE: ps.OutputTag[Word] = ps.OutputTag("late")
SCRIPT = [
    Step({"s": [At(("a", 1), 1), At(("b", 2), 3), At(("a", 4), 8)]}),
    Step({"s": [At(("a", 8), 15), Mark(14), At(("b", 16), 9), At(("b", 32), 2)]}),
    Step({"s": [At(("c", 64), 40)]}, end=True),
]


def key_of(word: Word) -> str:
    return word[0]


def added(a: Word, b: Word) -> Word:
    return a[0], a[1] + b[1]


def numbered(n: int, value: Any) -> tuple[int, Any]:
    return n, value


class Told(ps.ProcessWindowFunction[Word, str, str, TimeWindow]):
    """Tells the window, and how many windows of its key have fired before."""

    def process(
        self, key: str, context: ps.ProcessWindowFunction.Context[TimeWindow], elements: Iterable[Word]
    ) -> Iterable[str]:
        fired = context.global_state().get_state(ps.ValueStateDescriptor("fired", int))
        fired.update((fired.value() or 0) + 1)
        window = context.window()
        yield f"{key}[{window.start},{window.end}) {[n for _, n in elements]} #{fired.value()}"


def everything(env: ps.StreamExecutionEnvironment) -> DataStream[Any]:
    """Sessions with late output, counted windows of what they gave, and windows over the whole stream, as one stream."""
    words = env.from_source(ScriptedSource(SCRIPT))
    sessions = (
        words.key_by(key_of).window(EventTimeSessionWindows.with_gap(6)).side_output_late_data(LATE).process(Told())
    )
    early = words.key_by(key_of).window(TumblingEventTimeWindows.of(10)).trigger(CountTrigger.of(1)).reduce(added)
    whole = words.window_all(TumblingEventTimeWindows.of(20)).reduce(added)
    counted = words.key_by(key_of).count_window(2).reduce(added)
    streams: list[DataStream[Any]] = [sessions, sessions.get_side_output(LATE), early, whole, counted]
    first, *others = [s.map(partial(numbered, n)) for n, s in enumerate(streams)]
    return first.union(*others)


def test_windows_give_on_spark_what_they_give_in_the_harness() -> None:
    assert {n for n, _ in same_on_spark(everything)} == {0, 1, 2, 3, 4}
