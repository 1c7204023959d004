"""The complete storage fails, for Spark and for Penstock: a file system that is full, read-only, or unmounted."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.locations import ROOT
from tests.system.faults.real_disk import NO_NAMESPACE


@pytest.mark.long
@pytest.mark.spark
def test_a_small_file_system(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tests.system.faults.real_disk", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT, timeout=600)
    if done.returncode == NO_NAMESPACE:
        pytest.skip("mount namespaces are not allowed here")
    assert done.stdout.endswith("RIGHT\n"), done.stdout + done.stderr
    waits = done.stdout.splitlines()
    assert "No space left on device" in waits[0]
    assert "Read-only file system" in waits[1]
    assert "does not exist" in waits[2]
