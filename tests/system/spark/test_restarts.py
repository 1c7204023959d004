"""A failed job is restarted from its checkpoint, with the same results as without the failure."""

from __future__ import annotations

import os
import signal
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import penstock as ps
from penstock.connectors import (
    CollectSink,
    DataGeneratorSource,
    DiscardingSink,
    JsonLinesSink,
    ScriptedSource,
    Step,
)
from penstock.errors import ConfigError, JobError, UserFunctionError
from penstock.jobs.registry.history import CheckpointHistory
from penstock.jobs.registry.registry import registry_of
from penstock.spark.job.job import SparkJob
from tests.system.spark.fails_once import CollectFailsOnce, CommitFailsOnce
from tests.system.spark.processes import lines_of
from tests.system.spark.test_jobs import environment
from tests.waiting import until

pytestmark = pytest.mark.spark

STEPS = [Step({"s": [f"{word}{batch}" for word in "abc"] + ["x"]}) for batch in range(6)]


class CountOrFail(ps.KeyedProcessFunction):
    """Counts the elements of a key. Raises at given elements, a given number of times, after it has changed its state."""

    def __init__(self, notes: Path, failures: dict[tuple[str, int], int]) -> None:
        self._notes = notes
        self._failures = failures

    def open(self, runtime_context: ps.RuntimeContext) -> None:
        self.count = runtime_context.get_state(ps.ValueStateDescriptor("count", ps.Types.LONG()))

    def process_element(self, value: str, ctx: Any) -> Iterator[Any]:
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        yield ctx.get_current_key(), count
        for failure, (at, times) in enumerate(self._failures.items()):
            note = self._notes / f"{failure}"
            failed = len(note.read_text()) if note.exists() else 0
            if (value[0], count) == at and failed < times:
                note.write_text("x" * (failed + 1))
                raise RuntimeError(f"{value} fails")


def run(folder: Path, failures: dict[tuple[str, int], int], **options: Any) -> ps.JobExecutionResult:
    notes = folder / "notes"
    notes.mkdir(parents=True)
    env = environment(folder, **options)
    words = env.from_source(ScriptedSource(STEPS)).key_by(lambda w: w[0])
    words.process(CountOrFail(notes, failures)).sink_to(JsonLinesSink(folder / "out"))
    return env.execute()


class KilledOnce(ps.MapFunction):
    """Its process is killed at an element, as by the OOM killer."""

    def __init__(self, notes: Path) -> None:
        self._notes = notes

    def map(self, value: str) -> str:
        if value == "b2" and not self._notes.exists():
            self._notes.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return value


FIXED = {"restart-strategy.type": "fixed-delay", "restart-strategy.fixed-delay.delay": "10 ms"}


def test_failures_do_not_change_the_results(spark: SparkSession, tmp_path: Path) -> None:
    calm = run(tmp_path / "calm", {})
    wild = run(tmp_path / "wild", {("a", 1): 1, ("b", 3): 2}, **FIXED, **{"restart-strategy.fixed-delay.attempts": 3})
    assert (calm.attempts, wild.attempts) == (1, 4)
    expected = lines_of(tmp_path / "calm" / "out")
    assert len(expected) == 24
    assert lines_of(tmp_path / "wild" / "out") == expected
    assert wild.get_all_accumulator_results() == calm.get_all_accumulator_results(), "a repeated batch counts once"
    assert [b["batch"] for b in wild.batches] == [b["batch"] for b in calm.batches]


def test_a_background_job_is_restarted_too(spark: SparkSession, tmp_path: Path) -> None:
    """It runs after another job of the session, whose query has left properties in threads of Spark."""
    run(tmp_path / "before", {})
    notes = tmp_path / "notes"
    notes.mkdir()
    env = environment(tmp_path, **FIXED, **{"restart-strategy.fixed-delay.attempts": 1})
    words = env.from_source(ScriptedSource(STEPS)).key_by(lambda w: w[0])
    words.process(CountOrFail(notes, {("a", 3): 1})).sink_to(JsonLinesSink(tmp_path / "out"))
    result = env.execute_async().get_job_execution_result().result()
    assert result.attempts == 2
    assert lines_of(tmp_path / "out") == lines_of(tmp_path / "before" / "out")


