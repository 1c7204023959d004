"""Savepoints of running jobs of the local engine, stop and drain, and checkpoints that another job starts from."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import penstock as ps
from penstock.connectors import JsonLinesSink
from penstock.errors import CheckpointError
from penstock.jobs.actions.stop import stop_job
from penstock.jobs.registry.registry import registry_of
from penstock.savepoints.savepoint import open_savepoint
from penstock.testing import Harness
from tests.unit.local.jobs import append, environment, totals
from tests.waiting import until


def start(folder: Path, **options: Any) -> ps.JobClient:
    env = environment(folder, **options)
    totals(env, folder / "lines").map(lambda v: {"key": v[0], "total": v[1]}).sink_to(
        JsonLinesSink(folder / "out")
    ).uid("out")
    return env.execute_async("totals")


def written(folder: Path) -> list[str]:
    files = sorted((folder / "out").glob("part-*"), key=lambda file: file.stat().st_mtime_ns)
    return [line for file in files for line in file.read_text().splitlines()]


@pytest.fixture
def running(tmp_path: Path) -> ps.JobClient:
    append(tmp_path / "lines", "a 1", "b 10")
    client = start(tmp_path)
    until(lambda: len(written(tmp_path)) == 2)
    return client


def test_a_savepoint_while_the_job_runs(running: ps.JobClient, tmp_path: Path) -> None:
    path = running.trigger_savepoint(str(tmp_path / "saved")).result()
    append(tmp_path / "lines", "a 2")
    until(lambda: written(tmp_path)[2:] == ['{"key":"a","total":3}'])
    running.cancel().result()
    append(tmp_path / "lines", "a 3")
    other = start(tmp_path, execution_state__recovery_path=path)
    until(lambda: written(tmp_path)[3:] == ['{"key":"a","total":3}', '{"key":"a","total":6}'])
    other.cancel().result()


def test_the_harness_restores_it(running: ps.JobClient, tmp_path: Path) -> None:
    path = running.stop_with_savepoint(False, str(tmp_path / "saved")).result()
    running.get_job_execution_result().result()
    env = environment(tmp_path)
    stream = totals(env, tmp_path / "lines")
    harness = Harness(env, parallelism=3)
    out = harness.collect(stream)
    harness.restore_savepoint(path, allow_dropped_state=True)
    append(tmp_path / "lines", "b 5")
    harness.run()
    assert out == [("b", 15)]


def test_a_savepoint_of_the_harness(tmp_path: Path) -> None:
    append(tmp_path / "lines", "a 1", "b 10")
    env = environment(tmp_path)
    totals(env, tmp_path / "lines")
    path = Harness(env, parallelism=2).run().savepoint(tmp_path / "saved")
    append(tmp_path / "lines", "b 5")
    client = start(tmp_path, execution_state__recovery_path=path)
    until(lambda: written(tmp_path) == ['{"key":"b","total":15}'])
    client.cancel().result()


def test_stop_and_resume(running: ps.JobClient, tmp_path: Path) -> None:
    registry = registry_of()
    entry = registry.find(str(running.get_job_id()))
    stop_job(registry, entry)
    running.get_job_execution_result().result()
    append(tmp_path / "lines", "b 5")
    again = start(tmp_path, execution_resume=entry.checkpoint)
    until(lambda: written(tmp_path)[2:] == ['{"key":"b","total":15}'])
    assert str(again.get_job_id()) == entry.id
    again.cancel().result()


def test_a_job_starts_from_the_checkpoint_of_another_one(running: ps.JobClient, tmp_path: Path) -> None:
    checkpoint = registry_of().find(str(running.get_job_id())).checkpoint
    running.cancel().result()
    append(tmp_path / "lines", "b 5")
    other = start(tmp_path, execution_state__recovery_path=checkpoint, parallelism_default=2)
    until(lambda: written(tmp_path)[2:] == ['{"key":"b","total":15}'])
    assert str(other.get_job_id()) not in checkpoint
    other.cancel().result()


def test_a_savepoint_that_cannot_be_written_leaves_the_job_running(running: ps.JobClient, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(CheckpointError, match="SAVEPOINT_UNWRITABLE"):
        running.stop_with_savepoint(False, str(tmp_path / "file" / "below")).result()
    append(tmp_path / "lines", "a 2")
    until(lambda: written(tmp_path)[2:] == ['{"key":"a","total":3}'])
    running.cancel().result()


def test_drain_fires_all_event_time_timers(tmp_path: Path) -> None:
    class AtEnd(ps.KeyedProcessFunction):
        def process_element(self, value: Any, ctx: Any) -> None:
            ctx.timer_service().register_event_time_timer(10**15)

        def on_timer(self, timestamp: int, ctx: Any) -> Any:
            yield {"key": ctx.get_current_key()}

    append(tmp_path / "lines", "a 1")
    env = environment(tmp_path)
    stream = totals(env, tmp_path / "lines").key_by(lambda v: v[0]).process(AtEnd()).uid("end")
    stream.sink_to(JsonLinesSink(tmp_path / "out"))
    client = env.execute_async()
    until(lambda: _records(client) > 0)
    path = client.stop_with_savepoint(True, str(tmp_path / "saved")).result()
    client.get_job_execution_result().result()
    assert written(tmp_path) == ['{"key":"a"}']
    assert open_savepoint(path).manifest.ended == "drain"


def _records(client: ps.JobClient) -> int:
    counts: dict[str, int] = client.get_accumulators().result()
    return counts.get("lines.numRecordsOut", 0)


@pytest.mark.parametrize(
    ("mode", "reason"), [("BATCH", "SAVEPOINTS.*batch mode"), ("STREAMING", "SAVEPOINT_JOB_ENDED")]
)
def test_a_job_that_has_ended_takes_no_savepoint(tmp_path: Path, mode: str, reason: str) -> None:
    env = environment(tmp_path, execution_runtime__mode=mode)
    env.from_collection([1]).print()
    client = env.execute_async()
    client.get_job_execution_result().result()
    with pytest.raises(CheckpointError, match=reason):
        client.trigger_savepoint(str(tmp_path)).result()
