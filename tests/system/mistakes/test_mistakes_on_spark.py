"""Ann's job runs in the harness, and she takes it to Spark: the mistakes that are left to make there."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import penstock as ps
from penstock.connectors import JsonLinesSink, ScriptedSource, Step
from penstock.spark.lock import CheckpointLock
from tests.mistakes.test_twenty_mistakes import line, price, tried
from tests.spark.processes import checkpoint_in, lines_of
from tests.spark.test_jobs import environment

pytestmark = pytest.mark.spark

ORDERS = [{"total": 10, "count": 2}, {"total": 10, "count": 0}, {"total": 9, "count": 3}]


def prices(folder: Path, uid: str = "prices", **options: Any) -> ps.StreamExecutionEnvironment:
    """Her job, which counts on every order having something in it."""
    env = environment(folder, **options)
    stream = env.from_source(ScriptedSource([Step({"0": ORDERS[:1]}), Step({"0": ORDERS[1:]})]), source_name="orders")
    stream.key_by(lambda order: order["total"]).map(price).name(uid).uid(uid).sink_to(JsonLinesSink(folder / "out"))
    return env


def test_25_to_28_on_spark(spark: SparkSession, tmp_path: Path) -> None:
    """Her function raises on Spark. She resumes with another program, from another folder, and twice at a time."""
    message = tried(prices(tmp_path).execute)
    assert message == (
        f"[USER_FUNCTION] Operator 'prices' raised ZeroDivisionError: division by zero at {line(price, 1)} in price, key 10, "
        "element {'total': 10, 'count': 0}, from source 'orders', split '0', position 1, batch 1. The batch was not committed: "
        'mend the function and resume, or give the operator on_error="dead_letter" to put such elements aside.'
    )
    assert lines_of(tmp_path / "out") == ["5.0"], "the batch before is there, and nothing of the one that failed"

    checkpoint = checkpoint_in(tmp_path / "checkpoints")
    other = prices(tmp_path, uid="costs", **{"execution.resume": checkpoint})
    assert tried(other.execute) == (
        f"[CHECKPOINT_OF_ANOTHER_JOB] The program no longer fits the checkpoint {checkpoint}: operator 'prices' is gone; operator "
        "'costs' is new. Change the program back, or start a new job with this one's state: --from-savepoint instead of --resume."
    )

    nowhere = prices(tmp_path, **{"execution.resume": str(tmp_path / "out")})
    assert tried(nowhere.execute) == (
        f"[NO_CHECKPOINT] {tmp_path / 'out'} holds no checkpoint of a Penstock job (penstock/job.json cannot be read). Give the "
        "folder that the job printed."
    )

    running = CheckpointLock(checkpoint)  # as the job in her other window has it
    running.acquire()
    message = tried(prices(tmp_path, **{"execution.resume": checkpoint}).execute)
    running.release()
    assert message.startswith(f"[CHECKPOINT_IN_USE] Another job runs on the checkpoint {checkpoint}: process ")
    assert message.endswith("Stop that job first, or start this one without --resume.")
    assert lines_of(tmp_path / "out") == ["5.0"]


def test_29_she_executes_twice(spark: SparkSession, tmp_path: Path) -> None:
    """The first execute took the whole job. There is nothing new to run."""
    env = environment(tmp_path)
    env.from_collection([1, 2]).sink_to(JsonLinesSink(tmp_path / "out"))
    env.execute("numbers")
    assert tried(lambda: env.execute("numbers")).startswith(
        "[NO_SINK] No operators defined in streaming topology: job 'numbers'"
    )
    assert lines_of(tmp_path / "out") == ["1", "2"]


PROGRAM = """
import penstock as ps

def price(order):
    return order["total"] / order["count"]

env = ps.StreamExecutionEnvironment.get_execution_environment()
env.from_collection([{"total": 10, "count": 0}]).map(price).name("price").print()
env.execute("prices")
"""


def penstock(tmp_path: Path, *options: str) -> subprocess.CompletedProcess[str]:
    (tmp_path / "job.py").write_text(PROGRAM)
    command = [
        sys.executable,
        "-m",
        "penstock",
        "run",
        "job.py",
        "-D",
        f"execution.checkpointing.dir={tmp_path}",
        *options,
    ]
    return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300)


def test_30_she_misspells_an_option_on_the_command_line(tmp_path: Path) -> None:
    """One line, exit code 1, and no Spark was started for it."""
    done = penstock(tmp_path, "-D", "state.backed=hashmap")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("penstock: [UNKNOWN_OPTION] There is no option 'state.backed'.")


@pytest.mark.slow
def test_31_her_program_fails_on_the_command_line(tmp_path: Path) -> None:
    """She sees her own line and her own element, and nothing of Spark's stack."""
    done = penstock(tmp_path, "--master", "local[1]")
    assert (done.returncode, done.stdout) == (1, "")
    told = next(text for text in done.stderr.splitlines() if "[USER_FUNCTION]" in text)
    assert (
        "Operator 'price' (uid 'map-1') raised ZeroDivisionError: division by zero at job.py:5 in price, element {'total': 10,"
        in told
    )
    assert "at org.apache" not in done.stderr
    assert "Traceback" not in done.stderr
