"""The pause between batches: the configured minimum, and the pause that limits the share of checkpoints."""

from __future__ import annotations

import itertools
from pathlib import Path
from statistics import median

import pytest

import penstock as ps
from penstock.config import Configuration
from penstock.connectors import CollectSink, DataGeneratorSource
from penstock.errors import ConfigError
from penstock.jobs.registry.batch_report import BatchReport
from penstock.jobs.registry.checkpoint_stats import CheckpointStats, SparkTimings, TaskStats
from penstock.jobs.registry.history import CheckpointHistory
from penstock.jobs.registry.registry import registry_of
from penstock.jobs.run.pacing import Pacing
from penstock.spark.report.run_folder import RunFolder

MIN_PAUSE = "execution.checkpointing.min-pause"
MAX_SHARE = "execution.checkpointing.max-share"


def checkpoint(seconds: float, work: float) -> CheckpointStats:
    return CheckpointStats(0, measured=SparkTimings(1.0, seconds), tasks=[TaskStats(1, 0, 1.0, run=work)])


def test_without_options_there_is_no_pause() -> None:
    pacing = Pacing(Configuration())
    assert not pacing.enabled
    assert pacing.add(checkpoint(5.0, 0.1)) == 0.0


def test_the_minimum_pause_applies_from_the_start() -> None:
    pacing = Pacing(Configuration({MIN_PAUSE: "2 s"}))
    assert pacing.enabled
    assert pacing.pause == 2.0
    assert pacing.add(checkpoint(5.0, 0.1)) == 2.0


def test_the_pause_limits_the_share_of_checkpoints() -> None:
    pacing = Pacing(Configuration({MAX_SHARE: 0.2}))
    for _ in range(6):
        pacing.add(checkpoint(1.5, 0.5))
    assert pacing.pause == pytest.approx(1.0 / 0.2 - 1.5)  # a cycle of 5 s with an overhead of 1 s


def test_processing_time_counts_as_pause() -> None:
    pacing = Pacing(Configuration({MAX_SHARE: 0.2}))
    for _ in range(6):
        pacing.add(checkpoint(10.0, 9.0))
    assert pacing.pause == 0.0


def test_the_first_checkpoints_and_a_single_slow_one_do_not_count() -> None:
    pacing = Pacing(Configuration({MAX_SHARE: 0.5}))
    pacing.add(checkpoint(16.0, 0.1))
    pacing.add(checkpoint(8.0, 0.1))
    assert pacing.pause == 0.0
    for seconds in (1.0, 1.0, 30.0, 1.0):
        pacing.add(checkpoint(seconds, 0.2))
    assert pacing.pause == pytest.approx(0.6)


def test_the_longer_pause_counts() -> None:
    pacing = Pacing(Configuration({MIN_PAUSE: "3 s", MAX_SHARE: 0.5}))
    for _ in range(6):
        pacing.add(checkpoint(1.0, 0.0))
    assert pacing.pause == 3.0


@pytest.mark.parametrize("share", [0, 1.5, -1, "much"])
def test_an_invalid_share_is_refused(share: object) -> None:
    with pytest.raises(ConfigError, match="max-share"):
        Configuration({MAX_SHARE: share})


def test_a_run_pauses_after_its_last_batch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("penstock.spark.report.run_folder.time.time", lambda: 100.0)
    folder = RunFolder(tmp_path)
    assert not folder.is_pausing()
    folder.write_pause(3.0)
    assert not folder.is_pausing()  # there was no batch yet
    folder.write_report(BatchReport(0, ended_at=97.5))
    assert folder.is_pausing()
    folder.write_report(BatchReport(1, ended_at=96.5))
    assert not folder.is_pausing()


@pytest.mark.spark
@pytest.mark.parametrize(
    ("options", "min_pause"),
    [({MIN_PAUSE: "1500 ms"}, 1.4), pytest.param({MAX_SHARE: 0.25}, None, marks=pytest.mark.long)],
)
def test_a_job_pauses_between_batches(
    options: dict[str, object], min_pause: float | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PENSTOCK_HOME", str(tmp_path / "home"))
    env = ps.StreamExecutionEnvironment.get_execution_environment(
        ps.Configuration({"parallelism.default": 2, "execution.checkpointing.dir": str(tmp_path / "c"), **options})
    )
    count = 1200 if min_pause else 20_000
    source = DataGeneratorSource(lambda i: i, count, None if min_pause else 400, 400 if min_pause else None)
    numbers = env.from_source(source, ps.WatermarkStrategy.no_watermarks(), "numbers")
    numbers.key_by(lambda v: v % 10).reduce(lambda a, b: a + b).uid("sums").sink_to(CollectSink())
    result = env.execute("paced")
    checkpoints = [c for c in CheckpointHistory(registry_of().job_folder(result.job_id)).latest() if c.records]
    assert sum(c.records for c in checkpoints) == count
    pauses = [after.triggered - before.ended for before, after in itertools.pairwise(checkpoints)]
    if min_pause:
        # The pause starts at the commit of the sinks, shortly before Spark reports the end of the batch.
        assert len(pauses) == 2
        assert min(pauses) > min_pause - 0.4
        return
    intervals = [after.triggered - before.triggered for before, after in itertools.pairwise(checkpoints[6:])]
    share = median(c.overhead for c in checkpoints[6:]) / median(intervals)
    assert share < 0.4  # 0.25 is configured; the machine may be slow
