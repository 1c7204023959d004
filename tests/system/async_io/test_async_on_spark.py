"""Asynchronous calls on Spark: results, dead letters, and jobs that are cancelled or killed during a call."""

from __future__ import annotations

import asyncio
import json
import os
import time
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import penstock as ps
from penstock.connectors import CollectSink, JsonLinesSink, ScriptedSource, Step
from penstock.connectors.scripted import Abort
from penstock.errors import JobError, UserFunctionError
from penstock.spark.job.job import SparkJob
from tests.programs import cached_lookups
from tests.system.spark.processes import JobProcess, batches_of, checkpoint_in, lines_of
from tests.system.spark.test_jobs import environment
from tests.unit.runtime.async_io import services
from tests.unit.runtime.async_io.test_async_stream import fixed_delay
from tests.waiting import until

pytestmark = pytest.mark.spark


def test_calls_in_mappers_and_after_operators(spark: SparkSession, tmp_path: Path) -> None:
    env = environment(tmp_path)
    doubled = ps.AsyncDataStream.ordered_wait(env.from_sequence(1, 5000), services.Doubled(), ps.Time.seconds(30), 500)
    doubled.sink_to(CollectSink())
    small = doubled.rebalance().filter(lambda n: n <= 40)
    answered = ps.AsyncDataStream.unordered_wait(
        small, services.Silent(10, 20), ps.Time.milliseconds(300), 10, on_error="dead_letter"
    ).name("silent")
    answered.sink_to(CollectSink())
    answered.get_side_output(ps.DEAD_LETTERS).sink_to(CollectSink())
    retried = ps.AsyncDataStream.unordered_wait_with_retry(
        small.key_by(lambda n: n), services.Flaky(), ps.Time.seconds(30), fixed_delay(5)
    ).name("flaky")
    retried.sink_to(CollectSink())
    job = SparkJob(env.graph("async"), env.configuration, env.files)
    job.start()
    job.wait()
    assert job.collected(0) == [2 * n for n in range(1, 5001)]
    assert sorted(job.collected(1)) == [n for n in range(2, 41, 2) if n not in (10, 20)]
    assert sorted((d.element, d.error, d.operator) for d in job.collected(2)) == [
        (10, "TimeoutError", "silent"),
        (20, "TimeoutError", "silent"),
    ]
    assert job.collected(3) == [3] * 20
    counted = job.accumulators()
    assert counted["silent.async.timeouts"] == 2
    assert counted["flaky.async.retries"] == 40


def test_a_service_that_never_answers_fails_the_job(spark: SparkSession, tmp_path: Path) -> None:
    env = environment(tmp_path)
    stream = env.from_collection([1, 2, 3])
    ps.AsyncDataStream.unordered_wait(stream, services.Silent(2), ps.Time.milliseconds(200)).name("ask").print()
    with pytest.raises(UserFunctionError, match="TimeoutError") as caught:
        env.execute()
    failed = caught.value.failed
    assert failed is not None
    assert (failed.name, failed.element, failed.source, failed.position) == ("ask", "2", "collection", 1)


class Waiting(ps.AsyncFunction[int, int]):
    """Creates a marker file and waits."""

    def __init__(self, marker: Path) -> None:
        self.marker = marker

    async def async_invoke(self, value: int) -> list[int]:
        self.marker.write_text(str(os.getpid()))
        await asyncio.sleep(3600)
        return [value]


def test_a_job_with_a_waiting_call_can_be_cancelled(spark: SparkSession, tmp_path: Path) -> None:
    env = environment(tmp_path)
    marker = tmp_path / "waiting"
    ps.AsyncDataStream.unordered_wait(env.from_sequence(1, 100), Waiting(marker), ps.Time.hours(2)).print()
    client = env.execute_async("waiting")
    until(marker.exists)
    began = time.monotonic()
    client.cancel().result()
    assert time.monotonic() - began < 120  # it does not wait for the call
    with pytest.raises(JobError, match="JOB_CANCELED"):
        client.get_job_execution_result().result()


def test_a_resumed_job_has_the_answers_in_its_state(spark: SparkSession, tmp_path: Path) -> None:
    steps = [Step({"s": [1, 2, 1]}), Step({"s": [2, Abort()]}), Step({"s": [1, 3]})]

    def run(**options: str) -> None:
        env = environment(tmp_path, **options)
        numbers = env.from_source(ScriptedSource(steps))
        service = cached_lookups.Service(str(tmp_path / "calls"))
        ps.cached_enrichment(numbers, lambda n: n, service, ps.Time.days(1), ps.Time.seconds(30)).uid("small").sink_to(
            JsonLinesSink(tmp_path / "out")
        )
        env.execute()

    with pytest.raises(JobError, match="SCRIPTED_ABORT"):
        run()
    run(**{"execution.resume": checkpoint_in(tmp_path / "checkpoints")})
    calls = sorted(key for file in (tmp_path / "calls").iterdir() for key in file.read_text().split())
    assert calls == ["1", "2", "3"]
    assert lines_of(tmp_path / "out") == sorted(f'[{n},"answer {n}"]' for n in (1, 1, 1, 2, 2, 3))


def committed_keys(out: Path) -> set[int]:
    """Returns the keys of all visible batches except for the last, which Spark may not have committed."""
    files = sorted((int(f.name.split("-")[1].split(".")[0]), f) for f in out.glob("part-*.jsonl"))
    last = files[-1][0] if files else 0
    return {json.loads(line)["key"] for batch, f in files if batch < last for line in f.read_text().splitlines()}


@pytest.mark.long
def test_after_a_kill_answers_come_from_state(tmp_path: Path) -> None:
    elements, out, root = 6_000, tmp_path / "out", tmp_path / "checkpoints"
    job = JobProcess(Path(cached_lookups.__file__), str(out), str(root), str(elements))
    while job.running() and batches_of(out) < 4:
        time.sleep(0.05)
    assert job.running(), job.text()[-3000:]
    job.kill_driver()
    answered = committed_keys(out)
    before = {file.name for file in (root / "calls").iterdir()}
    job = JobProcess(Path(cached_lookups.__file__), str(out), str(root), str(elements), checkpoint_in(root))
    assert job.process.wait(600) == 0, job.text()[-3000:]
    later = [int(k) for f in (root / "calls").iterdir() if f.name not in before for k in f.read_text().split()]
    assert answered, "the job was killed before anything was answered"
    assert not answered & set(later), "keys with an answer in state are not looked up again"
    assert len(later) == len(set(later)), "no key is looked up twice"
    lines = [json.loads(line) for line in lines_of(out)]
    assert sorted(line["number"] for line in lines) == list(range(elements))
    assert all((line["key"], line["number"]) == cached_lookups.element(line["number"]) for line in lines)
    assert all(line["answer"] == f"answer {line['key']}" for line in lines)
