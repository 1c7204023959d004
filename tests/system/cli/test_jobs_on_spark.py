"""Jobs on a real Spark, looked at and ended from other processes."""

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

from penstock.jobs.entry import JobEntry
from penstock.jobs.registry import Registry
from tests.waiting import until

pytestmark = [pytest.mark.spark, pytest.mark.slow]

PROGRAM = """
import sys
import penstock as ps


class Running(ps.KeyedProcessFunction):
    def open(self, runtime_context):
        self.count = runtime_context.get_state(ps.ValueStateDescriptor("count", int))

    def process_element(self, value, ctx):
        self.count.update((self.count.value() or 0) + 1)
        yield value, self.count.value()
        ctx.timer_service().register_event_time_timer(2**60)

    def on_timer(self, timestamp, ctx):
        yield "end", ctx.get_current_key()


env = ps.StreamExecutionEnvironment.get_execution_environment()
in_order = ps.WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda v, _: v)
numbers = env.from_generator(lambda i: i, rate=500).assign_timestamps_and_watermarks(in_order)
numbers.key_by(lambda n: n % 3).process(Running()).name("running").uid("running").print()
env.execute("numbers")
print("behind execute")
"""


class Started:
    """A process that writes to files: nobody has to read while it runs."""

    def __init__(self, file: Path, environment: dict[str, str], *command: str) -> None:
        self._out, self._err = file.with_suffix(".out"), file.with_suffix(".err")
        with open(self._out, "wb") as out, open(self._err, "wb") as err:
            self.process = subprocess.Popen(
                [sys.executable, *command], env=environment, stdout=out, stderr=err, start_new_session=True
            )

    def end(self) -> tuple[int, str, str]:
        """Waits for its end: exit code, stdout, stderr."""
        code = self.process.wait(120)
        return code, self._out.read_text(), self._err.read_text()

    def kill(self) -> None:
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()


