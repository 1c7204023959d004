"""A user types the lines that Penstock prints: start, kill, resume, rescale, kill, resume by name, fork."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock.jobs.registry.entry import JobEntry
from penstock.jobs.registry.registry import Registry
from tests.waiting import until

pytestmark = [pytest.mark.spark, pytest.mark.slow]

PROGRAM = """
import argparse
import penstock as ps

arguments = argparse.ArgumentParser()
arguments.add_argument("--keys", type=int, required=True)
keys = arguments.parse_args().keys


class Running(ps.KeyedProcessFunction):
    def open(self, runtime_context):
        self.count = runtime_context.get_state(ps.ValueStateDescriptor("count", int))

    def process_element(self, value, ctx):
        self.count.update((self.count.value() or 0) + 1)
        yield value, self.count.value()


env = ps.StreamExecutionEnvironment.get_execution_environment()
numbers = env.from_generator(lambda i: i, rate=200)
numbers.key_by(lambda n: n % keys).process(Running()).name("running").uid("running").print()
env.execute()
"""


class Terminal:
    """A shell in which a user types lines. No option of a job is in its environment."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "work"
        self.folder.mkdir()
        self.registry = Registry(folder / "home")
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        self._environment = {**os.environ, "PATH": path, "PENSTOCK_HOME": str(self.registry.folder)}
        self._environment.pop("PENSTOCK_OPTIONS", None)

    def type(self, line: str) -> tuple[str, str]:
        """Runs a line. Returns stdout and stderr."""
        ended = subprocess.run(
            ["bash", "-c", line], cwd=self.folder, env=self._environment, capture_output=True, text=True, timeout=300
        )
        assert ended.returncode == 0, (line, ended.stderr)
        return ended.stdout, ended.stderr

    def printed(self, text: str) -> str:
        """The command in printed text."""
        found = re.search(r"penstock (resume|rescale|run) .*", text)
        assert found is not None, text
        return found.group()

    def job(self, job_id: str, batches: int = 2) -> JobEntry:
        """Waits until a job has committed a few batches in its last run. Returns it."""

        def has_batches() -> bool:
            progress, entry = self.registry.progress(job_id), self.registry.entry(job_id)
            return entry is not None and not entry.is_over and progress is not None and progress.batches >= batches

        until(has_batches)
        return self.registry.find(job_id)

    def kill(self, entry: JobEntry) -> None:
        os.killpg(entry.process.pid, signal.SIGKILL)
        until(lambda: entry.is_over)


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Terminal]:
    terminal = Terminal(tmp_path)
    yield terminal
    for entry in terminal.registry.entries():
        if not entry.is_over:
            terminal.kill(entry)


SPARK = "--master 'local[2]' -D spark.driver.memory=1g"


@pytest.mark.parametrize(
    ("engine", "master"),
    [("--local", "in-process"), pytest.param(SPARK, "local[2]", marks=pytest.mark.long)],
    ids=["local", "spark"],
)
def test_the_printed_lines_work_when_they_are_typed(terminal: Terminal, engine: str, master: str) -> None:
    """The fork runs on Spark in both cases. Each start of Spark takes many seconds, so `make test` starts it once."""
    (terminal.folder / "job.py").write_text(PROGRAM)
    elsewhere = terminal.folder.parent / "elsewhere"
    elsewhere.mkdir()

    options = "-D execution.checkpointing.dir=checkpoints -D execution.trigger.interval=200"
    job_id, _ = terminal.type(f"penstock run -d --name numbers {engine} {options} job.py -- --keys 3")
    started = terminal.job(job_id.strip())
    terminal.kill(started)

    line = terminal.printed(terminal.type(f"penstock info {started.id[:8]}")[0])
    assert line == f"penstock resume {started.id[:12]}"
    assert terminal.type(f"cd {elsewhere} && {line}")[0] == job_id  # in the background, as before
    resumed = terminal.job(started.id)
    assert (resumed.runs, resumed.master, resumed.checkpoint) == (2, master, started.checkpoint)
    assert resumed.launch == started.launch

    new_id, shown = terminal.type(f"penstock rescale numbers --parallelism {resumed.parallelism + 1}")
    savepoint = re.findall(r"started from (\S+);", shown)[0]
    rescaled = terminal.job(new_id.strip())
    checkpoints = terminal.folder / "checkpoints"
    assert Path(rescaled.checkpoint).parent == checkpoints
    assert Path(savepoint).is_relative_to(checkpoints)
    terminal.kill(rescaled)

    assert terminal.type("penstock resume numbers")[0] == new_id
    again = terminal.job(rescaled.id)
    assert (again.runs, again.parallelism) == (2, resumed.parallelism + 1)
    assert terminal.type("penstock stop numbers")[0] == f"{new_id.strip()} finished\n"

    logs = "".join(Path(log).read_text() for log in {entry.log for entry in (started, resumed, rescaled, again)})
    counted = [(int(number), int(count)) for number, count in re.findall(r"^\((\d+), (\d+)\)", logs, re.MULTILINE)]
    assert max(number for number, _ in counted) > 200
    assert all(count == number // 3 + 1 for number, count in counted)  # nothing was lost or counted twice

    compared, _ = terminal.type(f"penstock fork {savepoint} job.py --out fork --records 50 --json -- --keys 3")
    assert '"job"' in compared
