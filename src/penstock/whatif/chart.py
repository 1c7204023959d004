"""A chart of the differences between versions of a job, with one bar per sink and version."""

from __future__ import annotations

from html import escape

from penstock.whatif.comparison import Difference

_LEFT, _WIDTH, _BAR, _GAP = 250, 440, 22, 14
_PARTS = (("same", "#90a4ae"), ("only in the first", "#ef6c00"), ("only here", "#1e88e5"))


def comparison_chart(differences: list[Difference], first: str) -> str:
    """The chart as SVG. Each bar shows the rows that both versions have, only the first has, and only the other has."""
    largest = max((d.same + d.only_here + d.only_in_first for d in differences), default=0) or 1
    height = 84 + len(differences) * (_BAR + _GAP)
    title = f"Rows of each sink, compared with {first}"
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 920 {height}" width="920" height="{height}" role="img" '
        'font-family="DejaVu Sans, Verdana, Helvetica, Arial, sans-serif">',
        f'<rect width="920" height="{height}" fill="#ffffff"/>',
        f'<text x="20" y="30" font-size="16" font-weight="bold" fill="#212121">{escape(title)}</text>',
        *_legend(),
    ]
    for number, difference in enumerate(differences):
        parts += _row(difference, 80 + number * (_BAR + _GAP), largest)
    return "\n".join([*parts, "</svg>\n"])


def _legend() -> list[str]:
    parts = []
    x = 20
    for name, colour in _PARTS:
        parts.append(f'<rect x="{x}" y="45" width="12" height="12" fill="{colour}"/>')
        parts.append(f'<text x="{x + 18}" y="56" font-size="12" fill="#424242">{name}</text>')
        x += 40 + 7 * len(name)
    return parts


def _row(difference: Difference, y: int, largest: int) -> list[str]:
    label = _shortened(f"{difference.sink}, {difference.version}")
    parts = [
        f'<text x="{_LEFT - 10}" y="{y + 16}" font-size="12.5" text-anchor="end" fill="#212121">{escape(label)}</text>'
    ]
    x = float(_LEFT)
    for (_, colour), rows in zip(
        _PARTS, (difference.same, difference.only_in_first, difference.only_here), strict=True
    ):
        if rows:
            width = max(2.0, _WIDTH * rows / largest)
            parts.append(f'<rect x="{x:.1f}" y="{y}" width="{width:.1f}" height="{_BAR}" fill="{colour}"/>')
            x += width
    changes = ((difference.only_in_first, "-"), (difference.only_here, "+"))
    text = "equal" if difference.equal else " ".join(f"{sign}{rows:,}" for rows, sign in changes if rows)
    if difference.keys_differ:
        text += f", {difference.keys_differ:,} keys differ"
    parts.append(f'<text x="{x + 8:.1f}" y="{y + 16}" font-size="12" fill="#424242">{text}</text>')
    return parts


def _shortened(label: str, max_length: int = 34) -> str:
    return label if len(label) <= max_length else f"{label[: max_length - 1]}…"
