"""Forks and replays on a real Spark."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from pyspark.sql import SparkSession

import penstock as ps
from penstock.connectors import FileSource, JsonLinesSink, SimpleSink, StreamFormat
from penstock.engine.program.builder import build_program
from penstock.errors import PlanError
from penstock.spark.checkpoint.spark_log import last_committed_batch, read_offsets
from penstock.spark.savepoint.retained_checkpoint import savepoint_from_checkpoint
from penstock.whatif.comparison import compare_outputs, read_lines
from penstock.whatif.plan import ForkPlan, ForkRun, read_plan
from tests.system.spark.test_jobs import environment
from tests.waiting import until

pytestmark = pytest.mark.spark
ENGINE = "penstock.whatif.engine:ForkEngine"


class Totals(ps.KeyedProcessFunction):
    """Sums up values. `add` changes the values in a faulty version."""

    def __init__(self, add: Callable[[int], int] = lambda n: n) -> None:
        self.add = add

    def open(self, runtime_context: Any) -> None:
        self.total = runtime_context.get_state(ps.ValueStateDescriptor("total", int))

    def process_element(self, value: int, ctx: Any) -> Iterator[Any]:
        self.total.update((self.total.value() or 0) + self.add(value))
        yield {"key": ctx.get_current_key(), "total": self.total.value()}


class LatestValues(SimpleSink):
    """Writes the last total of each key to a file."""

    upserts = True

    def __init__(self, file: Path) -> None:
        self.file = str(file)

    def publish(self, batch: str, written: list[Any]) -> None:
        file = Path(self.file)
        values = json.loads(file.read_text()) if file.exists() else {}
        values.update({row["key"]: row["total"] for part in written for row in part})
        file.write_text(json.dumps(values))


def job(env: ps.StreamExecutionEnvironment, folder: Path, sink: Any, function: Totals) -> ps.StreamExecutionEnvironment:
    lines = FileSource.for_record_stream_format(StreamFormat.text_line_format(), str(folder / "in"))
    source = lines.monitor_continuously(ps.Duration.of_millis(50)).build()
    numbers = env.from_source(source, ps.WatermarkStrategy.no_watermarks(), "numbers").uid("numbers").map(int)
    numbers.key_by(lambda n: f"k{n % 3}").process(function).uid("totals").sink_to(sink).uid("out")
    return env


def add_input(folder: Path, name: str, numbers: range) -> None:
    (folder / "in").mkdir(exist_ok=True)
    (folder / name).write_text("".join(f"{n}\n" for n in numbers))
    (folder / name).rename(folder / "in" / name)


def reference(numbers: range) -> list[dict[str, Any]]:
    """The output of the correct version."""
    totals: dict[str, int] = {}
    rows = []
    for n in numbers:
        key = f"k{n % 3}"
        totals[key] = totals.get(key, 0) + n
        rows.append({"key": key, "total": totals[key]})
    return rows


def has_read_first_file(checkpoint: Path) -> bool:
    """Whether the batch that read the first file is committed."""
    _, offset = read_offsets(str(checkpoint), last_committed_batch(str(checkpoint)))
    return offset is not None and offset["file"] == 1


@pytest.fixture
def savepoint(spark: SparkSession, tmp_path: Path) -> str:
    """A savepoint after the first thirty numbers. Thirty more have arrived since."""
    add_input(tmp_path, "first", range(30))
    env = job(environment(tmp_path), tmp_path, JsonLinesSink(tmp_path / "real"), Totals())
    client = env.execute_async("before")
    until(lambda: len(list(read_lines(tmp_path / "real"))) == 30, 180)
    (checkpoint,) = (tmp_path / "checkpoints").iterdir()
    until(lambda: last_committed_batch(str(checkpoint)) >= 0 and has_read_first_file(checkpoint))
    client.cancel().result()
    program = build_program(job(environment(tmp_path), tmp_path, JsonLinesSink(tmp_path / "x"), Totals()).graph("same"))
    path = savepoint_from_checkpoint(str(checkpoint), program, environment(tmp_path).configuration).path
    add_input(tmp_path, "second", range(30, 60))
    return path


def run_version(tmp_path: Path, plan: ForkPlan, name: str, sink: Any, function: Totals) -> ForkRun:
    file = tmp_path / "fork" / "plan.json"
    if not file.exists():
        file.parent.mkdir(exist_ok=True)
        plan.write(file)
    options = {"execution.engine": ENGINE, "execution.fork.plan": str(file), "execution.fork.run": name}
    job(environment(tmp_path, **options), tmp_path, sink, function).execute(name)
    return msgspec.json.decode((file.parent / name / "run.json").read_bytes(), type=ForkRun)


def test_versions_read_the_same_input_and_do_not_write_to_real_sinks(savepoint: str, tmp_path: Path) -> None:
    plan = ForkPlan(savepoint, str(tmp_path / "fork"))
    same = run_version(tmp_path, plan, "same", JsonLinesSink(tmp_path / "real"), Totals())
    add_input(tmp_path, "third", range(60, 90))  # arrives after the range was fixed
    changed = Totals(lambda n: n + 1 if n == 40 else n)
    other = run_version(tmp_path, plan, "other", JsonLinesSink(tmp_path / "real"), changed)
    assert len(list(read_lines(tmp_path / "real"))) == 30, "nothing may be written to the real sink"
    (first,), (second,) = same.redirected, other.redirected
    assert (first.uid, first.kind) == ("out", "JsonLinesSink")
    rows = [json.loads(line) for line in read_lines(first.folder)]
    assert sorted(rows, key=str) == sorted(reference(range(60))[30:], key=str)
    found = compare_outputs("out", "other", Path(first.folder), Path(second.folder), "total")
    # Element 40 is of key k1, and all totals of k1 from it on are one higher.
    later = len([n for n in range(40, 60) if n % 3 == 1])
    assert (found.rows, found.only_here, found.only_in_first, found.same) == (30, later, later, 30 - later)
    assert read_plan(str(tmp_path / "fork" / "plan.json")).ranges is not None


def test_an_upsert_sink_is_repaired(savepoint: str, tmp_path: Path) -> None:
    latest = tmp_path / "latest.json"
    before = {row["key"]: row["total"] for row in reference(range(30))}
    latest.write_text(json.dumps({**before, "k1": -5}))  # written by a faulty version
    plan = ForkPlan(savepoint, str(tmp_path / "fork"), redirect=False)
    run_version(tmp_path, plan, "replay", LatestValues(latest), Totals())
    assert json.loads(latest.read_text()) == {row["key"]: row["total"] for row in reference(range(60))}
    with pytest.raises(PlanError, match="REPLAY_APPENDS"):
        run_version(tmp_path, plan, "appending", JsonLinesSink(tmp_path / "real"), Totals())
