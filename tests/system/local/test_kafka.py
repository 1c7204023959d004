"""The local engine from Kafka to Kafka (in transactions) and files, after kill -9: every row is there exactly once."""

from __future__ import annotations

import random
import time
from pathlib import Path

import pytest

from penstock.jobs.checkpoint.batch_log import BatchLog
from tests.servers import Kafka
from tests.system.chaos.events import PARTITIONS
from tests.system.chaos.run import ChaosTest, compare, produce
from tests.waiting import until

EVENTS = 20_000


def batches(checkpoints: Path) -> int:
    """The number of committed batches of the only job."""
    return sum(BatchLog(folder).read()[0].next_batch for folder in checkpoints.glob("*") if folder.is_dir())


def test_kafka_exactly_once_after_kills(kafka: Kafka, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PENSTOCK_OPTIONS", '{"execution.engine": "local"}')
    topics = {name: kafka.create_topic(partitions=PARTITIONS) for name in ("events", "running", "windows")}
    produce(kafka, topics["events"], EVENTS)
    folders = {name: str(tmp_path / name) for name in ("checkpoints", "local", "files")}
    settings = {**topics, **folders, "bootstrap": kafka.bootstrap, "per_batch": 200, "resume": ""}
    rng = random.Random(5)
    test = ChaosTest(tmp_path, kafka, None, settings, rng)
    job = test.start_job()
    for batch in (5, 20, 40):
        until(lambda: not job.running() or batches(tmp_path / "checkpoints") > batch)  # noqa: B023
        time.sleep(rng.random() * 0.05)  # the kill is anywhere in a batch
        assert job.running(), job.text()[-3000:]
        job.kill_driver()
        job = test.start_job()
    job.process.wait(300)
    assert job.done(), job.text()[-3000:]
    compared = compare(test, EVENTS)
    assert all(missing == surplus == 0 for _, missing, surplus in compared.values()), compared
