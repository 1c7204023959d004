"""Tables of Delta in a catalog of Spark: written once, merged by key, overwritten, read as they were, and read as a stream."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.long
@pytest.mark.jvm
def test_tables_of_delta(tmp_path: Path) -> None:
    program = Path(__file__).with_name("delta_program.py")
    run = subprocess.run(
        [sys.executable, program, tmp_path], capture_output=True, text=True, timeout=1800, cwd=tmp_path, env=os.environ
    )
    found = dict(json.loads(line) for line in run.stdout.splitlines() if line.startswith("["))
    assert run.returncode == 0, run.stderr[-3000:]
    assert found == {
        "failures": 1,
        "appended once": [["1", "a"], ["2", "b"]],
        "version": [["1", "a"]],
        "time": [["1", "a"]],
        "joined with the past": [["1", "1"], ["2", "None"]],
        "merged": [["1", "2"], ["2", "20"], ["3", "30"], ["4", "1"]],
        "partition overwritten": [["1", "mon"], ["9", "tue"]],
        "partitions": [["day_=mon"], ["day_=tue"]],
        "overwritten": [["7", "g"]],
        "streamed": [["1", "mon"], ["10", "wed"], ["9", "tue"]],
    }
