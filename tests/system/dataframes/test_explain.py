"""`penstock explain` shows whether a job can run in real-time mode."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from typer.testing import CliRunner

from penstock.cli.main import app

PROGRAM = """
import penstock as ps
from penstock.connectors import SparkSink

env = ps.StreamExecutionEnvironment.get_execution_environment()
stream = env.from_dataframe(env.spark_session().readStream.format("rate").load())
STREAM.sink_to(SparkSink("kafka", {"topic": "out", "kafka.sasl.password": "open-sesame-4711"}))
env.execute()
"""


@pytest.mark.spark
@pytest.mark.parametrize(
    ("stream", "expected"),
    [
        ("stream", "possible: set execution.real-time-mode"),
        ("stream.map(lambda r: 'x', output_type=ps.Types.STRING())", "not possible: 'map' (job.py:7) runs Python"),
    ],
)
def test_explain_shows_real_time_mode(spark: SparkSession, tmp_path: Path, stream: str, expected: str) -> None:
    job = tmp_path / "job.py"
    job.write_text(PROGRAM.replace("STREAM", stream))
    assert f"real-time mode {expected}" in CliRunner().invoke(app, ["explain", str(job)]).stdout
    shown = CliRunner().invoke(app, ["explain", str(job), "--json"]).stdout
    assert json.loads(shown)[0]["real_time"] == expected
    assert "open-sesame" not in shown
