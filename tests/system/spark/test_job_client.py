"""Background jobs: status, cancellation, results, several jobs at the same time, and the end of the program."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import penstock as ps
from penstock.connectors import DataGeneratorSource, JsonLinesSink
from penstock.errors import JobError, UserFunctionError
from tests.system.spark.processes import checkpoint_in, lines_of
from tests.system.spark.test_jobs import environment
from tests.waiting import until

pytestmark = pytest.mark.spark


def endless(env: ps.StreamExecutionEnvironment, out: Path, name: str) -> ps.JobClient:
    numbers = env.from_source(DataGeneratorSource(lambda n: n, rate=200), None, "numbers")
    numbers.key_by(lambda n: n % 3).map(lambda n: n).name("same").sink_to(JsonLinesSink(out)).name("lines")
    return env.execute_async(name)


def agree(counted: dict[str, int]) -> bool:
    """Whether all elements that were read have reached the sink."""
    return counted["numbers.numRecordsOut"] == counted["lines.numRecordsIn"] == counted["same.numRecordsIn"]


def test_two_jobs_run_in_parallel_and_are_cancelled_independently(spark: SparkSession, tmp_path: Path) -> None:
    env = environment(tmp_path)
    one = endless(env, tmp_path / "one", "one")
    two = endless(env, tmp_path / "two", "two")
    assert one.get_job_id() != two.get_job_id()
    until(lambda: lines_of(tmp_path / "one") and lines_of(tmp_path / "two"))
    assert {c.get_job_status().result() for c in (one, two)} == {ps.JobStatus.RUNNING}
    until(lambda: one.get_accumulators().result().get("same.numRecordsIn", 0) > 10)
    until(
        lambda: agree(one.get_accumulators().result())
    )  # repeated, because a batch may end between the reads of two files
    one.cancel().result()
    assert one.get_job_status().result() is ps.JobStatus.CANCELED
    with pytest.raises(JobError, match="JOB_CANCELED"):
        one.get_job_execution_result().result()
    before = len(lines_of(tmp_path / "two"))
    until(lambda: len(lines_of(tmp_path / "two")) > before + 100)
    assert two.get_job_status().result() is ps.JobStatus.RUNNING
    written = len(lines_of(tmp_path / "one"))
    two.cancel().result()
    two.cancel().result()
    assert len(lines_of(tmp_path / "one")) == written, "a cancelled job must not write"
    assert spark.streams.active == []


def test_the_result_of_a_finished_job(spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    env = environment(tmp_path)
    env.from_collection(range(10)).map(lambda n: n).print()
    client = env.execute_async("ten")
    result = client.get_job_execution_result().result()
    assert client.get_job_status().result() is ps.JobStatus.FINISHED
    assert result.get_job_id() == client.get_job_id()
    assert result.get_accumulator_result("collection.numRecordsOut") == 10
    assert client.get_accumulators().result() == result.get_all_accumulator_results()
    assert result.get_net_runtime() > 0
    assert sorted(map(int, capsys.readouterr().out.split())) == list(range(10))
    client.cancel().result()
    assert client.get_job_status().result() is ps.JobStatus.FINISHED, "cancel does not change a finished job"


def test_a_failed_job_raises_its_error(spark: SparkSession, tmp_path: Path) -> None:
    env = environment(tmp_path)
    env.from_collection([1, 0]).key_by(lambda n: n).map(lambda n: 1 // n).name("divide").print()
    client = env.execute_async()
    with pytest.raises(UserFunctionError, match=r"'divide'.* raised ZeroDivisionError"):
        client.get_job_execution_result().result()
    assert client.get_job_status().result() is ps.JobStatus.FAILED


def test_a_job_can_be_cancelled_before_its_restart(spark: SparkSession, tmp_path: Path) -> None:
    env = environment(tmp_path).set_restart_strategy(ps.RestartStrategies.fixed_delay_restart(3, 600_000))
    env.from_collection([0]).map(lambda n: 1 // n).print()
    client = env.execute_async()
    until(lambda: client.get_job_status().result() is ps.JobStatus.RESTARTING)
    client.cancel().result()
    assert client.get_job_status().result() is ps.JobStatus.CANCELED


@pytest.mark.parametrize(
    ("retention", "stays"),
    [
        (None, True),
        (ps.ExternalizedCheckpointRetention.RETAIN_ON_CANCELLATION, True),
        (ps.ExternalizedCheckpointRetention.DELETE_ON_CANCELLATION, False),
    ],
)
def test_retention_of_the_checkpoint_of_a_cancelled_job(
    spark: SparkSession, tmp_path: Path, retention: ps.ExternalizedCheckpointRetention | None, stays: bool
) -> None:
    env = environment(tmp_path)
    if retention is not None:
        env.get_checkpoint_config().set_externalized_checkpoint_retention(retention)
    client = endless(env, tmp_path / "out", "endless")
    until(lambda: lines_of(tmp_path / "out"))
    folder = Path(checkpoint_in(tmp_path / "checkpoints"))
    client.cancel().result()
    assert folder.exists() is stays


PROGRAM = """
import sys
import penstock as ps
from penstock.connectors import DataGeneratorSource, JsonLinesSink

env = ps.StreamExecutionEnvironment(ps.Configuration({"spark.master": "local[1]", "execution.checkpointing.dir": sys.argv[2]}))
env.from_source(DataGeneratorSource(lambda n: n, rate=200)).sink_to(JsonLinesSink(sys.argv[1]))
client = env.execute_async("beside")
while not client.get_accumulators().result():
    pass
print("over", client.get_job_status().result().name)
"""


@pytest.mark.slow
def test_a_job_ends_with_its_program(tmp_path: Path) -> None:
    """As in the local mode of Flink. Its checkpoint can be resumed."""
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    done = subprocess.run(
        [sys.executable, str(program), str(tmp_path / "out"), str(tmp_path / "checkpoints")],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "over RUNNING" in done.stdout
    assert "penstock/spark/" not in done.stderr, (
        "no stack trace of Penstock; workers of Spark may report that they were stopped"
    )
    before = len(lines_of(tmp_path / "out"))
    assert before > 0
    time.sleep(1)
    assert len(lines_of(tmp_path / "out")) == before
    checkpoint_in(tmp_path / "checkpoints")
