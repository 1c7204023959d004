"""Property tests with few examples in `make test` run here with many, which are new in each run."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.example_numbers import FACTOR
from tests.locations import ROOT

FILES = (
    "tests/unit/datastream/test_join_properties.py",
    "tests/unit/runtime/columnar/test_same_results.py",
    "tests/unit/runtime/state/test_properties.py",
    "tests/unit/runtime/windows/test_window_random.py",
)


@pytest.mark.long
@pytest.mark.parametrize("file", FILES)
def test_properties_hold_for_many_examples(file: str) -> None:
    command = [sys.executable, "-m", "pytest", "-q", "--hypothesis-profile=random", file]
    done = subprocess.run(command, cwd=ROOT, env={**os.environ, FACTOR: "10"}, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr


def test_the_files_use_the_number() -> None:
    """A file that does not would run again with the same number of examples."""
    assert [file for file in FILES if "examples(" not in (ROOT / file).read_text()] == []
