"""Signals end a job cleanly: sent once or twice, to the process or to its group, while it starts and while it runs."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.system.signals.signalled_job import SignalledJob, write_program
from tests.waiting import until

pytestmark = [pytest.mark.spark, pytest.mark.slow]

Start = Callable[..., SignalledJob]
SIGNALS = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]
TARGETS = {"process": False, "group": True}


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    jobs: list[SignalledJob] = []

    def start_job(slow: bool = False) -> SignalledJob:
        jobs.append(SignalledJob(tmp_path, slow))
        return jobs[-1]

    yield start_job
    for job in jobs:
        job.kill()


def check_one_signal(job: SignalledJob, number: int, to_group: bool) -> None:
    job.wait_for_output()
    job.send(number, to_group)
    assert job.end() == 128 + number, job.errors()
    assert "stopping after the running batch" in job.errors()
    assert (job.entry().status, job.entry().stopped) == ("finished", "stop")
    assert "after execute" not in job.output()
    assert job.counts_are_complete()
    job.check_clean()


def test_sigterm_to_the_group_finishes_the_batch(start: Start) -> None:
    """systemd, timeout and docker stop send it to all processes of a job."""
    check_one_signal(start(), signal.SIGTERM, to_group=True)


@pytest.mark.long
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("number", SIGNALS)
def test_one_signal_finishes_the_batch(start: Start, number: int, target: str) -> None:
    check_one_signal(start(), number, TARGETS[target])


@pytest.mark.long
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("number", SIGNALS)
def test_two_signals_cancel_the_batch(start: Start, number: int, target: str) -> None:
    job = start(slow=True)
    until(job.started.exists)
    job.send(number, TARGETS[target])
    job.wait_for_text("stopping after the running batch")
    assert job.process.poll() is None  # the batch continues
    job.send(number, TARGETS[target])
    assert job.end() == 128 + number, job.errors()
    assert "[CANCELLED]" in job.errors()
    assert job.entry().status == "cancelled"
    job.check_clean()


@pytest.mark.long
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("number", SIGNALS)
def test_a_signal_while_spark_starts_ends_the_program(start: Start, number: int, target: str) -> None:
    job = start()
    until(lambda: any("java" in process.name() for process in job.processes()))
    job.send(number, TARGETS[target])
    code = job.end()
    assert code in (128 + number, -number), job.errors()  # -: before Python has installed its handlers
    until(lambda: not job.processes(), seconds=60)


@pytest.mark.long
def test_no_process_is_left_of_a_killed_driver(start: Start) -> None:
    job = start()
    job.wait_for_output()
    assert len(job.processes()) > 2
    job.send(signal.SIGKILL, to_group=False)
    job.end()
    until(lambda: not job.processes(), seconds=60)


@pytest.mark.long
def test_a_killed_jvm_is_reported(start: Start) -> None:
    """As by the OOM killer."""
    job = start()
    job.wait_for_output()
    [jvm] = [process for process in job.processes() if "java" in process.name()]
    jvm.send_signal(signal.SIGKILL)
    assert job.end() == 1
    assert "[JVM_LOST]" in job.errors()
    assert job.entry().status == "failed"
    until(lambda: not job.processes(), seconds=60)


@pytest.mark.long
def test_a_closed_stdout_ends_the_job_with_its_reason(tmp_path: Path) -> None:
    program, errors = write_program(tmp_path), tmp_path / "errors"
    options = '{"spark.master": "local[2]", "spark.driver.memory": "1g"}'
    environment = {**os.environ, "PENSTOCK_HOME": str(tmp_path / "home"), "PENSTOCK_OPTIONS": options}
    with open(errors, "wb") as stderr:
        job = subprocess.Popen(
            [sys.executable, "-m", "penstock", "run", str(program)],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=stderr,
        )
    assert job.stdout is not None
    assert job.stdout.readline()
    job.stdout.close()
    assert job.wait(300) == 1
    assert "[STDOUT_CLOSED]" in errors.read_text()
    assert "Traceback" not in errors.read_text()
