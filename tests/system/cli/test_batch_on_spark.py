"""Batch jobs on a real Spark, from the command line: summary, stages, cancel from another process."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.test_jobs_on_spark import Tried
from tests.waiting import until

pytestmark = [pytest.mark.spark, pytest.mark.slow]

PROGRAM = """
import sys, time
import penstock as ps

env = ps.StreamExecutionEnvironment.get_execution_environment()
pause = float(sys.argv[1])
numbers = env.from_sequence(1, 1000).map(lambda n: n).name("numbers")
sums = numbers.key_by(lambda n: n % 2).reduce(lambda a, b: a + b).name("sums").uid("sums")
sums.key_by(lambda n: n).map(lambda n: time.sleep(pause) or n).name("slowly").print()
print("result", env.execute("sums").checkpoint == "")
"""


def done(tried: Tried) -> list[tuple[str, int]]:
    """The stages of the only job, and how many of their tasks are done."""
    progress = [tried.registry.progress(entry.id) for entry in tried.registry.entries()]
    return [(stage.name, stage.done) for p in progress if p is not None for stage in p.stages]


@pytest.fixture
def tried(tmp_path: Path) -> Tried:
    made = Tried(tmp_path)
    made.program.write_text(PROGRAM)
    return made


def test_a_batch_job_sums_up_what_each_operator_did(tried: Tried) -> None:
    run = tried.penstock("run", str(tried.program), "-D", "execution.runtime-mode=BATCH", "0")
    assert run.returncode == 0, run.stderr
    assert sorted(run.stdout.splitlines()) == ["250000", "250500", "result True"]
    lines = run.stderr.splitlines()
    assert lines[0].endswith(", in batch mode")
    assert any("'sums' finished in" in line and "1,000 records in, 2 out, 1 batch" in line for line in lines)
    for line in ("sums: 1,000 in, 2 out", "slowly: 2 in, 2 out"):
        assert any(told.endswith(line) for told in lines), (line, lines)
    (entry,) = tried.registry.entries()
    assert (entry.status, entry.batch, entry.checkpoint) == ("finished", True, "")
    info = tried.penstock("info", entry.id).stdout
    assert "mode           batch" in info
    assert "resume" not in info


def test_a_batch_job_shows_its_stages_and_is_cancelled_from_elsewhere(tried: Tried) -> None:
    started = tried.start("-m", "penstock", "run", str(tried.program), "-D", "execution.runtime-mode=BATCH", "100")
    try:
        until(lambda: done(tried)[:2] == [("sequence", 2), ("sums", 2)])
        entry = tried.registry.entries()[0]
        assert "stage 3 of 3: slowly (0 of 2 tasks)" in tried.penstock("info", entry.id).stdout
        cancelled = tried.penstock("cancel", entry.id)
        assert cancelled.stdout.strip() == f"{entry.id} cancelled"
        assert "resume" not in cancelled.stderr
        code, out, err = started.end()
        assert (code, out) == (1, "")
        assert "nothing of it was committed" in err
    finally:
        started.kill()
