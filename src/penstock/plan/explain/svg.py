"""A job as an SVG image, with a column for each chain position and a band for each level."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from html import escape
from itertools import pairwise
from textwrap import wrap

from penstock.plan.explain.job_description import ExplainedEdge, ExplainedJob, ExplainedStep

_CHARACTER = 6.8  # width of a character of the small font
_LINE = 16
_MAX_LINE = 34  # characters in a line of a box
_GAP_X, _GAP_Y, _MARGIN, _TITLE, _HEAD = 96, 26, 24, 34, 30
_FILL = {"source": "#dff0e6", "step": "#ffffff", "operator": "#e3ebf8", "sink": "#f6e9dc"}
_INK, _SOFT, _BAND, _EDGE = "#1f2933", "#52606d", "#f4f6f8", "#7b8794"


@dataclass(eq=False)
class _Box:
    """The box of a step. A box without a step is a point that an arrow passes between other boxes."""

    column: int
    step: ExplainedStep | None = None
    lines: list[str] = field(default_factory=list)
    reads: list[_Box] = field(default_factory=list)
    x: float = 0
    y: float = 0
    width: float = 0

    @property
    def height(self) -> float:
        return 8 if self.step is None else _LINE * (1 + len(self.lines)) + 16

    @property
    def middle(self) -> float:
        return self.y + self.height / 2


@dataclass
class _Arrow:
    """The boxes that an arrow passes, including both ends."""

    edge: ExplainedEdge
    path: list[_Box]


def svg(job: ExplainedJob) -> str:
    """The image of a job."""
    boxes, arrows = _boxes(job), []
    for step in job.steps:
        for edge in step.inputs:
            arrows.append(_arrow(boxes[edge.source], boxes[step.id], edge))
    columns = _columns([*boxes.values(), *(box for arrow in arrows for box in arrow.path[1:-1])])
    _order(columns)
    width, height = _set_positions(columns)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" '
        f'height="{height:.0f}" font-family="Helvetica, Arial, sans-serif" font-size="12" fill="{_INK}">',
        '<defs><marker id="arrow" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" markerHeight="8" orient="auto">'
        f'<path d="M0 0 L8 4 L0 8 z" fill="{_EDGE}"/></marker></defs>',
        f'<rect width="{width:.0f}" height="{height:.0f}" fill="#ffffff"/>',
        f'<text x="{_MARGIN}" y="{_TITLE - 10}" font-size="16" font-weight="bold">{escape(job.name)}</text>',
        *_bands(job, boxes, height),
        *map(_draw_arrow, arrows),
        *(_draw_box(box, box.step) for box in boxes.values() if box.step is not None),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


# -- layout


def _boxes(job: ExplainedJob) -> dict[int, _Box]:
    """A box for each step: levels from left to right, and chain positions within a level."""
    boxes: dict[int, _Box] = {}
    first = 0
    for level in range(job.depth + 1):
        steps = job.at(level)
        boxes |= {s.id: _Box(first + s.chain_position, s, _lines(s)) for s in steps}
        first += 1 + max((s.chain_position for s in steps), default=0)
    return boxes


def _lines(step: ExplainedStep) -> list[str]:
    texts = [f"uid {step.uid}" if step.uid else "", *step.details(), step.line]
    return [line for text in texts if text for line in wrap(text, _MAX_LINE, break_long_words=True)]


def _arrow(source: _Box, target: _Box, edge: ExplainedEdge) -> _Arrow:
    path = [source, *(_Box(column) for column in range(source.column + 1, target.column)), target]
    for before, after in pairwise(path):
        after.reads.append(before)
    return _Arrow(edge, path)


def _columns(boxes: list[_Box]) -> list[list[_Box]]:
    columns: list[list[_Box]] = [[] for _ in range(1 + max((b.column for b in boxes), default=-1))]
    for box in boxes:
        columns[box.column].append(box)
    return columns


def _order(columns: list[list[_Box]]) -> None:
    """Orders the boxes of each column like the boxes that they read, so that few arrows cross."""
    rank: dict[int, float] = {}
    for column in columns:
        ranks = {id(b): _mean([rank[id(r)] for r in b.reads], float(n)) for n, b in enumerate(column)}
        column.sort(key=lambda box: ranks[id(box)])
        rank |= {id(box): number for number, box in enumerate(column)}


def _mean(numbers: list[float], otherwise: float) -> float:
    return sum(numbers) / len(numbers) if numbers else otherwise


def _set_positions(columns: list[list[_Box]]) -> tuple[float, float]:
    """Sets the position of each box, if possible next to the boxes that it reads. Returns the size of the image."""
    x: float = _MARGIN
    for column in columns:
        longest = max((len(line) for b in column if b.step for line in (*b.lines, f"{b.step.name} ")), default=0)
        width = max(100.0, longest * _CHARACTER + 24)
        free = float("-inf")
        for box in column:
            preferred = _mean([b.middle for b in box.reads], 0.0) - box.height / 2
            box.x, box.width = x, width
            box.y = max(free, preferred)
            free = box.y + box.height + _GAP_Y
        x += width + _GAP_X
    boxes = [box for column in columns for box in column]
    top = min((box.y for box in boxes), default=0.0)
    for box in boxes:
        box.y += _TITLE + _HEAD - top
    bottom = max((box.y + box.height for box in boxes), default=float(_TITLE + _HEAD))
    return max(x - _GAP_X + _MARGIN, 320), bottom + _MARGIN


# -- drawing


def _bands(job: ExplainedJob, boxes: dict[int, _Box], height: float) -> Iterator[str]:
    for level in range(job.depth + 1):
        level_boxes = [boxes[s.id] for s in job.at(level)]
        if not level_boxes:
            continue
        left = min(b.x for b in level_boxes) - 14
        right = max(b.x + b.width for b in level_boxes) + 14
        yield (
            f'<rect x="{left:.0f}" y="{_TITLE}" width="{right - left:.0f}" height="{height - _TITLE - 10:.0f}" rx="8" '
            f'fill="{_BAND}"/><text x="{left + 10:.0f}" y="{_TITLE + 18}" fill="{_SOFT}">level {level}</text>'
        )


def _draw_arrow(arrow: _Arrow) -> str:
    first, last = arrow.path[0], arrow.path[-1]
    path = f"M{first.x + first.width:.0f} {first.middle:.0f}"
    for before, after in pairwise(arrow.path):
        x1, x2 = before.x + before.width, after.x
        path += f" C{x1 + _GAP_X / 2:.0f} {before.middle:.0f} {x2 - _GAP_X / 2:.0f} {after.middle:.0f} {x2:.0f} {after.middle:.0f}"
        if after is not last:
            path += f" L{after.x + after.width:.0f} {after.middle:.0f}"
    drawn = f'<path d="{path}" fill="none" stroke="{_EDGE}" stroke-width="1.5" marker-end="url(#arrow)"/>'
    if str(arrow.edge) == "forward":
        return drawn
    before = arrow.path[-2]
    x, y = (before.x + before.width + last.x) / 2, (before.middle + last.middle) / 2
    return drawn + "".join(
        f'<text x="{x:.0f}" y="{y - 6 - 13 * number:.0f}" text-anchor="middle" font-size="11" fill="{_SOFT}" stroke="#ffffff" '
        f'stroke-width="3" paint-order="stroke">'
        f"{escape(part)}</text>"
        for number, part in enumerate(reversed(wrap(str(arrow.edge), 14)))
    )


def _draw_box(box: _Box, step: ExplainedStep) -> str:
    head = (
        f'<rect x="{box.x:.0f}" y="{box.y:.0f}" width="{box.width:.0f}" height="{box.height:.0f}" rx="6" '
        f'fill="{_FILL[step.kind]}" stroke="{_EDGE}"/>'
        f'<text x="{box.x + 12:.0f}" y="{box.y + 21:.0f}" font-weight="bold">{escape(step.name)}</text>'
    )
    lines = "".join(
        f'<text x="{box.x + 12:.0f}" y="{box.y + 21 + _LINE * (number + 1):.0f}" fill="{_SOFT}">{escape(line)}</text>'
        for number, line in enumerate(box.lines)
    )
    return head + lines
