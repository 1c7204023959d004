"""The tutorial with all layers prints what the page shows."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.sql_pages import ROOT, Step, steps

PAGE = ROOT / "docs" / "tutorials" / "all-layers.md"


def _run(folder: Path, *options: str) -> tuple[str, str]:
    """Writes the files of the page and runs its last command. Returns what it prints and what the page says."""
    last: Step | None = None
    for step in steps(PAGE):
        if step.file:
            (folder / step.file).write_text(step.text, encoding="utf-8")
        last = step
    assert last is not None
    words = last.text.split()[1:]
    program = [str(Path(sys.executable).parent / "penstock"), words[0], *options, words[-1]]
    environment = os.environ | {"PENSTOCK_HOME": str(folder / "home")}
    done = subprocess.run(program, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout, last.expected or ""


def test_the_local_engine(tmp_path: Path) -> None:
    printed, expected = _run(tmp_path, "--local")
    assert printed == expected


@pytest.mark.spark
@pytest.mark.long
def test_spark(tmp_path: Path) -> None:
    printed, expected = _run(tmp_path)
    assert printed == expected