def test_the_last_failure_is_raised_when_no_restart_is_left(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(UserFunctionError, match="b2 fails"):
        run(tmp_path, {("a", 1): 1, ("b", 3): 9}, **FIXED, **{"restart-strategy.fixed-delay.attempts": 2})
    assert (tmp_path / "notes" / "1").read_text() == "xx", "one restart was used before"


def test_without_a_strategy_the_first_failure_ends_the_job(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(UserFunctionError, match="a0 fails"):
        run(tmp_path, {("a", 1): 1})


def test_jobs_with_checkpointing_restart_by_default(spark: SparkSession, tmp_path: Path) -> None:
    began = time.monotonic()
    result = run(tmp_path, {("a", 1): 1}, **{"execution.checkpointing.interval": "5 s"})
    assert result.attempts == 2
    assert time.monotonic() - began > 0.9, "the first delay is a second, less its jitter"


class Attempts(ps.MapFunction):
    """Emits the attempt number. Fails in the first two attempts."""

    def open(self, runtime_context: ps.RuntimeContext) -> None:
        self._attempt = runtime_context.get_attempt_number()

    def map(self, value: Any) -> Any:
        if self._attempt < 2:
            raise OSError("not yet")
        return value, self._attempt


def test_functions_know_the_attempt_and_elements_are_collected_once(spark: SparkSession, tmp_path: Path) -> None:
    env = environment(tmp_path, **FIXED, **{"restart-strategy.fixed-delay.attempts": 2})
    found: list[Any] = list(env.from_collection([1, 2]).map(Attempts()).execute_and_collect())
    assert sorted(found) == [(1, 2), (2, 2)]


def test_a_sink_that_fails_after_state_was_written(spark: SparkSession, tmp_path: Path) -> None:
    env = environment(tmp_path, **FIXED)
    env.from_source(ScriptedSource(STEPS)).key_by(lambda w: w[0]).map(lambda w: w).sink_to(
        CollectFailsOnce(tmp_path / "failed")
    )
    job = SparkJob(env.graph(), env.configuration, env.files)
    job.start()
    job.wait()
    assert job.attempt == 1
    assert Counter(job.collected(0)) == Counter(v for s in STEPS for v in s.splits["s"])


def test_a_commit_that_fails_when_another_sink_has_committed(spark: SparkSession, tmp_path: Path) -> None:
    env = environment(tmp_path, **FIXED)
    words = env.from_source(ScriptedSource(STEPS))
    words.sink_to(CollectSink())
    words.sink_to(JsonLinesSink(tmp_path / "lines"))
    words.sink_to(CommitFailsOnce(tmp_path / "failed"))
    job = SparkJob(env.graph(), env.configuration, env.files)
    job.start()
    job.wait()
    assert job.attempt == 1
    assert Counter(job.collected(0)) == Counter(v for s in STEPS for v in s.splits["s"])
    assert lines_of(tmp_path / "lines") == sorted(f'"{v}"' for s in STEPS for v in s.splits["s"])


def test_a_killed_source_process_is_named_and_the_job_is_restarted(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PENSTOCK_HOME", str(tmp_path / "home"))
    env = environment(tmp_path, **FIXED, **{"restart-strategy.fixed-delay.attempts": 1})
    numbers = env.from_source(
        DataGeneratorSource(lambda i: i, None, 100), ps.WatermarkStrategy.no_watermarks(), "orders"
    )
    numbers.key_by(lambda i: i % 2).reduce(max).sink_to(DiscardingSink())
    job = SparkJob(env.graph(), env.configuration, env.files)
    job.start()
    job.run_in_background()
    for task in ("plans the batches of source 'orders'", "starts the batches of the job"):
        batch = job.folder.reports.totals().batches
        until(lambda batch=batch: job.folder.reports.totals().batches > batch + 1 or job.finished.done())  # type: ignore[misc]
        attempt = job.attempt
        helper = next(p for p in job.folder.processes.all() if p.task == task)
        os.kill(helper.process.pid, signal.SIGKILL)
        until(lambda attempt=attempt: job.attempt > attempt or job.finished.done())  # type: ignore[misc]
    with pytest.raises(
        JobError, match=r"HELPER_PROCESS_DIED.*the process that starts the batches of the job \(process \d+"
    ):
        job.finished.result()
    history = CheckpointHistory(registry_of().job_folder(job.job_id)).latest()
    reasons = [c.reason for c in history if c.status == "failed"]
    assert "[HELPER_PROCESS_DIED]" in reasons[0]
    assert "the process that plans the batches of source 'orders' (process " in reasons[0]
    assert job.attempt == 1


@pytest.mark.parametrize("restarts", [0, 1])
def test_a_killed_worker_is_reported_and_the_job_is_restarted(
    spark: SparkSession,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    restarts: int,
) -> None:
    monkeypatch.setenv("PENSTOCK_HOME", str(tmp_path / "home"))
    env = environment(tmp_path, **FIXED, **{"restart-strategy.fixed-delay.attempts": restarts})
    words = env.from_source(ScriptedSource(STEPS)).key_by(lambda w: w[0]).map(KilledOnce(tmp_path / "killed"))
    words.sink_to(JsonLinesSink(tmp_path / "out"))
    if restarts:
        assert env.execute().attempts == 2
        assert lines_of(tmp_path / "out") == sorted(f'"{v}"' for s in STEPS for v in s.splits["s"])
        assert "failed and is restarted in 0.0 s: [WORKER_DIED] A Python worker of Spark" in capsys.readouterr().err
    else:
        with pytest.raises(JobError, match=r"WORKER_DIED.*ran out of memory.*The batch was not committed"):
            env.execute()


def test_permanent_errors_are_not_retried(spark: SparkSession, tmp_path: Path) -> None:
    env = environment(tmp_path, **FIXED, **{"python.executable": "no-such-python"})
    env.from_collection([1]).print()
    with pytest.raises(ConfigError, match="PYTHON_EXECUTABLE"):
        env.execute()


def test_an_unbounded_job_is_restarted_by_default(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    away, failed, out = tmp_path / "away", tmp_path / "failed", tmp_path / "out"

    def fail_once(number: int) -> int:
        if away.exists() and not failed.exists():
            failed.touch()
            raise ConnectionError("the service is away")
        return number

    env = environment(tmp_path, **{"restart-strategy.exponential-delay.initial-backoff": "10 ms"})
    env.from_source(DataGeneratorSource(lambda n: n, rate=50)).map(fail_once).sink_to(JsonLinesSink(out))
    client = env.execute_async("numbers")
    until(lambda: lines_of(out))
    away.touch()
    until(failed.exists)
    before = len(lines_of(out))
    until(lambda: len(lines_of(out)) > before)
    client.cancel().result()
    assert sorted(map(int, lines := lines_of(out))) == list(range(len(lines)))
    shown = capsys.readouterr().err
    assert f"job {client.get_job_id()}: failed and is restarted in 0.0 s: [USER_FUNCTION]" in shown
    assert "ConnectionError: the service is away" in shown
