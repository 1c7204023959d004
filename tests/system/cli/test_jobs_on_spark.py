"""Jobs on a real Spark that other processes show and end."""

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

from penstock.jobs.registry.entry import JobEntry
from penstock.jobs.registry.registry import Registry
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
print("after execute")
"""


class BackgroundProcess:
    """A process that writes its output to files, so that it never blocks on a full pipe."""

    def __init__(self, file: Path, environment: dict[str, str], *command: str) -> None:
        self._out, self._err = file.with_suffix(".out"), file.with_suffix(".err")
        with open(self._out, "wb") as out, open(self._err, "wb") as err:
            self.process = subprocess.Popen(
                [sys.executable, *command], env=environment, stdout=out, stderr=err, start_new_session=True
            )

    def output(self) -> str:
        """What the process has written to stdout so far."""
        return self._out.read_text()

    def errors(self) -> str:
        """What the process has written to stderr so far."""
        return self._err.read_text()

    def end(self) -> tuple[int, str, str]:
        """Waits until the process has ended. Returns exit code, stdout and stderr."""
        code = self.process.wait(300)
        return code, self.output(), self.errors()

    def kill(self) -> None:
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()


class JobCommands:
    """A registry, a program, and the processes that run it."""

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
        self.background: list[BackgroundProcess] = []

    def start(self, *command: str) -> BackgroundProcess:
        background = BackgroundProcess(self.folder / f"process {len(self.background)}", self.environment, *command)
        self.background.append(background)
        return background

    def penstock(self, *command: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "penstock", *command],
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=300,
        )

    def job(self, batches: int = 3) -> JobEntry:
        """Waits until the job has committed a few batches. Returns it."""
        until(lambda: any(self.read(e.id)["batches"] >= batches for e in self.registry.entries() if not e.is_over))
        return self.registry.entries()[0]

    def read(self, job_id: str) -> dict[str, Any]:
        progress = self.registry.progress(job_id)
        return {"batches": 0 if progress is None else progress.batches}


@pytest.fixture
def commands(tmp_path: Path) -> Iterator[JobCommands]:
    commands = JobCommands(tmp_path)
    yield commands
    for background in commands.background:
        background.kill()


def counts(stdout: str) -> list[tuple[int, int]]:
    """Parses the printed numbers. The last line may still be incomplete."""
    lines = stdout[: stdout.rfind("\n") + 1].splitlines()
    return [eval(line) for line in lines if line.startswith("(") and "end" not in line]


def check_once(counted: list[tuple[int, int]]) -> None:
    """Checks that every number was processed exactly once."""
    assert counted
    assert sorted(n for n, _ in counted) == list(range(len(counted)))
    assert all(count == number // 3 + 1 for number, count in counted)


def test_list_info_stop_and_resume(commands: JobCommands) -> None:
    first = commands.start(str(commands.program))
    job = commands.job()
    listed = json.loads(commands.penstock("list", "--json").stdout)
    assert (listed["id"], listed["name"], listed["status"]) == (job.id, "numbers", "running")
    shown = commands.penstock("info", "numbers").stdout
    for part in (job.id, "running", "local[2]", str(commands.program), job.checkpoint):
        assert part in shown, part
    progress = commands.registry.progress(job.id)
    assert progress is not None
    operators = {o.name: o for o in progress.operators}
    assert operators["generator"].records_out == operators["running"].records_in == operators["running"].records_out > 0
    assert progress.written == progress.read
    assert progress.state_bytes > 0
    assert progress.batch_millis is not None

    stopped = commands.penstock("stop", job.id[:6])
    assert (stopped.returncode, stopped.stdout) == (0, f"{job.id} finished\n"), stopped.stderr
    code, out, err = first.end()
    assert (code, out.splitlines()[-1]) == (0, "after execute")
    first_line, *more = err.splitlines()
    assert first_line == f"penstock: job {job.id}, checkpoint {job.checkpoint}"
    assert all(line.startswith("penstock: ") for line in more), (
        err
    )  # a slow machine may be reported, but no output of Spark
    counted = counts(out)
    check_once(counted)

    second = commands.start("-m", "penstock", "run", str(commands.program), "--resume", job.checkpoint)
    assert commands.job().runs == 2
    until(lambda: counts(second.output()))
    cancelled = commands.penstock("cancel", "numbers")
    assert (cancelled.returncode, cancelled.stdout) == (0, f"{job.id} cancelled\n")
    code, out, err = second.end()
    assert code == 1
    assert "penstock: [JOB_CANCELED]" in err
    assert "after execute" not in out
    assert counts(out)[0][0] == len(counted)
    check_once(counted + counts(out))


def test_a_detached_job(commands: JobCommands) -> None:
    background = commands.penstock("run", str(commands.program), "--detached")
    assert background.returncode == 0, background.stderr
    job = commands.job()
    assert background.stdout == f"{job.id}\n"
    assert job.status == "running"
    drained = commands.penstock("stop", job.id, "--drain")
    assert (drained.returncode, drained.stdout) == (0, f"{job.id} finished\n"), drained.stderr
    log = commands.penstock("logs", job.id).stdout
    assert sorted(line for line in log.splitlines() if line.startswith("('end'")) == [f"('end', {k})" for k in range(3)]
    until(lambda: "after execute" in commands.penstock("logs", job.id).stdout)
    check_once(counts(log))


def test_a_detached_program_that_does_not_start(commands: JobCommands) -> None:
    commands.program.write_text("import penstock\nraise SystemExit(7)\n")
    failed = commands.penstock("run", str(commands.program), "--detached")
    assert (failed.returncode, failed.stdout) == (7, "")
    assert "ended with exit code 7 before a job ran" in failed.stderr


def test_ctrl_c_finishes_the_batch(commands: JobCommands) -> None:
    background = commands.start("-m", "penstock", "run", str(commands.program))
    job = commands.job()
    os.kill(background.process.pid, signal.SIGINT)
    code, out, err = background.end()
    assert code == 130
    assert "stopping after the running batch" in err
    assert f"penstock: resume with: penstock resume {job.id[:12]}\n" in err
    assert "Traceback" not in err
    assert "after execute" not in out
    check_once(counts(out))
    after = commands.registry.find(job.id)
    assert (after.status, after.stopped) == ("finished", "stop")


def test_ctrl_c_twice_cancels_and_a_killed_job_is_lost(commands: JobCommands) -> None:
    first_batch = commands.folder / "first_batch"
    slow_update = (
        f"import pathlib, time; pathlib.Path({str(first_batch)!r}).touch(); time.sleep(0.2); self.count.update"
    )
    commands.program.write_text(PROGRAM.replace("self.count.update", slow_update))
    background = commands.start("-m", "penstock", "run", str(commands.program))
    until(first_batch.exists)  # the batch takes minutes
    os.kill(background.process.pid, signal.SIGINT)
    until(lambda: "stopping after the running batch" in background.errors())
    assert background.process.poll() is None  # the batch continues
    os.kill(background.process.pid, signal.SIGINT)
    code, _, err = background.end()
    assert code == 130, err
    assert "[CANCELLED]" in err
    assert commands.registry.entries()[0].status == "cancelled"

    killed = commands.start(str(commands.program))
    until(lambda: any(not e.is_over for e in commands.registry.entries()))
    killed.kill()
    lost = json.loads(commands.penstock("list", "--json", "-n", "1").stdout)
    assert lost["status"] == "lost"
    stop = commands.penstock("stop", lost["id"])
    assert stop.returncode == 1
    assert "[JOB_LOST]" in stop.stderr
