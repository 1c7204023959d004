"""Windows on Spark: the same results as in the harness."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any

import pytest

import penstock as ps
from penstock.connectors import ScriptedSource, Step
from penstock.connectors.scripted import At, Mark
from penstock.datastream import DataStream
from penstock.windows import CountTrigger, EventTimeSessionWindows, TimeWindow, TumblingEventTimeWindows
from tests.system.spark.both_engines import collect_on_both_engines

pytestmark = pytest.mark.spark


Word = tuple[str, int]
LATE: ps.OutputTag[Word] = ps.OutputTag("late")
SCRIPT = [
    Step({"s": [At(("a", 1), 1), At(("b", 2), 3), At(("a", 4), 8)]}),
    Step({"s": [At(("a", 8), 15), Mark(14), At(("b", 16), 9), At(("b", 32), 2)]}),
    Step({"s": [At(("c", 64), 40)]}, end=True),
]


def key_of(word: Word) -> str:
    return word[0]


def add(a: Word, b: Word) -> Word:
    return a[0], a[1] + b[1]


def numbered(n: int, value: Any) -> tuple[int, Any]:
    return n, value


class DescribeWindow(ps.ProcessWindowFunction[Word, str, str, TimeWindow]):
    """Describes the window, with the number of windows of its key that have fired."""

    def process(
        self, key: str, context: ps.ProcessWindowFunction.Context[TimeWindow], elements: Iterable[Word]
    ) -> Iterable[str]:
        fired = context.global_state().get_state(ps.ValueStateDescriptor("fired", int))
        fired.update((fired.value() or 0) + 1)
        window = context.window()
        yield f"{key}[{window.start},{window.end}) {[n for _, n in elements]} #{fired.value()}"


def everything(env: ps.StreamExecutionEnvironment) -> DataStream[Any]:
    """Sessions with late output, early results, count windows, and windows over the whole stream, in one stream."""
    words = env.from_source(ScriptedSource(SCRIPT))
    sessions = (
        words.key_by(key_of)
        .window(EventTimeSessionWindows.with_gap(6))
        .side_output_late_data(LATE)
        .process(DescribeWindow())
    )
    early = words.key_by(key_of).window(TumblingEventTimeWindows.of(10)).trigger(CountTrigger.of(1)).reduce(add)
    whole = words.window_all(TumblingEventTimeWindows.of(20)).reduce(add)
    counted = words.key_by(key_of).count_window(2).reduce(add)
    streams: list[DataStream[Any]] = [sessions, sessions.get_side_output(LATE), early, whole, counted]
    first, *others = [s.map(partial(numbered, n)) for n, s in enumerate(streams)]
    return first.union(*others)


def test_windows_have_the_same_results_on_spark() -> None:
    assert {n for n, _ in collect_on_both_engines(everything)} == {0, 1, 2, 3, 4}
