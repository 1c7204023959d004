"""Invalid records on Spark: dead letters once, or counted in the metrics of the job."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import penstock as ps
from penstock.connectors import JsonLinesSink
from penstock.formats.strings import SimpleStringSchema
from tests.system.spark.processes import lines_of
from tests.system.spark.test_jobs import environment
from tests.unit.formats.messages import Messages
from tests.unit.formats.test_on_error import MESSAGES

pytestmark = pytest.mark.spark


def test_dead_letters_and_metrics(spark: SparkSession, tmp_path: Path) -> None:
    env = environment(tmp_path)
    aside = env.from_source(Messages(MESSAGES, SimpleStringSchema()), source_name="clicks", on_error="dead_letter")
    aside.sink_to(JsonLinesSink(tmp_path / "good"))
    dead = aside.get_side_output(ps.DEAD_LETTERS).map(
        lambda d: [d.topic, d.partition, d.offset, d.error, d.element.hex()]
    )
    dead.key_by(lambda d: d[0]).reduce(lambda a, b: b).sink_to(JsonLinesSink(tmp_path / "dead"))
    dropped = env.from_source(Messages(MESSAGES, SimpleStringSchema()), source_name="dropped", on_error="skip")
    dropped.sink_to(JsonLinesSink(tmp_path / "rest"))
    result = env.execute()
    assert lines_of(tmp_path / "good") == lines_of(tmp_path / "rest") == ['"a"', '"b"', '"c"', '"d"']
    assert lines_of(tmp_path / "dead") == sorted(
        f'["clicks",0,{at},"UnicodeDecodeError","{MESSAGES[at].hex()}"]' for at in (1, 4, 5, 6, 7)
    )
    assert sum(report["skipped"].get("dropped-1", 0) for report in result.batches) == 5
    assert sum(report["dead"].get("clicks-1", 0) for report in result.batches) == 5
