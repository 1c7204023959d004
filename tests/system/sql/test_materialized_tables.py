"""Materialized tables with their jobs in processes of their own: on both engines, after kill -9, with changed queries."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from penstock.jobs.registry.registry import registry_of

INIT = """
CREATE CATALOG c WITH ('type' = 'file', 'path' = 'catalog');
USE CATALOG c;
CREATE TEMPORARY TABLE sales (city STRING, amount INT) WITH (
  'connector' = 'filesystem', 'path' = 'sales', 'format' = 'json', 'source.monitor-interval' = '100 ms');
"""
CREATE = """
CREATE MATERIALIZED TABLE sums (PRIMARY KEY (city) NOT ENFORCED) FRESHNESS = INTERVAL '1' SECOND AS
SELECT city, SUM(amount) AS total FROM sales GROUP BY city
"""
ENGINES = [
    pytest.param(("--local",), id="local", marks=pytest.mark.long),
    pytest.param(("--master", "local[2]"), id="spark", marks=[pytest.mark.spark, pytest.mark.long]),
]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("PENSTOCK_HOME", str(tmp_path / "home"))
    (tmp_path / "sales").mkdir()
    (tmp_path / "init.sql").write_text(INIT)
    yield tmp_path
    for entry in registry_of().entries():
        if not entry.is_over:
            os.kill(entry.process.pid, signal.SIGKILL)


class Client:
    def __init__(self, folder: Path, engine: tuple[str, ...]) -> None:
        self.folder = folder
        self.engine = engine

    def run(self, text: str, expected: int = 0, engine: tuple[str, ...] = ()) -> str:
        command = [
            sys.executable,
            "-m",
            "penstock",
            "sql",
            *(engine or self.engine),
            "--json",
            "-i",
            "init.sql",
            "-e",
            text,
        ]
        done = subprocess.run(command, cwd=self.folder, capture_output=True, text=True, timeout=300)
        assert done.returncode == expected, done.stdout + done.stderr
        return done.stdout + done.stderr

    def rows(self, engine: tuple[str, ...] = ("--local",)) -> list[dict[str, Any]]:
        """The current rows. They are read without Spark, which takes less time."""
        lines = self.run("SELECT * FROM sums", engine=engine).splitlines()
        rows = [json.loads(line) for line in lines if line.startswith("{")]
        return sorted(({k: v for k, v in row.items() if k != "op"} for row in rows), key=lambda row: row["city"])

    def wait_for(self, expected: list[dict[str, Any]]) -> None:
        deadline = time.monotonic() + 240
        while (found := self.rows()) != expected:
            assert time.monotonic() < deadline, found

    def add(self, name: str, **amounts: int) -> None:
        lines = [json.dumps({"city": city, "amount": amount}) for city, amount in amounts.items()]
        hidden = self.folder / f".{name}"
        hidden.write_text("\n".join(lines) + "\n")
        hidden.rename(self.folder / "sales" / f"{name}.json")


def total(city: str, amount: int, **more: Any) -> dict[str, Any]:
    return {"city": city, "total": amount, **more}


@pytest.mark.parametrize("engine", ENGINES)
def test_the_life_of_a_table(folder: Path, engine: tuple[str, ...]) -> None:
    client = Client(folder, engine)
    client.add("1", Rome=1, Oslo=2)
    client.run(CREATE)
    client.wait_for([total("Oslo", 2), total("Rome", 1)])
    client.add("2", Rome=10)
    client.wait_for([total("Oslo", 2), total("Rome", 11)])
    assert client.rows(engine) == [total("Oslo", 2), total("Rome", 11)]

    client.run("ALTER MATERIALIZED TABLE sums SUSPEND")
    assert "suspended already" in client.run("ALTER MATERIALIZED TABLE sums SUSPEND", 1)
    client.add("3", Rome=100)
    assert client.rows() == [total("Oslo", 2), total("Rome", 11)]
    client.run("ALTER MATERIALIZED TABLE sums RESUME")
    assert "is not suspended" in client.run("ALTER MATERIALIZED TABLE sums RESUME", 1)
    client.wait_for([total("Oslo", 2), total("Rome", 111)])

    (job,) = [entry for entry in registry_of().entries() if not entry.is_over]
    os.kill(job.process.pid, signal.SIGKILL)
    client.add("4", Rome=1000)
    client.run("ALTER MATERIALIZED TABLE sums RESUME")
    client.wait_for([total("Oslo", 2), total("Rome", 1111)])

    refused = client.run(
        "ALTER MATERIALIZED TABLE sums AS SELECT UPPER(city) AS city, SUM(amount) AS total FROM sales GROUP BY UPPER(city)",
        1,
    )
    assert "is rebuilt: its key was" in refused
    assert "is unchanged" in refused
    client.run(
        "ALTER MATERIALIZED TABLE sums AS "
        "SELECT city, SUM(amount) AS total, MAX(amount) AS most FROM sales GROUP BY city"
    )
    client.add("5", Rome=5, Bonn=1)
    client.wait_for([total("Bonn", 1, most=1), total("Oslo", 2, most=None), total("Rome", 1116, most=5)])

    client.run("DROP MATERIALIZED TABLE sums")
    assert all(entry.is_over for entry in registry_of().entries())
    assert not (folder / "catalog" / "default" / "materialized" / "sums").exists()
