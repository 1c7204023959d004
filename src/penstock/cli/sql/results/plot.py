"""Numbers of a result over time, as lines."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime
from typing import Any

from rich.text import Text

from penstock.cli.sql.client_options import ClientOptions
from penstock.cli.sql.results.canvas import Canvas
from penstock.cli.sql.results.cells import Cells, kind_of
from penstock.errors import SqlValidationError
from penstock.table.environment.answer import Answer
from penstock.types.logical.kinds import (
    BooleanType,
    CharType,
    DateType,
    DecimalType,
    FloatType,
    IntegerType,
    TimestampType,
)

STYLES = ("cyan", "yellow", "green", "magenta", "red", "blue")
_MAX_HEIGHT = 20
_LABEL = 10  # columns left of the picture
_OTHERS = 3  # lines that are not part of the picture


class PlotView:
    """One line per numeric column, and per value of the columns of texts.

    The horizontal axis is the first DATE or TIMESTAMP column. If there is none, it is the time since the query began.
    """

    def __init__(self, answer: Answer, options: ClientOptions, clock: Callable[[], float] = time.monotonic) -> None:
        fields = answer.row_type.fields
        self.changes = 0
        self._numbers = [i for i, f in enumerate(fields) if isinstance(f.type, IntegerType | FloatType | DecimalType)]
        if not self._numbers:
            raise SqlValidationError(
                "SQL_PLOT",
                "The result has no numeric column. SET 'sql-client.execution.result-mode' = 'table' shows it.",
            )
        self._times = [i for i, f in enumerate(fields) if isinstance(f.type, TimestampType | DateType)][:1]
        self._groups = [i for i, f in enumerate(fields) if isinstance(f.type, CharType | BooleanType)]
        self._names = [field.name for field in fields]
        self._cells = Cells(answer, options.zone)
        self._max_points = options.max_rows
        self._clock, self._began = clock, clock()
        self.series: dict[str, dict[float, float]] = {}

    def add(self, row: Any) -> None:
        self.changes += 1
        removed = kind_of(row) in ("-U", "-D")
        if removed and not self._times:
            return  # the past stays as it was
        x = _seconds(row[self._times[0]]) if self._times else self._clock() - self._began
        if x is None:
            return
        texts = self._cells.texts(row)
        group = " ".join(texts[i] for i in self._groups)
        for i in self._numbers:
            name = f"{group} {self._names[i]}".strip() if len(self._numbers) > 1 or not group else group
            points = self.series.setdefault(name, {})
            if removed or row[i] is None:
                points.pop(x, None)
            else:
                points[x] = float(row[i])
                if len(points) > self._max_points:
                    del points[next(iter(points))]

    def lines(self, width: int, height: int) -> list[Text]:
        shown = [(name, sorted(points.items())) for name, points in self.series.items() if points][: len(STYLES)]
        if not shown:
            return [Text("no numbers yet", style="dim")]
        label = _time_label if self._times else _seconds_label
        return plot_lines(shown, width, min(height - _OTHERS, _MAX_HEIGHT), label)

    def hidden(self, height: int) -> str:
        more = len(self.series) - len(STYLES)
        return f"{more:,} more lines are not shown" if more > 0 else ""


def plot_lines(
    series: Sequence[tuple[str, list[tuple[float, float]]]],
    width: int,
    height: int,
    label: Callable[[float], str],
) -> list[Text]:
    """Draws named lines with axes and a legend."""
    canvas = Canvas(max(width - _LABEL - 2, 10), max(height, 3))
    xs = [x for _, points in series for x, _ in points]
    ys = [y for _, points in series for _, y in points]
    low, high, first, last = min(ys), max(ys), min(xs), max(xs)
    if low == high:
        low, high = low - 1, high + 1

    def place(x: float, y: float) -> tuple[int, int]:
        across = 0.0 if last == first else (x - first) / (last - first)
        return round(across * (canvas.dots_wide - 1)), round((high - y) / (high - low) * (canvas.dots_high - 1))

    for number, (_, points) in enumerate(series):
        before = place(*points[0])
        for point in points:
            after = place(*point)
            canvas.line(*before, *after, STYLES[number])
            before = after
    drawn = canvas.lines()
    labels = {0: high, len(drawn) // 2: (high + low) / 2, len(drawn) - 1: low}
    lines = [
        Text(f"{_number(labels[n]) if n in labels else '':>{_LABEL}} {'┤' if n in labels else '│'}") + line
        for n, line in enumerate(drawn)
    ]
    left, right = label(first), label(last)
    blank = max(len(drawn[0].plain) - len(left) - len(right), 1)
    lines.append(Text(f"{'':>{_LABEL}} └{'─' * len(drawn[0].plain)}"))
    lines.append(Text(f"{'':>{_LABEL + 2}}{left}{' ' * blank}{right}"))
    legend = Text(" " * (_LABEL + 2))
    for number, (name, points) in enumerate(series):
        legend.append("━ ", style=STYLES[number])
        legend.append(f"{name} {_number(points[-1][1])}  ")
    return [*lines, legend]


def _seconds(value: Any) -> float | None:
    if isinstance(value, datetime):
        return (value if value.tzinfo is not None else value.replace(tzinfo=UTC)).timestamp()
    if isinstance(value, date):
        return datetime(value.year, value.month, value.day, tzinfo=UTC).timestamp()
    return None


def _time_label(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S")


def _seconds_label(seconds: float) -> str:
    return f"{seconds:.1f} s"


def _number(value: float) -> str:
    text = f"{value:,.0f}" if value == round(value) and abs(value) < 1e7 else f"{value:.4g}"
    return text[:_LABEL]
