"""Extracts and runs the code blocks of the documentation.

A fence's first line says what to do with it: `python` runs without Spark, `python spark` runs on it, `python fragment` is only
compiled. A fence `output` right behind a block is what that block must print; behind a block of commands, what the program before
it must print. The blocks of one page share their names, as if they were one program. With `file=orders.py` a block is also written
to that file, where later blocks can import it; the tests in a file `test_...` are called.
"""

from __future__ import annotations

import contextlib
import dataclasses
import io
import os
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

    @property
    def file(self) -> str | None:
        """The file to which the reader writes the block."""
        return next((word.removeprefix("file=") for word in self.words if word.startswith("file=")), None)

    def has(self, word: str) -> bool:
        return word in self.words[1:]


def pages() -> list[Path]:
    return [ROOT / "README.md", ROOT / "ARCHITECTURE.md", *sorted((ROOT / "docs").rglob("*.md"))]


def blocks(page: Path) -> list[Block]:
    """The fences of a page; an `output` belongs to the block before it, or to the program that this block runs."""
    text = page.read_text(encoding="utf-8")
    found: list[Block] = []
    for match in _FENCE.finditer(text):
        line = text.count("\n", 0, match.start()) + 2
        block = Block(page, line, tuple(match.group(1).split()), match.group(2))
        if block.language == "output" and found:
            at = next((i for i, b in reversed(list(enumerate(found))) if b.language != "sh"), -1)
            found[at] = dataclasses.replace(found[at], output=block.text)
        else:
            found.append(block)
    return found


def python_blocks(page: Path) -> list[Block]:
    return [b for b in blocks(page) if b.language == "python"]


@contextlib.contextmanager
def main_program(page: Path) -> Iterator[types.ModuleType]:
    """Returns a separate main module for a page. Functions of a main module are pickled by value."""
    module = types.ModuleType("__main__")
    module.__file__ = str(page)
    modules, path = dict(sys.modules), list(sys.path)
    sys.modules["__main__"] = module
    sys.path.insert(0, os.getcwd())  # for the files that blocks are written to
    try:
        yield module
    finally:
        sys.path[:] = path
        sys.modules["__main__"] = modules["__main__"]
        for block in blocks(page):
            if block.file and (name := Path(block.file).stem) not in modules:
                sys.modules.pop(name, None)


def run(block: Block, module: types.ModuleType) -> None:
    """Runs a block and compares what it prints."""
    # As many empty lines before the code as in the page: then an error names the page's own line.
    code = compile("\n" * (block.line - 1) + block.text, str(block.page), "exec")
    if block.file:
        Path(block.file).write_text(block.text, encoding="utf-8")
    if block.has("fragment"):
        return
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(code, module.__dict__)
        if block.file and block.file.startswith("test_"):
            for name in [n for n in module.__dict__ if n.startswith("test_")]:
                module.__dict__[name]()
    if block.output is not None:
        place = f"{block.page.relative_to(ROOT)}:{block.line}"
        assert printed.getvalue().strip() == block.output.strip(), f"{place} prints something else"
