"""Writes a golden savepoint of this version to tests/savepoints/golden/NAME, with the expected results of a job restored from it.

    .venv/bin/python scripts/make_golden_savepoint.py v2

Write a new one for each version of the format, and for each change in how a kind of state is stored. Existing ones are never
written again, because every later version must read them.
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
    """Runs the golden job in the harness, writes a savepoint in the middle, and stores the remaining results."""
    if folder.exists():
        raise SystemExit(f"{folder} already exists, and golden savepoints must not change. Choose another name.")
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
