"""Commands on a real Spark, each in its own process."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.unit.cli.test_demo_job import expected

pytestmark = [pytest.mark.spark, pytest.mark.slow]

PROGRAM = """
import sys
from pathlib import Path

import penstock as ps

REPAIRED = Path(sys.argv[1])


class Running(ps.KeyedProcessFunction):
    def open(self, runtime_context):
        self.total = runtime_context.get_state(ps.ValueStateDescriptor("total", int))

    def process_element(self, value, ctx):
        if value == 7 and not REPAIRED.exists():
            raise ValueError("seven is too much")
        self.total.update((self.total.value() or 0) + value)
        yield value, self.total.value()


env = ps.StreamExecutionEnvironment.get_execution_environment()
env.from_sequence(1, 8).key_by(lambda n: n % 2).process(Running()).uid("running").print()
env.execute("running")
"""


def penstock(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "penstock", *arguments], capture_output=True, text=True, timeout=300)


def events(stderr: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in stderr.splitlines()]


def test_a_failed_job_prints_one_line_and_can_be_resumed(tmp_path: Path) -> None:
    repaired = tmp_path / "repaired"
    program = tmp_path / "job.py"
    program.write_text(PROGRAM)
    command = (
        "run",
        str(program),
        str(repaired),
        "--master",
        "local[2]",
        "-D",
        "source.batch.records=3",
        "-D",
        f"execution.checkpointing.dir={tmp_path}",
    )

    failed = penstock(*command)
    assert failed.returncode == 1
    assert failed.stdout.splitlines() == ["(1, 1)", "(2, 2)", "(3, 4)", "(4, 6)", "(5, 9)", "(6, 12)"]
    started, error, log, resume = (
        line for line in failed.stderr.splitlines() if " · " not in line
    )  # without progress lines
    assert started.startswith("penstock: job ")
    assert error.startswith("penstock: [USER_FUNCTION] Operator 'process' (uid 'running') raised ValueError: seven is")
    assert error.count("job.py:") == 1
    assert " in Running.process_element, key 1, element 7, from source 'sequence', split '" in error
    assert "Spark's output is in" in log
    job_id = started.split()[2].rstrip(",")
    assert resume == f"penstock: resume with: penstock resume {job_id[:12]}"

    repaired.touch()
    resumed = penstock("resume", job_id[:12], "--json")
    assert resumed.returncode == 0, resumed.stderr
    assert resumed.stdout.splitlines() == ["(7, 16)", "(8, 20)"]
    printed = events(resumed.stderr)
    assert [e["event"] for e in printed] == ["started", *["batch"] * (len(printed) - 2), "finished"]
    assert (printed[-1]["checkpoint"], printed[-1]["read"], printed[-1]["written"]) == (f"{tmp_path}/{job_id}", 2, 2)


def test_the_demo(tmp_path: Path) -> None:
    shown = penstock("demo", "--events", "3000", "--master", "local[2]", "--json")
    assert shown.returncode == 0, shown.stderr
    result = json.loads(shown.stdout)
    totals = {c["campaign"]: (c["shown"], c["earned"], c["late"]) for c in result["campaigns"]}
    assert totals == {c: (t.shown, t.earned, t.late) for c, t in expected(3000).items()}
    assert result["read"] == 3000
    assert "TransformWithState" not in shown.stderr
