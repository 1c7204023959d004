"""The broker of an unbounded job is away for minutes. With default options the job continues, and every record is counted once.

`PENSTOCK_BROKER_AWAY_SECONDS=600 pytest -m long tests/system/kafka/test_broker_away.py` runs the test for ten minutes.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import penstock as ps
from penstock.connectors.kafka import DeliveryGuarantee
from penstock.datastream.jobs.job_status import JobStatus
from tests.servers import Kafka
from tests.system.kafka.jobs import builder
from tests.system.kafka.test_on_spark import Count
from tests.system.kafka.writing import sink_to
from tests.system.spark.processes import lines_of
from tests.system.spark.test_jobs import environment
from tests.waiting import until

pytestmark = [pytest.mark.spark, pytest.mark.long]

AWAY_SECONDS = float(os.environ.get("PENSTOCK_BROKER_AWAY_SECONDS", "90"))
RECORDS, KEYS = 3000, 7


@pytest.fixture
def broker() -> Iterator[Kafka]:
    """A broker that no other test uses."""
    kafka = Kafka()
    yield kafka
    kafka.stop()


def expected(records: int) -> list[tuple[int, int]]:
    return sorted((n % KEYS, n // KEYS + 1) for n in range(records))


@pytest.mark.parametrize("engine", ["spark", "local"])
def test_a_broker_that_is_away(
    broker: Kafka, tmp_path: Path, capsys: pytest.CaptureFixture[str], request: pytest.FixtureRequest, engine: str
) -> None:
    if engine == "spark":
        request.getfixturevalue("spark")
    topic, output = broker.create_topic(partitions=2), broker.create_topic(partitions=2)
    env = environment(tmp_path, **{"execution.engine": engine})
    numbers = env.from_source(builder(broker, topic).build(), ps.WatermarkStrategy.no_watermarks(), "numbers")
    counts = numbers.key_by(lambda text: int(text) % KEYS).process(Count()).map(json.dumps)
    counts.sink_to(ps.connectors.JsonLinesSink(tmp_path / "lines")).uid("lines")
    counts.sink_to(sink_to(broker.bootstrap, output, DeliveryGuarantee.EXACTLY_ONCE)).uid("records")

    def lines() -> list[tuple[int, int]]:
        return sorted(tuple(json.loads(json.loads(line))) for line in lines_of(tmp_path / "lines"))

    client, shown = env.execute_async("away"), ""
    try:
        broker.produce(topic, map(str, range(RECORDS)))
        until(lambda: len(lines()) >= RECORDS)
        broker.kill()
        deadline = time.monotonic() + AWAY_SECONDS
        while time.monotonic() < deadline:
            time.sleep(1)
            shown += capsys.readouterr().err
            assert client.get_job_status().result() in (JobStatus.RUNNING, JobStatus.RESTARTING), shown
        broker.start()
        broker.produce(topic, map(str, range(RECORDS, 2 * RECORDS)))
        until(lambda: len(lines()) >= 2 * RECORDS, seconds=300)
        until(lambda: len(broker.values(output)) >= 2 * RECORDS)
    finally:
        shown += capsys.readouterr().err
        client.cancel().result()
    print(shown)
    assert lines() == expected(2 * RECORDS)
    found = sorted(tuple(json.loads(value)) for value in broker.values(output) if value is not None)
    assert found == expected(2 * RECORDS)
