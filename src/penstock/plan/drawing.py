"""A job as an SVG picture: a column for each place in a chain, a shaded band for each level."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from textwrap import wrap

from penstock.plan.explained import Edge, ExplainedJob, Step

_LETTER = 6.6  # width of a letter of the small font
_LINE = 16
_LONGEST = 34  # letters in a line of a box
_GAP_X, _GAP_Y, _MARGIN, _TITLE, _HEAD = 110, 28, 24, 34, 30
_FILL = {"source": "#dff0e6", "step": "#ffffff", "operator": "#e3ebf8", "sink": "#f6e9dc"}
_INK, _SOFT, _BAND, _EDGE = "#1f2933", "#52606d", "#f4f6f8", "#7b8794"


@dataclass
class _Box:
    step: Step
    lines: list[str]
    column: int
    x: float = 0
    y: float = 0
    width: float = 0

    @property
    def height(self) -> float:
        return _LINE * (1 + len(self.lines)) + 16

    @property
    def middle(self) -> float:
        return self.y + self.height / 2


def svg(job: ExplainedJob) -> str:
    """The picture."""
    columns = _columns(job)
    _order(job, columns)
    width, height = _place(columns)
    boxes = {box.step.id: box for column in columns for box in column}
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" '
        f'height="{height:.0f}" font-family="Helvetica, Arial, sans-serif" font-size="12" fill="{_INK}">',
        '<defs><marker id="arrow" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" markerHeight="8" orient="auto">'
        f'<path d="M0 0 L8 4 L0 8 z" fill="{_EDGE}"/></marker></defs>',
        f'<rect width="{width:.0f}" height="{height:.0f}" fill="#ffffff"/>',
        f'<text x="{_MARGIN}" y="{_TITLE - 10}" font-size="16" font-weight="bold">{escape(job.name)}</text>',
        *_bands(job, boxes, height),
        *(_arrow(boxes[edge.source], boxes[step.id], edge) for step in job.steps for edge in step.inputs),
        *(_drawn(box) for box in boxes.values()),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _columns(job: ExplainedJob) -> list[list[_Box]]:
    """Boxes by column: the levels from left to right, and the places of chains within each."""
    columns: list[list[_Box]] = []
    for level in range(job.depth + 1):
        first = len(columns)
        steps = job.at(level)
        columns += [[] for _ in range(1 + max((s.place for s in steps), default=0))]
        for step in steps:
            columns[first + step.place].append(_Box(step, _lines(step), first + step.place))
    return columns


def _lines(step: Step) -> list[str]:
    said = [f"uid {step.uid}", *step.details(), step.line]
    return [line for text in said if text for line in wrap(text, _LONGEST, break_long_words=True)]


def _order(job: ExplainedJob, columns: list[list[_Box]]) -> None:
    """Puts each box near the boxes that it reads, so that few arrows cross."""
    rank: dict[int, float] = {}
    for column in columns:
        for box in column:
            above = [rank[e.source] for e in box.step.inputs if e.source in rank]
            rank[box.step.id] = sum(above) / len(above) if above else len(rank)
        column.sort(key=lambda box: rank[box.step.id])
        for number, box in enumerate(column):
            rank[box.step.id] = number


def _place(columns: list[list[_Box]]) -> tuple[float, float]:
    """Gives each box its place; gives the size of the picture."""
    heights = [sum(box.height + _GAP_Y for box in column) - _GAP_Y for column in columns]
    tallest = max(heights, default=0)
    x: float = _MARGIN
    for column, height in zip(columns, heights, strict=True):
        longest = max((len(line) for box in column for line in (*box.lines, f"{box.step.name} ")), default=0)
        width = max(110.0, longest * _LETTER + 24)
        y = _TITLE + _HEAD + (tallest - height) / 2
        for box in column:
            box.x, box.y, box.width = x, y, width
            y += box.height + _GAP_Y
        x += width + _GAP_X
    return max(x - _GAP_X + _MARGIN, 320), _TITLE + _HEAD + tallest + _MARGIN


def _bands(job: ExplainedJob, boxes: dict[int, _Box], height: float) -> Iterator[str]:
    for level in range(job.depth + 1):
        of_level = [boxes[s.id] for s in job.at(level)]
        if not of_level:
            continue
        left = min(b.x for b in of_level) - 14
        right = max(b.x + b.width for b in of_level) + 14
        yield (
            f'<rect x="{left:.0f}" y="{_TITLE}" width="{right - left:.0f}" height="{height - _TITLE - 10:.0f}" rx="8" '
            f'fill="{_BAND}"/><text x="{left + 10:.0f}" y="{_TITLE + 18}" fill="{_SOFT}">level {level}</text>'
        )


def _arrow(source: _Box, target: _Box, edge: Edge) -> str:
    x1, y1, x2, y2 = source.x + source.width, source.middle, target.x, target.middle
    bend = max(30.0, (x2 - x1) / 2)
    path = (
        f'<path d="M{x1:.0f} {y1:.0f} C{x1 + bend:.0f} {y1:.0f} {x2 - bend:.0f} {y2:.0f} {x2:.0f} {y2:.0f}" fill="none" '
        f'stroke="{_EDGE}" stroke-width="1.5" marker-end="url(#arrow)"/>'
    )
    label = str(edge)
    if label == "forward":
        return path
    texts = "".join(
        f'<text x="{(x1 + x2) / 2:.0f}" y="{(y1 + y2) / 2 - 6 - 13 * number:.0f}" text-anchor="middle" font-size="11" '
        f'fill="{_SOFT}">{escape(part)}</text>'
        for number, part in enumerate(reversed(wrap(label, 18)))
    )
    return path + texts


def _drawn(box: _Box) -> str:
    head = (
        f'<rect x="{box.x:.0f}" y="{box.y:.0f}" width="{box.width:.0f}" height="{box.height:.0f}" rx="6" '
        f'fill="{_FILL[box.step.kind]}" stroke="{_EDGE}"/>'
        f'<text x="{box.x + 12:.0f}" y="{box.y + 21:.0f}" font-weight="bold">{escape(box.step.name)}</text>'
    )
    lines = "".join(
        f'<text x="{box.x + 12:.0f}" y="{box.y + 21 + _LINE * (number + 1):.0f}" fill="{_SOFT}">{escape(line)}</text>'
        for number, line in enumerate(box.lines)
    )
    return head + lines
