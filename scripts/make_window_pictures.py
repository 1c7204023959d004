"""Draws docs/images/window-*.svg: runs small jobs in the test harness, and draws their elements and windows.

python scripts/make_window_pictures.py
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Any

import penstock as ps
from penstock.errors import OptionIgnored
from penstock.functions import WindowContext
from penstock.testing import Harness, PushSource
from penstock.windows import (
    ContinuousEventTimeTrigger,
    CountTrigger,
    EventTimeSessionWindows,
    GlobalWindows,
    PurgingTrigger,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
)

IMAGES = Path(__file__).resolve().parent.parent / "docs" / "images"
LATE: ps.OutputTag[Any] = ps.OutputTag("late")
Event = tuple[str, int, int]  # key, second, number
CLICKS: list[Event] = [("ann", 1, 2), ("bob", 4, 3), ("ann", 6, 1), ("ann", 12, 4), ("bob", 14, 5), ("ann", 23, 2)]

# -- jobs and their results


@dataclass(frozen=True)
class Firing:
    """A result of a window, with its position on the time line."""

    key: str
    window: tuple[int, int]
    at: int
    text: str


@dataclass
class Example:
    """A job with a window, and the elements of its source."""

    title: str
    note: str
    windows: Callable[[ps.KeyedStream[Event, str]], Any]
    events: list[Event] = field(default_factory=lambda: list(CLICKS))
    delay: int = 0  # of the watermark, in seconds
    by_arrival: bool = False  # the time line counts elements instead of seconds


class DescribeWindow(ps.ProcessWindowFunction[Event, tuple[Any, ...], str, Any]):
    """Emits the key, the window, the watermark and the numbers of the elements."""

    def process(self, key: str, context: WindowContext[Any], elements: Iterable[Event]) -> Iterable[tuple[Any, ...]]:
        listed = list(elements)
        window = context.window()
        bounds = (window.start // 1000, window.end // 1000) if hasattr(window, "start") else None
        yield key, bounds, context.current_watermark(), [e[2] for e in listed]


def run(example: Example) -> tuple[list[Firing], list[Event]]:
    """Runs the job of an example. Returns its results and its late elements."""
    env = ps.StreamExecutionEnvironment()
    strategy = ps.WatermarkStrategy.for_bounded_out_of_orderness(ps.Duration.of_seconds(example.delay))
    windows = example.windows(env.from_source(PushSource(), strategy).key_by(lambda event: event[0]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OptionIgnored)  # windows without event time have no late elements
        results = windows.side_output_late_data(LATE).process(DescribeWindow())
    firings: list[Firing] = []
    with Harness(env) as harness:
        out, late = harness.collect(results), harness.collect(results.get_side_output(LATE))
        for number, event in enumerate(example.events, 1):
            harness.push(event, event[1] * 1000)
            firings += [_firing(example, result, number) for result in out.take()]
        if not example.by_arrival:
            harness.end()
            firings += [_firing(example, result, len(example.events)) for result in out.take()]
    return firings, list(late)


def _firing(example: Example, result: tuple[Any, ...], number: int) -> Firing:
    key, bounds, watermark, values = result
    if bounds is None:
        indices = [n for n, e in enumerate(example.events[:number], 1) if e[0] == key][-len(values) :]
        return Firing(key, (indices[0], indices[-1]), number, _sum(values))
    at = (watermark + 1) // 1000 if -1 < watermark < 10**12 else bounds[1]
    return Firing(key, bounds, max(at, bounds[0]), _sum(values))


def _sum(values: list[int]) -> str:
    return str(sum(values))


# -- drawing

LEFT, RIGHT, TOP, ROW = 96, 40, 96, 34
COLOURS = {"ann": ("#e3f2fd", "#1e88e5"), "bob": ("#fff3e0", "#fb8c00")}


def draw(example: Example, width: int = 860) -> str:
    """Draws the time line of an example, with the elements above and the windows and their results below."""
    firings, late = run(example)
    points = [(e, n if example.by_arrival else e[1]) for n, e in enumerate(example.events, 1)]
    last = max([x for _, x in points] + [w for f in firings for w in (*f.window, f.at)]) + 1
    first = min([0, *(f.window[0] for f in firings)])
    scale = (width - LEFT - RIGHT) / (last - first)

    def x(time: float) -> float:
        return round(LEFT + (time - first) * scale, 1)

    keys = sorted({e[0] for e in example.events})
    lines: list[str] = []
    y = TOP
    for key in keys:
        fill, edge = COLOURS[key]
        lines.append(_text(LEFT - 14, y + 5, key, anchor="end", weight="bold"))
        lines.append(f'<line x1="{x(first)}" y1="{y}" x2="{x(last)}" y2="{y}" stroke="#bdbdbd"/>')
        for event, position in points:
            if event[0] == key:
                dropped = event in late
                lines.append(
                    _dot(x(position), y, str(event[2]), "#ffffff" if dropped else fill, "#c62828" if dropped else edge)
                )
        y += ROW
    y += 6
    lines += _axis(example, x, first, last, y)
    y += 44
    for (key, window), fired in _by_window(firings):
        fill, edge = COLOURS[key]
        start, end = (window[0] - 0.35, window[1] + 0.35) if example.by_arrival else window
        box = f'x="{x(start)}" y="{y - 11}" width="{round(x(end) - x(start), 1)}" height="22" rx="5"'
        lines.append(f'<rect {box} fill="{fill}" stroke="{edge}"/>')
        name = f"{key}" if example.by_arrival else f"{key} [{window[0]}, {window[1]})"
        lines.append(_text(x(start) + 8, y + 4, name, size=11))
        for firing in fired:
            lines.append(
                _dot(x(firing.at + (0.35 if example.by_arrival else 0)), y, firing.text, edge, edge, "#ffffff")
            )
        y += ROW
    return _page(example, lines, width, y)


def _by_window(firings: list[Firing]) -> list[tuple[tuple[str, tuple[int, int]], list[Firing]]]:
    windows: dict[tuple[str, tuple[int, int]], list[Firing]] = {}
    for firing in firings:
        windows.setdefault((firing.key, firing.window), []).append(firing)
    return sorted(windows.items(), key=lambda item: (item[0][1], item[0][0]))


def _axis(example: Example, x: Callable[[float], float], first: int, last: int, y: float) -> list[str]:
    lines = [f'<line x1="{x(first)}" y1="{y}" x2="{x(last)}" y2="{y}" stroke="#424242"/>']
    step = 1 if example.by_arrival else 5
    for tick in range(first - first % step, last + 1, step):
        if tick >= first:
            lines.append(f'<line x1="{x(tick)}" y1="{y - 3}" x2="{x(tick)}" y2="{y + 3}" stroke="#424242"/>')
            lines.append(_text(x(tick), y + 18, str(tick), size=11, anchor="middle", colour="#616161"))
    lines.append(
        _text(
            LEFT - 14,
            y + 18,
            "element no." if example.by_arrival else "event time",
            size=11,
            anchor="end",
            colour="#616161",
        )
    )
    return lines


def _dot(x: float, y: float, text: str, fill: str, edge: str, colour: str = "#212121") -> str:
    circle = f'<circle cx="{x}" cy="{y}" r="10" fill="{fill}" stroke="{edge}" stroke-width="1.5"/>'
    return circle + _text(x, y + 4, text, size=11, anchor="middle", colour=colour)


def _text(
    x: float,
    y: float,
    text: str,
    size: int = 13,
    anchor: str = "start",
    colour: str = "#212121",
    weight: str = "normal",
) -> str:
    return (
        f'<text x="{x}" y="{y}" font-size="{size}" text-anchor="{anchor}" fill="{colour}" font-weight="{weight}">'
        f"{escape(text)}</text>"
    )


def _page(example: Example, lines: list[str], width: int, height: float) -> str:
    head = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img" '
        'aria-labelledby="t d" font-family="DejaVu Sans, Verdana, Helvetica, Arial, sans-serif">',
        f'<title id="t">{escape(example.title)}</title>',
        f'<desc id="d">{escape(example.note)}</desc>',
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
        _text(24, 30, example.title, size=16, weight="bold"),
        _text(24, 52, example.note, size=12, colour="#616161"),
    ]
    return "\n".join([*head, *lines, "</svg>", ""])


# -- the examples

BARS = "Circles are elements. Bars are windows of a key. Filled circles are results (sums), emitted at that watermark."
EXAMPLES = {
    "tumbling": Example("Tumbling windows of 10 s", BARS, lambda s: s.window(TumblingEventTimeWindows.of(10_000))),
    "sliding": Example(
        "Sliding windows of 10 s, one every 5 s", BARS, lambda s: s.window(SlidingEventTimeWindows.of(10_000, 5_000))
    ),
    "session": Example(
        "Session windows with a gap of 6 s", BARS, lambda s: s.window(EventTimeSessionWindows.with_gap(6_000))
    ),
    "count": Example(
        "Count windows of two elements per key",
        "The axis counts elements, not time. A window emits its sum when its last element arrives.",
        lambda s: s.count_window(2),
        by_arrival=True,
    ),
    "global": Example(
        "Global window with a CountTrigger of two",
        "All elements of a key are in one window. It fires for every second element, and keeps all elements.",
        lambda s: s.window(GlobalWindows.create()).trigger(CountTrigger.of(2)),
        by_arrival=True,
    ),
    "early": Example(
        "Tumbling windows of 10 s with a result every 4 s",
        BARS,
        lambda s: s.window(TumblingEventTimeWindows.of(10_000)).trigger(ContinuousEventTimeTrigger.of(4_000)),
        events=[("ann", 1, 2), ("ann", 3, 1), ("ann", 5, 4), ("ann", 7, 3), ("ann", 9, 1), ("ann", 13, 5)],
    ),
    "purging": Example(
        "Tumbling windows of 10 s with a result every 4 s, purged after each result",
        BARS,
        lambda s: s.window(TumblingEventTimeWindows.of(10_000)).trigger(
            PurgingTrigger.of(ContinuousEventTimeTrigger.of(4_000))
        ),
        events=[("ann", 1, 2), ("ann", 3, 1), ("ann", 5, 4), ("ann", 7, 3), ("ann", 9, 1), ("ann", 13, 5)],
    ),
    "late": Example(
        "Tumbling windows of 10 s with an allowed lateness of 5 s",
        "Elements arrive in the order 2, 4, 1, 5, 3. Element 1 is late, and its window fires again. Element 3 is too late.",
        lambda s: s.window(TumblingEventTimeWindows.of(10_000)).allowed_lateness(5_000),
        events=[("ann", 3, 2), ("ann", 12, 4), ("ann", 8, 1), ("ann", 19, 5), ("ann", 6, 3)],
    ),
}


def draw_all() -> dict[str, str]:
    """Returns the content of each picture by file name."""
    return {f"window-{name}.svg": draw(example) for name, example in EXAMPLES.items()}


if __name__ == "__main__":
    for name, content in draw_all().items():
        (IMAGES / name).write_text(content, encoding="utf-8")
        print(IMAGES / name)
