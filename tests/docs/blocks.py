"""The code blocks of the documents, and how they are run.

A fence's first line says what to do with it: `python` runs without Spark, `python spark` runs on it, `python fragment` is only
compiled. A fence `output` right behind a block is what that block must print. The blocks of one page share their names, as if
they were one program.
"""

from __future__ import annotations

import contextlib
import io
import re
import sys
import types
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
_FENCE = re.compile(r"^```([^\n`]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class Block:
    """One fence of a page."""

    page: Path
    line: int
    words: tuple[str, ...]
    text: str
    output: str | None = None

    @property
    def language(self) -> str:
        return self.words[0] if self.words else ""

    def has(self, word: str) -> bool:
        return word in self.words[1:]


def pages() -> list[Path]:
    return [ROOT / "README.md", ROOT / "ARCHITECTURE.md", *sorted((ROOT / "docs").rglob("*.md"))]


def blocks(page: Path) -> list[Block]:
    """The fences of a page; an `output` belongs to the block before it."""
    text = page.read_text(encoding="utf-8")
    found: list[Block] = []
    for match in _FENCE.finditer(text):
        line = text.count("\n", 0, match.start()) + 2
        block = Block(page, line, tuple(match.group(1).split()), match.group(2))
        if block.language == "output" and found:
            last = found[-1]
            found[-1] = Block(last.page, last.line, last.words, last.text, block.text)
        else:
            found.append(block)
    return found


def python_blocks(page: Path) -> list[Block]:
    return [b for b in blocks(page) if b.language == "python"]


@contextlib.contextmanager
def main_program(page: Path) -> Iterator[types.ModuleType]:
    """A main module of its own for a page: functions of main modules travel to workers whole."""
    module = types.ModuleType("__main__")
    module.__file__ = str(page)
    before = sys.modules["__main__"]
    sys.modules["__main__"] = module
    try:
        yield module
    finally:
        sys.modules["__main__"] = before


def run(block: Block, module: types.ModuleType) -> None:
    """Runs a block and compares what it prints."""
    # As many empty lines before the code as in the page: then an error names the page's own line.
    code = compile("\n" * (block.line - 1) + block.text, str(block.page), "exec")
    if block.has("fragment"):
        return
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(code, module.__dict__)
    if block.output is not None:
        place = f"{block.page.relative_to(ROOT)}:{block.line}"
        assert printed.getvalue().strip() == block.output.strip(), f"{place} prints something else"
