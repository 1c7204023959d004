"""Jobs of the local engine: results, restarts, batch mode, errors, and what it does not run."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import penstock as ps
from penstock.connectors import DataGeneratorSource, DiscardingSink, JsonLinesSink
from penstock.connectors.dataframe import ForeachBatchSink
from penstock.errors import CheckpointError, ConfigError, JobError, UnsupportedOperation, UserFunctionError
from penstock.jobs.registry.registry import registry_of
from penstock.jobs.run.run import active_runs
from tests.locations import ROOT
from tests.unit.local.jobs import FileLines, append, environment, totals
from tests.waiting import until


def test_collected_results(tmp_path: Path) -> None:
    env = environment(tmp_path)
    assert list(env.from_sequence(1, 5).map(lambda n: n * n).execute_and_collect()) == [1, 4, 9, 16, 25]


def test_the_result_of_a_job(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    env = environment(tmp_path, source_batch_records=2)
    env.from_collection([3, 1, 2]).name("numbers").print()
    result = env.execute("print")
    assert capsys.readouterr().out.split() == ["3", "1", "2"]
    assert [batch["read"] for batch in result.batches] == [{"0": 2}, {"0": 1}, {}]
    assert result.get_accumulator_result("numbers.numRecordsOut") == 3
    entry = registry_of().entry(result.job_id)
    assert entry is not None
    assert (entry.status, entry.master, entry.checkpoint) == ("finished", "in-process", result.checkpoint)


@pytest.mark.parametrize("parallelism", [1, 3])
def test_keyed_state_with_several_slots(tmp_path: Path, parallelism: int) -> None:
    env = environment(tmp_path, source_batch_records=7).set_parallelism(parallelism)
    pairs = env.from_sequence(0, 99).map(lambda n: (n % 10, n)).key_by(lambda v: v[0])
    totals = dict(pairs.reduce(lambda a, b: (a[0], a[1] + b[1])).execute_and_collect())
    assert totals == {key: sum(range(key, 100, 10)) for key in range(10)}


def test_batch_mode(tmp_path: Path) -> None:
    env = environment(tmp_path, execution_runtime__mode="BATCH")
    sums = env.from_sequence(1, 10).key_by(lambda n: n % 2).reduce(lambda a, b: a + b)
    assert sorted(sums.execute_and_collect()) == [25, 30]
    assert not list((tmp_path / "checkpoints").iterdir())


def test_a_job_is_restarted_by_its_strategy_and_loses_nothing(tmp_path: Path) -> None:
    marker = tmp_path / "failed"

    def fail_once(n: int) -> dict[str, int]:
        if n == 25 and not marker.exists():
            marker.write_text("")
            raise ValueError("once")
        return {"n": n}

    options = {"restart__strategy_type": "fixed-delay", "restart__strategy_fixed__delay_delay": "1 ms"}
    env = environment(tmp_path, source_batch_records=10, **options)
    env.from_sequence(0, 49).map(fail_once).sink_to(JsonLinesSink(tmp_path / "out"))
    result = env.execute()
    assert result.attempts == 2
    lines = [line for file in sorted((tmp_path / "out").glob("part-*")) for line in file.read_text().splitlines()]
    assert lines == [f'{{"n":{n}}}' for n in range(50)]


def test_an_error_names_operator_key_and_line(tmp_path: Path) -> None:
    append(tmp_path / "lines", "a 1", "b x")
    env = environment(tmp_path)
    totals(env, tmp_path / "lines").print()
    with pytest.raises(UserFunctionError) as raised:
        env.execute()
    assert "jobs.py" in str(raised.value)
    assert "b x" in str(raised.value)
    assert status_of_job(tmp_path) == "failed"


def status_of_job(folder: Path) -> str:
    """The status in the registry of the only job with a checkpoint below a folder."""
    (status,) = [entry.status for entry in registry_of().entries() if entry.checkpoint.startswith(str(folder))]
    return status


def test_a_job_in_the_background(tmp_path: Path) -> None:
    lines = tmp_path / "lines"
    append(lines, "a 1")
    env = environment(tmp_path)
    totals(env, lines).map(lambda v: {"key": v[0], "total": v[1]}).sink_to(JsonLinesSink(tmp_path / "out"))
    client = env.execute_async("totals")
    until(lambda: written(tmp_path) == ['{"key":"a","total":1}'])
    append(lines, "a 2")
    until(lambda: written(tmp_path)[1:] == ['{"key":"a","total":3}'])
    assert client.get_job_status().result().name == "RUNNING"
    client.cancel().result()
    with pytest.raises(JobError, match="JOB_CANCELED"):
        client.get_job_execution_result().result()


def written(folder: Path) -> list[str]:
    return [line for file in sorted((folder / "out").glob("part-*")) for line in file.read_text().splitlines()]


def test_processing_time_timers_fire_without_new_records(tmp_path: Path) -> None:
    class Later(ps.KeyedProcessFunction):
        def process_element(self, value: Any, ctx: Any) -> None:
            timers = ctx.timer_service()
            timers.register_processing_time_timer(timers.current_processing_time() + 50)

        def on_timer(self, timestamp: int, ctx: Any) -> Any:
            yield "fired"

    append(tmp_path / "lines", "a 1")
    env = environment(tmp_path)
    keyed = env.from_source(FileLines(tmp_path / "lines")).key_by(lambda v: 0)
    found = keyed.process(Later()).execute_and_collect()
    assert next(iter(found)) == "fired"
    found.close()


def test_a_result_that_nobody_reads_ends_its_job(tmp_path: Path) -> None:
    others = active_runs()
    found = environment(tmp_path).from_sequence(1, 3).execute_and_collect()
    (run,) = (run for run in active_runs() if run not in others)
    found.close()
    assert run not in active_runs()
    others = active_runs()
    dropped = environment(tmp_path).from_sequence(1, 3).execute_and_collect()
    (run,) = (run for run in active_runs() if run not in others)
    del dropped
    assert run not in active_runs()


def test_closing_the_iterator_cancels_the_job(tmp_path: Path) -> None:
    env = environment(tmp_path)
    with env.from_generator(lambda n: n).execute_and_collect() as numbers:
        assert next(iter(numbers)) == 0
    assert status_of_job(tmp_path) == "cancelled"


def test_what_needs_spark_is_refused_with_its_name(tmp_path: Path) -> None:
    env = environment(tmp_path)
    rows = env.from_collection([ps.Row(n=1)], ps.Types.ROW_NAMED(["n"], [ps.Types.LONG()]))
    rows.sink_to(ForeachBatchSink(print)).name("into tables")
    with pytest.raises(
        UnsupportedOperation, match=r"NEEDS_SPARK.*'into tables' \(test_engine.py:\d+\).*without --local"
    ):
        env.execute()
    with pytest.raises(UnsupportedOperation, match="NEEDS_SPARK"):
        env.spark_session()
    env = environment(tmp_path, execution_real__time__mode="5 s")
    env.from_collection([1]).sink_to(DiscardingSink())
    with pytest.raises(UnsupportedOperation, match="real-time-mode"):
        env.execute()


def test_unknown_engine(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="spark, local or module:class"):
        environment(tmp_path, execution_engine="flink").get_parallelism()


@pytest.mark.parametrize(("timeout", "batches"), [(None, 2), (-1, 2)])
def test_a_bounded_source_ends_with_every_buffer_timeout(tmp_path: Path, timeout: int | None, batches: int) -> None:
    env = environment(tmp_path)
    if timeout is not None:
        env.set_buffer_timeout(timeout)
    env.from_collection([1, 2, 3]).sink_to(DiscardingSink())
    assert len(env.execute().batches) == batches


def test_records_wait_for_a_full_batch_without_a_buffer_timeout(tmp_path: Path) -> None:
    env = environment(tmp_path, source_batch_records=50).set_buffer_timeout(-1)
    env.from_source(DataGeneratorSource(lambda n: {"n": n}, rate=2000)).sink_to(JsonLinesSink(tmp_path / "out"))
    client = env.execute_async()
    until(lambda: len(list((tmp_path / "out").glob("part-*"))) > 3)
    client.cancel().result()
    assert {len(file.read_text().splitlines()) for file in (tmp_path / "out").glob("part-*")} == {50}


def test_another_engine_does_not_resume_a_checkpoint(tmp_path: Path) -> None:
    env = environment(tmp_path)
    env.from_collection([1]).sink_to(DiscardingSink())
    checkpoint = env.execute().checkpoint
    description = Path(checkpoint, "penstock", "job.json")
    description.write_text(description.read_text().replace('"engine": "local"', '"engine": "spark"'))
    env = environment(tmp_path, execution_resume=checkpoint)
    env.from_collection([1]).sink_to(DiscardingSink())
    with pytest.raises(CheckpointError, match=r"CHECKPOINT_ENGINE.*--from-savepoint"):
        env.execute()


def test_no_heavy_module_is_imported(tmp_path: Path) -> None:
    program = tmp_path / "job.py"
    program.write_text(
        "import sys, penstock as ps\n"
        "env = ps.StreamExecutionEnvironment.get_execution_environment()\n"
        "env.from_collection([1, 2]).key_by(lambda n: 0).reduce(lambda a, b: a + b).print()\n"
        "env.execute()\n"
        "print(sorted({'pyspark', 'pandas', 'py4j', 'confluent_kafka', 'lmdb', 'fsspec'} & set(sys.modules)))\n"
    )
    command = [sys.executable, "-m", "penstock", "run", "--local", "-D", f"execution.checkpointing.dir={tmp_path}"]
    done = subprocess.run([*command, str(program)], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout.split("\n") == ["1", "3", "[]", ""]
