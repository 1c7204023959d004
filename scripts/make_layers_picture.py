"""Draws docs/images/layers.svg from the layers contract in pyproject.toml and the docstrings of the packages.

python scripts/make_layers_picture.py          writes it
python scripts/make_layers_picture.py --check  exits with 1 if it is out of date
"""

from __future__ import annotations

import ast
import sys
import textwrap
import tomllib
from pathlib import Path
from xml.sax.saxutils import escape

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "src" / "penstock"
PICTURE = ROOT / "docs" / "images" / "layers.svg"
WIDTH, LEFT, TOP, HEIGHT, GAP = 920, 20, 64, 50, 8
COLOURS = {  # by what a layer is for
    "interface": ("#e8eaf6", "#5c6bc0", {"cli", "ui", "server", "whatif", "state_processor"}),
    "engines": ("#e3f2fd", "#1e88e5", {"spark", "testing", "local", "devservers", "jobs", "savepoints"}),
    "programs": ("#e8f5e9", "#43a047", {"engine", "plan", "runtime"}),
    "API": ("#fff8e1", "#fb8c00", set()),
}


def rows() -> list[list[str]]:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"][
        "contracts"
    ]
    layers = [[name.strip(" ()") for name in layer.split("|")] for layer in contracts[0]["layers"]]
    return [[n for n in names if _source(n) is not None] for names in layers if any(_source(n) for n in names)]


def _source(name: str) -> Path | None:
    return next((p for p in (PACKAGE / name / "__init__.py", PACKAGE / f"{name}.py") if p.exists()), None)


def summary(name: str) -> str:
    """First sentence of the docstring of a package or module."""
    source = _source(name)
    assert source is not None
    text = " ".join((ast.get_docstring(ast.parse(source.read_text(encoding="utf-8"))) or "").split("\n\n")[0].split())
    return text.split(". ")[0].rstrip(".")


def picture() -> str:
    layers = rows()
    height = TOP + len(layers) * (HEIGHT + GAP) + 10
    names_of_layers = "; ".join(" beside ".join(names) for names in layers)
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" role="img"'
        ' aria-labelledby="t d" font-family="DejaVu Sans, Verdana, Helvetica, Arial, sans-serif">',
        '  <title id="t">The layers of Penstock</title>',
        f'  <desc id="d">From top to bottom: {names_of_layers}. Imports go downwards only.</desc>',
        f'  <rect width="{WIDTH}" height="{height}" fill="#ffffff"/>',
        f'  <text x="{LEFT}" y="28" font-size="17" font-weight="bold" fill="#212121">The layers of src/penstock</text>',
        f'  <text x="{LEFT}" y="49" font-size="12.5" fill="#616161">'
        "Imports go downwards only. Packages side by side do not import each other.</text>",
    ]
    for row, names in enumerate(layers):
        width = (WIDTH - 2 * LEFT - GAP * (len(names) - 1)) / len(names)
        for column, name in enumerate(names):
            lines += _box(name, LEFT + column * (width + GAP), TOP + row * (HEIGHT + GAP), width)
    return "\n".join([*lines, "</svg>", ""])


def _box(name: str, x: float, y: float, width: float) -> list[str]:
    fill, stroke = next(((f, s) for f, s, names in COLOURS.values() if name in names), COLOURS["API"][:2])
    text = textwrap.shorten(summary(name), int(width / 6.3), placeholder=" …")
    middle = x + width / 2
    return [
        f'  <rect x="{x:g}" y="{y}" width="{width:g}" height="{HEIGHT}" rx="6" fill="{fill}" stroke="{stroke}"/>',
        f'  <text x="{middle:g}" y="{y + 21}" font-size="14.5" font-weight="bold" text-anchor="middle" fill="#212121">'
        f"{name}</text>",
        f'  <text x="{middle:g}" y="{y + 38}" font-size="11" text-anchor="middle" fill="#424242">{escape(text)}</text>',
    ]


def main(arguments: list[str]) -> int:
    drawn = picture()
    if "--check" in arguments:
        if PICTURE.read_text(encoding="utf-8") != drawn:
            print("docs/images/layers.svg is out of date: run scripts/make_layers_picture.py", file=sys.stderr)
            return 1
        return 0
    PICTURE.write_text(drawn, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
