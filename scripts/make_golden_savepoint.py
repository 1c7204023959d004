"""Writes a golden savepoint of this version: tests/savepoints/golden/NAME, with what a job that starts from it gives.

    .venv/bin/python scripts/make_golden_savepoint.py v2

One is made for each version of the format, and for each change of how a kind of state is stored. They are never made again:
every later version has to read the old ones.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

import penstock as ps  # noqa: E402
from penstock.testing import Harness  # noqa: E402
from tests.savepoints.golden_job import CUT, everything, steps  # noqa: E402


def make(folder: Path) -> None:
    """Runs the golden job in the harness, takes the savepoint in the middle, and keeps the rest of its results."""
    if folder.exists():
        raise SystemExit(f"{folder} is there already, and golden savepoints stay as they are. Choose another name.")
    env = ps.StreamExecutionEnvironment().set_parallelism(2)
    stream = everything(env)
    harness = Harness(env)
    out = harness.collect(stream)
    harness.run(max_batches=CUT)
    harness.savepoint(folder)
    before = len(out)
    harness.run(max_batches=len(steps()) - CUT)
    (folder / "expected.json").write_text(
        json.dumps(sorted(map(list, out[before:])), indent=0) + "\n", encoding="utf-8"
    )


if __name__ == "__main__":
    make(ROOT / "tests" / "savepoints" / "golden" / sys.argv[1])
