"""Commands and signals on jobs of the local engine in processes of their own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.waiting import until

pytestmark = pytest.mark.slow

PROGRAM = """
import sys
import penstock as ps
from penstock.connectors import DataGeneratorSource, JsonLinesSink

env = ps.StreamExecutionEnvironment.get_execution_environment()
numbers = env.from_source(DataGeneratorSource(lambda n: (n % 5, n), rate=500), source_name="numbers").uid("numbers")
sums = numbers.key_by(lambda v: v[0]).reduce(lambda a, b: (a[0], a[1] + b[1])).name("sums").uid("sums")
sums.map(lambda v: {"key": v[0], "sum": v[1]}).sink_to(JsonLinesSink(sys.argv[1])).uid("out")
env.execute("sums")
"""


class Jobs:
    """Runs commands with a registry of their own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.out = folder / "out"
        self.messages = folder / "messages.txt"
        self.program = folder / "job.py"
        self.program.write_text(PROGRAM)
        self.environment = {**os.environ, "PENSTOCK_HOME": str(folder / "home")}
        self.processes: list[subprocess.Popen[str]] = []

    def command(self, *arguments: str) -> list[str]:
        return [sys.executable, "-m", "penstock", *arguments]

    def call(self, *arguments: str) -> str:
        done = subprocess.run(
            self.command(*arguments), env=self.environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def start(self, *options: str) -> subprocess.Popen[str]:
        settings = ["-D", f"execution.checkpointing.dir={self.folder / 'checkpoints'}"]
        command = self.command("run", "--local", "--json", *settings, *options, str(self.program), "--", str(self.out))
        # not a pipe: a job that reports all its batches fills a pipe that nobody reads, and waits without end
        with open(self.messages, "a") as messages:
            process = subprocess.Popen(command, env=self.environment, stderr=messages, text=True)
        self.processes.append(process)
        seen = self.written()
        until(lambda: process.poll() is not None or self.written() > seen)
        assert process.poll() is None
        return process

    def written(self) -> int:
        return len(list(self.out.glob("part-*")))

    def sums(self) -> dict[int, list[int]]:
        """All sums of each key, in the order of their batches."""
        found: dict[int, list[int]] = {}
        for file in sorted(self.out.glob("part-*"), key=lambda file: file.stat().st_mtime_ns):
            for line in file.read_text().splitlines():
                row = json.loads(line)
                found.setdefault(row["key"], []).append(row["sum"])
        return found

    def entries(self, *options: str) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.call("list", "--json", *options).splitlines()]


@pytest.fixture
def jobs(tmp_path: Path) -> Iterator[Jobs]:
    jobs = Jobs(tmp_path)
    yield jobs
    for process in jobs.processes:
        process.kill()
        process.wait()


def check_exactly_once(sums: dict[int, list[int]]) -> None:
    """The n-th sum of a key is the sum of its first n numbers: none is missing, and none was added twice."""
    for key, found in sums.items():
        total = 0
        for n, value in enumerate(found):
            total += key + 5 * n
            assert value == total


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_stops_the_job_after_its_batch_and_it_resumes(jobs: Jobs, number: signal.Signals) -> None:
    process = jobs.start()
    process.send_signal(number)
    assert process.wait(120) == 128 + number
    assert "Traceback" not in jobs.messages.read_text()
    (entry,) = jobs.entries()
    assert (entry["status"], entry["stopped"]) == ("finished", "stop")
    jobs.start("--resume", entry["checkpoint"]).kill()
    check_exactly_once(jobs.sums())


def test_commands_on_a_running_job(jobs: Jobs) -> None:
    process = jobs.start()
    info = json.loads(jobs.call("info", "sums", "--json"))
    assert info["master"] == "in-process"
    assert "completed" in jobs.call("checkpoints", "sums")
    assert json.loads(jobs.call("state", "get", "sums", "sums", "3", "--json"))["states"]
    jobs.call("limit", "sums", "100")
    savepoint = jobs.call("savepoint", "sums").split()[0]
    assert Path(savepoint, "manifest.json").exists()
    stopped = jobs.call("stop", "sums", "--savepoint").split()[0]
    assert process.wait(120) == 0
    again = jobs.start("--from-savepoint", stopped, "-D", "parallelism.default=2")
    (running,) = jobs.entries("--running")
    jobs.call("cancel", running["id"])
    assert again.wait(120) == 1
    check_exactly_once(jobs.sums())  # not before, because a folder that changes may be listed without some of its files
