"""A SQL job with a join, a window and an upsert sink is killed many times: its final table is that of an undisturbed run."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from penstock.jobs.registry.registry import registry_of
from tests.servers import Kafka, Postgres
from tests.system.spark.processes import JobProcess

ROWS, ITEMS, KILLS = 60_000, 50, 20
SCRIPT = """
SET 'pipeline.name' = '{name}';
SET 'parallelism.default' = '2';
SET 'source.batch.records' = '300';
SET 'execution.checkpointing.min-pause' = '50 ms';
CREATE TABLE orders (id INT, item INT, amount INT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts - INTERVAL '5' SECOND)
WITH ('connector' = 'kafka', 'topic' = '{topic}', 'properties.bootstrap.servers' = '{kafka}', 'format' = 'json',
  'scan.startup.mode' = 'earliest-offset', 'scan.bounded.mode' = 'latest-offset');
CREATE TABLE items (item INT, category STRING) WITH ('connector' = 'filesystem', 'path' = '{folder}/items', 'format' = 'json');
CREATE TABLE totals (start_time TIMESTAMP(3), category STRING, orders BIGINT, amount BIGINT, most INT,
  PRIMARY KEY (start_time, category) NOT ENFORCED)
WITH ('connector' = 'jdbc', 'url' = '{url}', 'username' = 'postgres', 'table-name' = '{table}');
INSERT INTO totals
SELECT w.window_start, i.category, SUM(w.orders), SUM(w.amount), MAX(w.most)
FROM (
  SELECT window_start, item, COUNT(*) AS orders, SUM(amount) AS amount, MAX(amount) AS most
  FROM TABLE(TUMBLE(TABLE orders, DESCRIPTOR(ts), INTERVAL '10' SECOND)) GROUP BY window_start, window_end, item
) AS w JOIN items AS i ON w.item = i.item
GROUP BY w.window_start, i.category;
"""


class SqlProcess(JobProcess):
    """A command of Penstock in a process session of its own."""

    def __init__(self, folder: Path, *command: str) -> None:
        self.log = folder / f"log-{time.monotonic_ns()}"
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "penstock", *command],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                cwd=folder,
                start_new_session=True,
            )


def make_input(folder: Path, kafka: Kafka, rng: random.Random) -> tuple[str, list[tuple[str, str, int, int, int]]]:
    """Writes the input. Returns the topic of the orders, and the table that the input must lead to."""
    categories = {item: f"category {item % 7}" for item in range(ITEMS)}
    (folder / "items").mkdir(parents=True)
    # Two thirds of the items are there once, the others twice, so that the join has several matches.
    lines = [json.dumps({"item": i, "category": c}) for i, c in categories.items() for _ in range(1 + (i % 3 == 0))]
    (folder / "items" / "1.json").write_text("\n".join(lines) + "\n")
    counts: Counter[tuple[str, str]] = Counter()
    sums: Counter[tuple[str, str]] = Counter()
    most: dict[tuple[str, str], int] = {}
    lines = []
    for number in range(ROWS):
        item, amount = rng.randrange(ITEMS + 3), rng.randrange(1000)  # three items are not in the table
        second = max(0, number // 100 - rng.randrange(4))  # out of order, but never late
        stamp = f"2026-01-01 {second // 3600:02d}:{second // 60 % 60:02d}:{second % 60:02d}"
        lines.append(json.dumps({"id": number, "item": item, "amount": amount, "ts": stamp}))
        if item in categories:
            start = second // 10 * 10
            key = f"2026-01-01 {start // 3600:02d}:{start // 60 % 60:02d}:{start % 60:02d}", categories[item]
            copies = 1 + (item % 3 == 0)
            counts[key] += copies
            sums[key] += amount * copies
            most[key] = max(most.get(key, 0), amount)
    topic = kafka.create_topic(partitions=2)
    kafka.produce(topic, lines)
    expected = sorted(
        (start, category, counts[start, category], sums[start, category], most[start, category])
        for start, category in counts
    )
    return topic, expected


def create_table(postgres: Postgres) -> str:
    name = postgres.new_name("totals")
    postgres.execute(
        f'CREATE TABLE "{name}" (start_time TIMESTAMP, category TEXT, orders BIGINT, amount BIGINT, most INT, '
        "PRIMARY KEY (start_time, category))"
    )
    return name


def contents(postgres: Postgres, table: str) -> list[tuple[object, ...]]:
    return postgres.execute(f'SELECT start_time::text, category, orders, amount, most FROM "{table}" ORDER BY 1, 2')


def batches(name: str) -> int:
    """How many batches the current run of a job has committed; -1 if the job does not run yet."""
    registry = registry_of()
    entry = next((e for e in registry.entries() if e.name == name), None)
    if entry is None or entry.status != "running" or entry.current_status() == "lost":
        return -1
    progress = registry.progress(entry.id)
    return -1 if progress is None else progress.batches


def run(folder: Path, name: str, script: Path, engine: list[str], kills: int, rng: random.Random) -> int:
    """Runs a script to its end, kills its process at random times, and resumes the job. Returns how often it was killed."""
    job = SqlProcess(folder, "sql", *engine, "-f", str(script))
    done, deadline = 0, time.monotonic() + 3000
    while True:
        if done < kills:
            while batches(name) < 0 and job.running():
                time.sleep(0.01)
            first, more = batches(name), rng.randrange(4)
            while job.running() and 0 <= batches(name) <= first + more:
                assert time.monotonic() < deadline, job.text()[-3000:]
                time.sleep(0.005)
            time.sleep(rng.random() * 0.1)
            if job.running():
                job.kill_driver()
                done += 1
                job = SqlProcess(folder, "resume", name)
                continue
        assert job.process.wait(deadline - time.monotonic()) == 0, job.text()[-3000:]
        return done


@pytest.mark.long
@pytest.mark.parametrize(
    ("engine", "kills"),
    [
        pytest.param(["--local"], KILLS, id="local"),
        pytest.param(["--master", "local[2]"], KILLS, id="spark", marks=pytest.mark.spark),
    ],
)
def test_the_final_table_is_that_of_an_undisturbed_run(
    tmp_path: Path, kafka: Kafka, postgres: Postgres, monkeypatch: pytest.MonkeyPatch, engine: list[str], kills: int
) -> None:
    monkeypatch.setenv("PENSTOCK_HOME", str(tmp_path / "home"))
    seed = random.randrange(2**32)
    print(f"seed {seed}")
    rng = random.Random(seed)
    topic, expected = make_input(tmp_path, kafka, rng)
    tables = {}
    for name, count in (("undisturbed", 0), ("killed", kills)):
        tables[name] = create_table(postgres)
        script = tmp_path / f"{name}.sql"
        script.write_text(
            SCRIPT.format(
                name=name, folder=tmp_path, topic=topic, kafka=kafka.bootstrap, url=postgres.url, table=tables[name]
            )
        )
        assert run(tmp_path, name, script, engine, count, rng) == count, "the job ended before all kills"
    assert contents(postgres, tables["undisturbed"]) == expected
    assert contents(postgres, tables["killed"]) == expected
