"""Batch jobs on a real Spark, from the command line: summary, stages, cancel from another process."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.system.cli.test_jobs_on_spark import JobCommands
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


def finished_tasks(commands: JobCommands) -> list[tuple[str, int]]:
    """The stages of the only job, and the number of finished tasks of each."""
    progress = [commands.registry.progress(entry.id) for entry in commands.registry.entries()]
    return [(stage.name, stage.done) for p in progress if p is not None for stage in p.stages]


@pytest.fixture
def commands(tmp_path: Path) -> JobCommands:
    job_commands = JobCommands(tmp_path)
    job_commands.program.write_text(PROGRAM)
    return job_commands


def test_the_summary_of_a_batch_job(commands: JobCommands) -> None:
    run = commands.penstock("run", str(commands.program), "-D", "execution.runtime-mode=BATCH", "0")
    assert run.returncode == 0, run.stderr
    assert sorted(run.stdout.splitlines()) == ["250000", "250500", "result True"]
    lines = run.stderr.splitlines()
    assert lines[0].endswith(", in batch mode")
    assert any("'sums' finished in" in line and "1,000 records in, 2 out, 1 batch" in line for line in lines)
    for line in ("sums: 1,000 in, 2 out", "slowly: 2 in, 2 out"):
        assert any(printed.endswith(line) for printed in lines), (line, lines)
    (entry,) = commands.registry.entries()
    assert (entry.status, entry.batch, entry.checkpoint) == ("finished", True, "")
    info = commands.penstock("info", entry.id).stdout
    assert "mode           batch" in info
    assert "resume" not in info


def test_stages_and_cancel_from_another_process(commands: JobCommands) -> None:
    background = commands.start(
        "-m", "penstock", "run", str(commands.program), "-D", "execution.runtime-mode=BATCH", "100"
    )
    try:
        until(lambda: finished_tasks(commands)[:2] == [("sequence", 2), ("sums", 2)])
        entry = commands.registry.entries()[0]
        assert "stage 3 of 3: slowly (0 of 2 tasks)" in commands.penstock("info", entry.id).stdout
        cancelled = commands.penstock("cancel", entry.id)
        assert cancelled.stdout.strip() == f"{entry.id} cancelled"
        assert "resume" not in cancelled.stderr
        code, out, err = background.end()
        assert (code, out) == (1, "")
        assert "nothing was committed" in err
    finally:
        background.kill()
