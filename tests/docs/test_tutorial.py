"""Follows the first tutorial step by step: writes its files and runs its commands."""

from __future__ import annotations

import ast
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.docs.blocks import ROOT, blocks

pytestmark = [pytest.mark.spark, pytest.mark.long]

PAGE = ROOT / "docs" / "tutorials" / "first-job.md"
INSTALL = ("make setup", ". .venv/bin/activate", "mkdir first-job", "cd first-job")  # done by who runs the tests


class Terminal:
    """A shell in a temporary folder, with the environment of the tests."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._environment = {
            **os.environ,
            "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]),
            "PENSTOCK_OPTIONS": '{"spark.master": "local[2]"}',
            "PENSTOCK_HOME": str(folder / "home"),
            "PYTHONUNBUFFERED": "1",  # as in a terminal
        }
        self.endless: list[list[str]] = []  # what each run of the endless job printed

    def start(self, line: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            ["sh", "-c", f"exec {line}"],
            cwd=self._folder,
            env=self._environment,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    def type(self, line: str) -> str:
        """Runs a command and returns its output."""
        process = self.start(line)
        printed, errors = process.communicate(timeout=300)
        assert process.returncode == 0, f"{line}\n{errors}"
        return printed

    def type_and_end(self, line: str, end: signal.Signals) -> None:
        """Runs the endless job until it has printed some lines, then sends it a signal."""
        out = self._folder / f"out-{len(self.endless)}"
        process = self.start(f"{line} > {out}")
        _wait(lambda: out.exists() and len(out.read_text().splitlines()) >= 10, process)
        process.send_signal(end)
        _, errors = process.communicate(timeout=120)
        if end is signal.SIGINT:
            assert "penstock: resume with: penstock resume " in errors
        self.endless.append(out.read_text().splitlines())


def _wait(until: Callable[[], bool], process: subprocess.Popen[str]) -> None:
    deadline = time.monotonic() + 180
    while not until():
        assert process.poll() is None, process.communicate()[1]
        assert time.monotonic() < deadline
        time.sleep(0.2)


def test_the_tutorial(tmp_path: Path) -> None:
    terminal = Terminal(tmp_path)
    outputs = {b.file: b.output for b in blocks(PAGE) if b.file}
    for block in blocks(PAGE):
        if block.file:
            (tmp_path / block.file).write_text(block.text)
        for line in block.text.splitlines() if block.language == "sh" else []:
            if line in INSTALL:
                continue
            if "clicks" in line:
                terminal.type_and_end(line, signal.SIGINT if "resume" in line else signal.SIGKILL)
                continue
            printed = terminal.type(line)
            if line.startswith("penstock run "):
                # In which order the lines come is checked where the blocks are run.
                expected = outputs[line.split()[2]] or ""
                assert sorted(printed.splitlines()) == sorted(expected.splitlines()), line
            elif "pytest" in line:
                assert "1 passed" in printed

    killed, resumed = ([ast.literal_eval(line) for line in lines] for lines in terminal.endless)
    for page in {page for page, _ in killed + resumed}:
        counts = {count for p, count in killed + resumed if p == page}  # the last batch may be printed twice
        assert sorted(counts) == list(range(1000, max(counts) + 1, 1000)), page
        assert max(count for p, count in resumed if p == page) > max(count for p, count in killed if p == page)