class Tried:
    """A registry, a program, and processes that run it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.registry = Registry(folder / "home")
        self.program = folder / "job.py"
        self.program.write_text(PROGRAM)
        options = {
            "spark.master": "local[2]",
            "spark.driver.memory": "1g",
            "execution.checkpointing.dir": str(folder / "checkpoints"),
            "execution.trigger.interval": 300,
        }
        self.environment = {
            **os.environ,
            "PENSTOCK_HOME": str(self.registry.folder),
            "PENSTOCK_OPTIONS": json.dumps(options),
        }
        self.started: list[Started] = []

    def start(self, *command: str) -> Started:
        started = Started(self.folder / f"process {len(self.started)}", self.environment, *command)
        self.started.append(started)
        return started

    def penstock(self, *command: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "penstock", *command],
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=120,
        )

    def job(self, batches: int = 3) -> JobEntry:
        """The job, once it has run a few batches."""
        until(lambda: any(self.read(e.id)["batches"] >= batches for e in self.registry.entries() if not e.is_over))
        return self.registry.entries()[0]

    def read(self, job_id: str) -> dict[str, Any]:
        progress = self.registry.progress(job_id)
        return {"batches": 0 if progress is None else progress.batches}


@pytest.fixture
def tried(tmp_path: Path) -> Iterator[Tried]:
    tried = Tried(tmp_path)
    yield tried
    for started in tried.started:
        started.kill()


def counts(stdout: str) -> list[tuple[int, int]]:
    return [eval(line) for line in stdout.splitlines() if line.startswith("(") and "end" not in line]


def check_once(seen: list[tuple[int, int]]) -> None:
    """Every number came once, and none was counted twice."""
    assert seen
    assert sorted(n for n, _ in seen) == list(range(len(seen)))
    assert all(count == number // 3 + 1 for number, count in seen)


def test_a_plain_program_is_seen_stopped_and_resumed(tried: Tried) -> None:
    first = tried.start(str(tried.program))
    job = tried.job()
    listed = json.loads(tried.penstock("list", "--json").stdout)
    assert (listed["id"], listed["name"], listed["status"]) == (job.id, "numbers", "running")
    shown = tried.penstock("info", "numbers").stdout
    for words in (job.id, "running", "local[2]", str(tried.program), job.checkpoint):
        assert words in shown, words
    progress = tried.registry.progress(job.id)
    assert progress is not None
    figures = {o.name: o for o in progress.operators}
    assert figures["generator"].records_out == figures["running"].records_in == figures["running"].records_out > 0
    assert progress.written == progress.read
    assert progress.state_bytes > 0
    assert progress.batch_millis is not None

    stopped = tried.penstock("stop", job.id[:6])
    assert (stopped.returncode, stopped.stdout) == (0, f"{job.id} finished\n"), stopped.stderr
    code, out, err = first.end()
    assert (code, out.splitlines()[-1]) == (0, "behind execute")
    assert err == f"penstock: job {job.id}, checkpoint {job.checkpoint}\n"  # and nothing of Spark's
    seen = counts(out)
    check_once(seen)

    second = tried.start("-m", "penstock", "run", str(tried.program), "--resume", job.checkpoint)
    assert tried.job().runs == 2
    cancelled = tried.penstock("cancel", "numbers")
    assert (cancelled.returncode, cancelled.stdout) == (0, f"{job.id} cancelled\n")
    code, out, err = second.end()
    assert code == 1
    assert "penstock: [JOB_CANCELED]" in err
    assert "behind execute" not in out
    assert counts(out)[0][0] == len(seen)
    check_once(seen + counts(out))


def test_a_detached_job(tried: Tried) -> None:
    started = tried.penstock("run", str(tried.program), "--detached")
    assert started.returncode == 0, started.stderr
    job = tried.job()
    assert started.stdout == f"{job.id}\n"
    assert job.status == "running"
    drained = tried.penstock("stop", job.id, "--drain")
    assert (drained.returncode, drained.stdout) == (0, f"{job.id} finished\n"), drained.stderr
    log = tried.penstock("logs", job.id).stdout
    assert sorted(line for line in log.splitlines() if line.startswith("('end'")) == [f"('end', {k})" for k in range(3)]
    until(lambda: "behind execute" in tried.penstock("logs", job.id).stdout)
    check_once(counts(log))


def test_a_detached_program_that_does_not_start(tried: Tried) -> None:
    tried.program.write_text("import penstock\nraise SystemExit(7)\n")
    failed = tried.penstock("run", str(tried.program), "--detached")
    assert (failed.returncode, failed.stdout) == (7, "")
    assert "ended with exit code 7 before a job ran" in failed.stderr


def test_ctrl_c_lets_the_batch_finish(tried: Tried) -> None:
    started = tried.start("-m", "penstock", "run", str(tried.program))
    job = tried.job()
    os.kill(started.process.pid, signal.SIGINT)
    code, out, err = started.end()
    assert code == 130
    assert "stopping after the running batch" in err
    assert f"--resume {job.checkpoint}" in err
    assert "Traceback" not in err
    assert "behind execute" not in out
    check_once(counts(out))
    after = tried.registry.find(job.id)
    assert (after.status, after.stopped) == ("finished", "stop")


def test_ctrl_c_twice_cancels_and_a_kill_is_noticed(tried: Tried) -> None:
    begun = tried.folder / "begun"
    slowly = f"import pathlib, time; pathlib.Path({str(begun)!r}).touch(); time.sleep(0.2); self.count.update"
    tried.program.write_text(PROGRAM.replace("self.count.update", slowly))
    started = tried.start("-m", "penstock", "run", str(tried.program))
    until(begun.exists)  # a batch of minutes
    os.kill(started.process.pid, signal.SIGINT)
    time.sleep(1)
    assert started.process.poll() is None  # the batch is not given up
    os.kill(started.process.pid, signal.SIGINT)
    code, _, err = started.end()
    assert code == 130, err
    assert "[CANCELLED]" in err
    assert tried.registry.entries()[0].status == "cancelled"

    killed = tried.start(str(tried.program))
    until(lambda: any(not e.is_over for e in tried.registry.entries()))
    killed.kill()
    lost = json.loads(tried.penstock("list", "--json", "-n", "1").stdout)
    assert lost["status"] == "lost"
    asked = tried.penstock("stop", lost["id"])
    assert asked.returncode == 1
    assert "[JOB_LOST]" in asked.stderr
