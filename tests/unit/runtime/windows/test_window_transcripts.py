"""The window transcripts of the time rules, run on the slot loop."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
import yaml

from penstock.runtime.loop.operator import Emitted, Operator, OperatorContext
from penstock.runtime.state.timers import Timer
from penstock.runtime.windows.factory import window_operator
from penstock.runtime.windows.operator import WindowOperator
from penstock.time import MAX_WATERMARK, MIN_WATERMARK
from penstock.windows import (
    EventTimeSessionWindows,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
    WindowAssigner,
)
from tests.unit.runtime.windows.window_driver import LATE, Batch, Driver, Event, FormatWindow, Total, parse

# a@5: key a, timestamp 5; !12: explicit watermark; a[0,10)=2: the result of a window; L: allowed lateness; W: watermark
# after each batch; wm mono: maximum - 1, bound d: maximum - d - 1, none: explicit ones; set: order does not matter.
TRANSCRIPTS = """
- {id: 3, op: tumble 10, wm: mono, in: [{s0: [a@1, a@12, a@3, a@13]}], out: [["a[0,10)=1", late a@3]], W: [12]}
- {id: 4, op: tumble 10, wm: mono, in: [{s0: [a@1, a@12]}, {s0: [a@3]}, {s0: [a@13]}],
   out: [["a[0,10)=1"], [late a@3], []], W: [11, 11, 12]}
- {id: 5, op: tumble 10, wm: bound 5, in: [{s0: [a@1, a@12, a@3, a@16, a@4]}], out: [["a[0,10)=2", late a@4]], W: [10]}
- {id: 7, op: tumble 10, wm: mono, in: [{s0: [a@12, a@30, a@5], s1: [b@4]}], out: [[]], W: [3]}
- {id: 8, op: tumble 10, wm: mono, in: [{s0: [a@12, a@30, a@5], s1: [b@4, b@40]}], set: true,
   out: [["b[0,10)=1", "a[10,20)=1", late a@5]], W: [29]}
- {id: 9, op: tumble 10, wm: mono, splits: [s0, s1], in: [{s0: [a@1, a@50]}, {s1: [b@60]}],
   out: [[], ["a[0,10)=1"]], W: [MIN, 49]}
- {id: end, op: tumble 10, wm: mono, in: [{s0: [a@5, b@6]}, {end: true}], out: [[], ["a[0,10)=1", "b[0,10)=1"]],
   set: true, W: [5, MAX]}
- {id: 16, op: tumble 10, wm: mono, in: [{s0: [a@1, a@30]}, {s1: [b@31], s0: [a@50]}],
   out: [["a[0,10)=1"], []], W: [29, 30]}
- {id: 22, op: tumble 10, then: show, wm: mono, in: [{s0: [a@1, a@25, a@26]}], out: [["a@9~8"]], W: [25]}
- {id: 23, op: tumble 10, then: tumble 20, wm: mono, in: [{s0: [a@1, a@11, a@25]}], out: [["a[0,20)=2"]], W: [24]}
- {id: 24, op: tumble 10, L: 5, wm: mono, in: [{s0: [a@1, a@12, a@2, a@3, a@17, a@4]}],
   out: [["a[0,10)=1", "a[0,10)=2", "a[0,10)=3", late a@4]], W: [16]}
- {id: 25, op: tumble 10, L: 5, wm: none, in: [{s0: [a@1, "!13", a@2, "!14", a@3]}],
   out: [["a[0,10)=1", "a[0,10)=2", late a@3]], W: [14]}
- {id: 26, op: session 5, wm: none, in: [{s0: [a@1, a@9]}, {s0: [a@5, "!20"]}], out: [[], ["a[1,14)=3"]], W: [MIN, 20]}
- {id: 27, op: session 5, wm: none, in: [{s0: [a@10, "!12", a@6, b@6]}, {s0: ["!20"]}],
   out: [[late b@6], ["a[6,15)=2"]], W: [12, 20]}
- {id: 28, op: session 5, wm: none, in: [{s0: ["!12", a@6, a@10, "!20"]}], out: [[late a@6, "a[10,15)=1"]], W: [20]}
- {id: 29, op: slide 10/5, wm: none, in: [{s0: ["!9", a@7, "!20"]}], out: [["a[5,15)=1"]], W: [20]}
"""


class FormatElement:
    """Emits each element with the current watermark."""

    keyed = True

    def open(self, context: OperatorContext) -> None:
        pass

    def elements(self) -> tuple[Callable[[Any, Any], Emitted], ...]:
        return (lambda event, context: [f"{event.key}@{event.timestamp}~{context.watermark}"],)

    def on_timer(self, timer: Timer, context: OperatorContext) -> Emitted:
        return None

    def close(self) -> None:
        pass


def make_assigner(spec: str) -> WindowAssigner[Any, Any]:
    kind, sizes = spec.split()
    numbers = [int(n) for n in re.split("/", sizes)]
    if kind == "tumble":
        return TumblingEventTimeWindows.of(numbers[0])
    if kind == "slide":
        return SlidingEventTimeWindows.of(numbers[0], numbers[1])
    return EventTimeSessionWindows.with_gap(numbers[0])


def make_operator(spec: str, lateness: int, elements: bool) -> Callable[[], Operator]:
    if spec == "show":
        return FormatElement
    aggregate = None if elements else Total()
    return lambda: window_operator(
        make_assigner(spec), aggregate=aggregate, function=FormatWindow(), allowed_lateness=lateness, late_tag=LATE
    )


def make_batch(described: dict[str, Any]) -> Batch:
    splits = {name: [parse(w) for w in words] for name, words in described.items() if name.startswith("s")}
    return Batch(splits, end=described.get("end", False))


def watermark(text: Any) -> int:
    return int({"MIN": MIN_WATERMARK, "MAX": MAX_WATERMARK}.get(text, text))


@pytest.mark.parametrize("restarting", [False, True], ids=["running", "restarted"])
@pytest.mark.parametrize("elements", [False, True], ids=["aggregated", "elements"])
@pytest.mark.parametrize("case", yaml.safe_load(TRANSCRIPTS), ids=lambda case: f"transcript-{case['id']}")
def test_transcript(case: dict[str, Any], elements: bool, restarting: bool) -> None:
    words = case["wm"].split()
    driver = Driver(
        make_operator(case["op"], case.get("L", 0), elements),
        then=make_operator(case["then"], 0, elements) if "then" in case else None,
        delay={"none": None, "mono": 0}.get(words[0], int(words[-1]) if words[0] == "bound" else None),
        splits=case.get("splits", ()),
        restarting=restarting,
    )
    outputs, watermarks = [], []
    for described in case["in"]:
        outputs += driver.run_formatted([make_batch(described)])
        watermarks.append(driver.first.watermark)
    normalize = sorted if case.get("set") else list
    assert [normalize(o) for o in outputs] == [normalize(o) for o in case["out"]]
    assert watermarks == [watermark(w) for w in case["W"]]


def test_late_elements_are_counted_without_a_side_output() -> None:
    driver = Driver(lambda: WindowOperator(TumblingEventTimeWindows.of(10), aggregate=Total()), delay=0)
    batch = Batch({"s0": [Event("a", 1), Event("a", 12), Event("a", 3), Event("a", 4)]})
    assert [r.value for r in driver.run(batch)] == [1]
    assert isinstance(driver.first.operator, WindowOperator)
    assert driver.first.operator.late_records == 2
