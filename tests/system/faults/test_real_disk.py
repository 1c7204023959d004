"""The whole store fails at once, for Spark and for our own files: a file system that is full, read-only, or taken away."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.faults.real_disk import NO_NAMESPACE


@pytest.mark.long
@pytest.mark.spark
def test_a_small_file_system(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tests.faults.real_disk", str(tmp_path)]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, cwd=Path(__file__).parents[2], timeout=600
    )
    if done.returncode == NO_NAMESPACE:
        pytest.skip("no namespace of mounts can be made here")
    assert done.stdout.endswith("RIGHT\n"), done.stdout + done.stderr
    waits = done.stdout.splitlines()
    assert "No space left on device" in waits[0]
    assert "Read-only file system" in waits[1]
    assert "is not there" in waits[2]
