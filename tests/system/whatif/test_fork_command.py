"""`penstock fork` and `penstock replay` as commands."""

from __future__ import annotations

import json
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from typer.testing import CliRunner

import penstock as ps
from penstock.cli.main import app
from penstock.state_processor import SavepointWriter

PROGRAM = """
import penstock as ps
from penstock.connectors import JsonLinesSink


class Totals(ps.KeyedProcessFunction):
    def open(self, runtime_context):
        self.total = runtime_context.get_state(ps.ValueStateDescriptor("total", int))

    def process_element(self, value, ctx):
        self.total.update((self.total.value() or 0) + ADDED(value))
        yield {"key": ctx.get_current_key(), "total": self.total.value()}


env = ps.StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(2)
numbers = env.from_collection(list(range(20))).uid("numbers")
totals = numbers.key_by(lambda n: n % 4).process(Totals()).uid("totals")
totals.sink_to(JsonLinesSink("real")).uid("out")
totals.filter(lambda row: row["total"] > 1000).print().uid("high")
env.execute("totals")
"""


def prepare(tmp_path: Path) -> str:
    rows = [{"key": k, "value": 1000} for k in range(4)]
    state = ps.ValueStateDescriptor("total", int)
    (tmp_path / "old.py").write_text(PROGRAM.replace("ADDED(value)", "value"))
    (tmp_path / "new.py").write_text(PROGRAM.replace("ADDED(value)", "value + (value == 16)"))
    return SavepointWriter.new_savepoint(128).with_state("totals", state, rows).write(str(tmp_path / "savepoint")).path


@pytest.mark.spark
@pytest.mark.long
def test_fork_compares_two_programs(tmp_path: Path) -> None:
    savepoint = prepare(tmp_path)
    command = [
        sys.executable,
        "-m",
        "penstock",
        "fork",
        savepoint,
        "old.py",
        "new.py",
        "--key",
        "key",
        "-D",
        "spark.master=local[2]",
    ]
    completed = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=300)
    assert completed.returncode == 0, completed.stderr
    assert not (tmp_path / "real").exists(), "nothing may be written to the real sink"
    assert "sink 'out' (JsonLinesSink) was redirected to files" in completed.stdout
    assert "sink 'high' (print) was redirected" in completed.stdout
    by_sink = {d["sink"]: d for d in json.loads((tmp_path / "fork" / "comparison.json").read_text())}
    # Number 16 is the last of key 0: one row differs in each sink.
    assert {s: (d["rows"], d["same"], d["only_here"], d["keys_differ"]) for s, d in by_sink.items()} == {
        "out": (20, 19, 1, 1),
        "high": (19, 18, 1, 1),  # 0 adds nothing to 1000
    }
    assert by_sink["out"]["examples_of_keys"] == [["0", '{"key":0,"total":1040}', '{"key":0,"total":1041}']]
    ET.parse(tmp_path / "fork" / "comparison.svg")
    refused = subprocess.run(
        [sys.executable, "-m", "penstock", "replay", savepoint, "old.py", "-D", "spark.master=local[2]"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert refused.returncode == 1
    assert "REPLAY_APPENDS" in refused.stderr


def test_errors_are_reported_before_a_program_runs(tmp_path: Path) -> None:
    savepoint = prepare(tmp_path)
    job = str(tmp_path / "old.py")
    nothing = CliRunner().invoke(app, ["fork", str(tmp_path / "nothing"), job, job, "--out", str(tmp_path / "out")])
    assert (nothing.exit_code, "NO_SAVEPOINT" in nothing.output) == (1, True)
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").write_text("mine")
    full = CliRunner().invoke(app, ["fork", savepoint, job, job, "--out", str(tmp_path / "full")])
    assert (full.exit_code, "FORK_FOLDER" in full.output) == (1, True)
    assert [f.name for f in (tmp_path / "full").iterdir()] == ["file"]
