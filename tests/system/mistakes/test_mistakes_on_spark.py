"""Mistakes that occur only when a job runs on Spark, and the error messages that users get."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import penstock as ps
from penstock.connectors import JsonLinesSink, ScriptedSource, Step
from penstock.jobs.checkpoint.lock import CheckpointLock
from tests.system.mistakes.test_common_mistakes import error_of, line, price
from tests.system.spark.processes import checkpoint_in, lines_of
from tests.system.spark.test_jobs import environment

pytestmark = pytest.mark.spark

ORDERS = [{"total": 10, "count": 2}, {"total": 10, "count": 0}, {"total": 9, "count": 3}]


def prices(folder: Path, uid: str = "prices", **options: Any) -> ps.StreamExecutionEnvironment:
    """A job that divides by the number of items of an order."""
    env = environment(folder, **options)
    stream = env.from_source(ScriptedSource([Step({"0": ORDERS[:1]}), Step({"0": ORDERS[1:]})]), source_name="orders")
    stream.key_by(lambda order: order["total"]).map(price).name(uid).uid(uid).sink_to(JsonLinesSink(folder / "out"))
    return env


def test_a_failed_job_and_mistakes_when_it_is_resumed(spark: SparkSession, tmp_path: Path) -> None:
    """A function raises. Then the job is resumed with another program, from another folder, and twice at the same time."""
    message = error_of(prices(tmp_path).execute)
    assert message == (
        f"[USER_FUNCTION] Operator 'prices' raised ZeroDivisionError: division by zero at {line(price, 1)} in price, key 10, "
        "element {'total': 10, 'count': 0}, from source 'orders', split '0', position 1, batch 1. The batch was not committed. "
        'Fix the function and resume the job, or set on_error="dead_letter" on the operator to send such elements to its '
        "dead-letter output."
    )
    assert lines_of(tmp_path / "out") == ["5.0"], "only the batch before the failed one is written"

    checkpoint = checkpoint_in(tmp_path / "checkpoints")
    other = prices(tmp_path, uid="costs", **{"execution.resume": checkpoint})
    assert error_of(other.execute) == (
        f"[CHECKPOINT_OF_ANOTHER_JOB] The program no longer fits the checkpoint {checkpoint}: operator 'prices' is gone; operator "
        "'costs' is new. Change the program back, or start a new job with this one's state: --from-savepoint instead of --resume."
    )

    wrong_folder = prices(tmp_path, **{"execution.resume": str(tmp_path / "out")})
    assert error_of(wrong_folder.execute) == (
        f"[NO_CHECKPOINT] {tmp_path / 'out'} holds no checkpoint of a Penstock job (penstock/job.json cannot be read). Give the "
        "folder that the job printed."
    )

    running = CheckpointLock(checkpoint)  # as another running job would hold it
    running.acquire()
    message = error_of(prices(tmp_path, **{"execution.resume": checkpoint}).execute)
    running.release()
    assert message.startswith(f"[CHECKPOINT_IN_USE] Another job runs on the checkpoint {checkpoint}: process ")
    assert message.endswith("Stop that job first, or start this one with another name, or without --resume.")
    assert lines_of(tmp_path / "out") == ["5.0"]


def test_execute_is_called_twice(spark: SparkSession, tmp_path: Path) -> None:
    """The first call runs the job. The second one has nothing to run."""
    env = environment(tmp_path)
    env.from_collection([1, 2]).sink_to(JsonLinesSink(tmp_path / "out"))
    env.execute("numbers")
    assert error_of(lambda: env.execute("numbers")).startswith(
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


def test_a_misspelled_option_on_the_command_line(tmp_path: Path) -> None:
    """Prints one line and exits with code 2, without starting Spark."""
    done = penstock(tmp_path, "-D", "state.backed=hashmap")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("penstock: [UNKNOWN_OPTION] There is no option 'state.backed'.")


@pytest.mark.slow
def test_a_failing_program_on_the_command_line(tmp_path: Path) -> None:
    """The output names the line and the element of the user, without the stack trace of Spark."""
    done = penstock(tmp_path, "--master", "local[1]")
    assert (done.returncode, done.stdout) == (1, "")
    message = next(text for text in done.stderr.splitlines() if "[USER_FUNCTION]" in text)
    assert (
        "Operator 'price' (uid 'map-1') raised ZeroDivisionError: division by zero at job.py:5 in price, element {'total': 10,"
        in message
    )
    assert "at org.apache" not in done.stderr
    assert "Traceback" not in done.stderr
