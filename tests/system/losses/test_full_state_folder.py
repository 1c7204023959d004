"""The disk of the state folder is full while a job runs: the reason is reported, and nothing is lost."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.locations import ROOT
from tests.system.losses.full_state_folder import NO_NAMESPACE


@pytest.mark.long
@pytest.mark.spark
def test_a_full_state_folder(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tests.system.losses.full_state_folder", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT, timeout=900)
    if done.returncode == NO_NAMESPACE:
        pytest.skip("mount namespaces are not allowed here")
    print(done.stdout)
    assert done.stdout.endswith("RIGHT\n"), done.stdout + done.stderr
    assert re.search(r"\[[A-Z_]+\] .*(No space left on device|is full)", done.stdout)
