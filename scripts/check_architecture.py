"""Checks that ARCHITECTURE.md describes the code as it is.

- Each Mermaid diagram has at most ten files. Each node names an existing file below src/penstock. Each solid arrow `a --> b` means
  that module a imports module b. Dotted arrows are not checked: there is no import.
- The list of layers equals the contract in pyproject.toml.
- Each path in backticks exists, in the repository or below src/penstock.

Run by `make check`. Prints one line per problem and exits with 1 if there is any.
"""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import grimp

ROOT = Path(__file__).resolve().parent.parent
DOCUMENT = ROOT / "ARCHITECTURE.md"
PACKAGE = ROOT / "src" / "penstock"
MOST_FILES = 10
_DIAGRAM = re.compile(r"```mermaid\n(.*?)```", re.DOTALL)
_LAYERS = re.compile(r"<!-- layers -->\n```text\n(.*?)```", re.DOTALL)
_NODE = re.compile(r'(\w+)\["([\w/]+\.py)')
_ARROW = re.compile(r"(\w+) -->(?:\|[^|]*\|)? (\w+)")
_PATH = re.compile(r"`([\w.-]+(?:/[\w.-]*)+|[\w-]+\.py)`")


def diagram_problems(diagram: str, graph: grimp.ImportGraph) -> Iterator[str]:
    files = dict(_NODE.findall(diagram))
    title = next(iter(files.values()), "?")
    if len(files) > MOST_FILES:
        yield f"the diagram with {title} has {len(files)} files, more than {MOST_FILES}"
    for file in files.values():
        if not (PACKAGE / file).exists():
            yield f"the diagram with {title} names {file}, which does not exist"
            return
    for start, end in _ARROW.findall(diagram):
        if start in files and end in files:
            importer, imported = _module(files[start]), _module(files[end])
            if imported not in graph.find_modules_directly_imported_by(importer):
                yield f"the diagram with {title} has an arrow, but {importer} does not import {imported}"


def layer_problems(text: str) -> Iterator[str]:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"][
        "contracts"
    ]
    expected = [re.sub(r"[()]", "", layer) for layer in contracts[0]["layers"]]
    listed = [line.strip() for line in "".join(_LAYERS.findall(text)).splitlines()]
    if listed != expected:
        yield f"the list of layers is {listed}, but pyproject.toml has {expected}"


def path_problems(text: str) -> Iterator[str]:
    for path in sorted(set(_PATH.findall(text))):
        in_checkpoint = path.startswith("penstock/")
        if not in_checkpoint and not any((folder / path).exists() for folder in (ROOT, PACKAGE)):
            yield f"{path} does not exist"


def _module(file: str) -> str:
    return "penstock." + file.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def main() -> int:
    text = DOCUMENT.read_text(encoding="utf-8")
    graph = grimp.build_graph("penstock")
    problems = [p for diagram in _DIAGRAM.findall(text) for p in diagram_problems(diagram, graph)]
    problems += [*layer_problems(text), *path_problems(_DIAGRAM.sub("", text))]
    for problem in problems:
        print(f"ARCHITECTURE.md: {problem}", file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
