"""Files on Spark: after kill -9 every row is in every sink exactly once."""

from __future__ import annotations

import gzip
import json
import os
import random
import time
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from penstock import Duration, WatermarkStrategy
from penstock.connectors import Encoder, FileSink, FileSource, RollingPolicy, StreamFormat, json_lines
from penstock.connectors.file.system.file_system import file_system
from penstock.functions import count
from penstock.windows import TumblingEventTimeWindows
from tests.locations import PROGRAMS
from tests.system.spark.processes import JobProcess, checkpoint_in
from tests.system.spark.test_jobs import environment
from tests.unit.connectors.conftest import ObjectStore, _moto, s3  # noqa: F401 - fixtures
from tests.waiting import until

JOB = PROGRAMS / "files_to_files.py"


def visible(folder: Path) -> list[Path]:
    """Returns the files that readers see. Hidden folders are skipped, because a running job creates and removes them."""
    found: list[Path] = []
    for at, below, names in os.walk(folder):
        below[:] = [name for name in below if not name.startswith(".")]
        found += [Path(at, name) for name in names]
    return found


def rows_in(folder: Path) -> list[int]:
    return sorted(json.loads(line)["n"] for file in visible(folder) for line in file.read_text().splitlines())


def make_input(folder: Path, rows: int) -> None:
    """Writes files of different sizes, every third one compressed."""
    folder.mkdir(parents=True)
    each = rows // 12
    for number in range(12):
        text = "".join(f'{{"n":{n}}}\n' for n in range(number * each, (number + 1) * each)).encode()
        if number % 3:
            (folder / f"{number}.jsonl").write_bytes(text)
        else:
            (folder / f"{number}.jsonl.gz").write_bytes(gzip.compress(text))


def run_disturbed(root: Path, rows: int, batch: int, kills: list[str], rng: random.Random) -> None:
    make_input(root / "in", rows)
    arguments = [str(root / "out"), str(root / "checkpoints"), str(root / "in"), str(batch)]
    job = JobProcess(JOB, *arguments)
    deadline = time.monotonic() + 900
    while not job.done():
        assert time.monotonic() < deadline, job.text()[-3000:]
        if not job.running():
            job = JobProcess(JOB, *arguments, checkpoint_in(root / "checkpoints"))
        if not kills:
            job.process.wait(600)
            continue
        seen = len(visible(root / "out" / "each-batch"))
        while job.running() and len(visible(root / "out" / "each-batch")) <= seen + 1:
            time.sleep(0.02)
        time.sleep(rng.random() * 0.4)
        if job.running():
            who = kills.pop()
            if who == "driver" or not job.kill_worker(rng):
                job.kill_driver()
    assert not kills, "the job ended before all kills were done"


def check(root: Path, rows: int) -> None:
    for name in ("rolled", "joined", "each-batch"):
        folder = root / "out" / name
        assert rows_in(folder) == list(range(rows)), name
        assert sorted(folder.rglob("*")) == sorted({*visible(folder), *(f for f in folder.glob("group=*"))}), (
            "a hidden file is left"
        )
    assert all(
        json.loads(f.read_text().split("\n")[0])["n"] % 3 == int(f.parent.name[-1])
        for f in visible(root / "out" / "rolled")
    )
    assert len(visible(root / "out" / "joined")) < len(visible(root / "out" / "each-batch")) / 2


@pytest.mark.spark
def test_every_row_is_written_once_after_a_kill(tmp_path: Path) -> None:
    run_disturbed(tmp_path, 24_000, 24_000, ["driver"], random.Random(1))
    check(tmp_path, 24_000)


@pytest.mark.long
def test_every_row_is_written_once_after_many_kills(tmp_path: Path) -> None:
    rng = random.Random(2)
    run_disturbed(tmp_path, 360_000, 60_000, [rng.choice(("worker", "driver")) for _ in range(10)], rng)
    check(tmp_path, 360_000)


@pytest.mark.spark
def test_new_files_are_read_and_inactive_output_files_become_visible(spark: SparkSession, tmp_path: Path) -> None:
    """No element follows the second file, so the sink requests the batch that makes its rows visible."""
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.jsonl").write_text('{"n":0}\n')
    lines = StreamFormat.json_line_format()
    source = FileSource.for_record_stream_format(lines, str(tmp_path / "in"))
    policy = RollingPolicy.default_rolling_policy(inactivity_interval=400)
    sink = FileSink.for_row_format(tmp_path / "out", Encoder.json_lines()).with_rolling_policy(policy)
    env = environment(tmp_path)
    env.from_source(source.monitor_continuously(Duration.of_millis(50)).build()).sink_to(sink.build())
    client = env.execute_async("new files")
    until(lambda: (tmp_path / "out").exists())
    (tmp_path / "in" / ".b").write_text('{"n":1}\n{"n":2}\n')
    (tmp_path / "in" / ".b").rename(tmp_path / "in" / "b.jsonl")
    until(lambda: rows_in(tmp_path / "out") == [0, 1, 2])
    client.cancel().result()


@pytest.mark.long
def test_an_object_store(spark: SparkSession, s3: ObjectStore, tmp_path: Path) -> None:  # noqa: F811
    """Executors use credentials that are not stored in the checkpoint."""
    system = file_system(s3.path, s3.options)
    for number in range(3):
        file = system.create(f"{s3.path}/in/{number}.jsonl")
        file.write(f'{{"n":{number}}}\n{{"n":{number + 10}}}\n'.encode())
        system.close(file)
    env = environment(tmp_path)
    rows = env.from_source(json_lines(f"{s3.path}/in", storage_options=s3.options))
    sink = FileSink.for_row_format(f"{s3.path}/out", Encoder.json_lines()).with_storage_options(s3.options)
    rows.key_by(lambda row: row["n"]).map(lambda row: row).sink_to(sink.build())
    env.execute("object store")
    (written,) = system.list_recursively(f"{s3.path}/out")
    with system.open(written.path) as file:
        assert sorted(json.loads(line)["n"] for line in file.read().splitlines()) == [0, 1, 2, 10, 11, 12]
    files = [f for f in tmp_path.rglob("*") if f.is_file()]
    assert files
    assert not any(s3.options["secret_key"].encode() in f.read_bytes() for f in files)


@pytest.mark.spark
def test_files_that_overlap_in_time_lose_no_record(spark: SparkSession, tmp_path: Path) -> None:
    """Two files of the same ten minutes, each in order, in several batches."""
    (tmp_path / "in").mkdir()
    for name in "ab":
        lines = "".join(f'{{"at": {at}}}\n' for at in range(0, 600_000, 1000))
        (tmp_path / "in" / f"{name}.jsonl").write_text(lines)
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda v, _: v["at"])
    stream = environment(tmp_path).from_source(json_lines(tmp_path / "in", bytes_per_batch=3000), strategy)
    windows = stream.key_by(lambda v: 0).window(TumblingEventTimeWindows.of(60_000)).aggregate(count())
    assert list(windows.execute_and_collect()) == [120] * 10
