"""Ctrl-C in two steps, without Spark."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock.cli.run.interrupt import handle_interrupts
from penstock.cli.run.watcher import Watcher
from penstock.config import Configuration
from penstock.jobs.registry.registry import Registry
from penstock.jobs.run.run import Run
from tests.unit.jobs.jobs import FakeJob, entry


@pytest.fixture(autouse=True)
def no_other_jobs(monkeypatch: pytest.MonkeyPatch) -> None:
    """A session of the tests that still runs a job does not count."""
    monkeypatch.setattr("penstock.jobs.run.run._active_runs", [])


@pytest.fixture(autouse=True)
def not_ignored() -> Iterator[None]:
    """The signals are not ignored, even if the tests run in the background of a script."""
    before = {n: signal.signal(n, signal.default_int_handler) for n in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


def start_run(tmp_path: Path, name: str = "a") -> tuple[Run, FakeJob]:
    run, job = Run(Registry(tmp_path), entry(name), [], Configuration()), FakeJob()
    run.begin(job)
    return run, job


def send_signal(number: int = signal.SIGINT) -> None:
    os.kill(os.getpid(), number)
    time.sleep(0.01)  # Python runs signal handlers between two bytecode instructions


def test_without_a_job_the_signal_interrupts_the_program() -> None:
    with handle_interrupts(Watcher()) as interrupts, pytest.raises(KeyboardInterrupt):
        send_signal()
    assert interrupts.exit_code == 130


def test_the_first_signal_stops_all_jobs_and_then_the_program(tmp_path: Path) -> None:
    (one, first), (two, second) = start_run(tmp_path, "a"), start_run(tmp_path, "b")
    with handle_interrupts(Watcher()):
        send_signal()
        assert (first.actions, second.actions) == (["stop"], ["stop"])
        one.end("finished")
        time.sleep(0.01)  # the other job has not ended
        with pytest.raises(KeyboardInterrupt):
            end(two)


def end(run: Run) -> None:
    run.end("finished")
    time.sleep(120)  # until the signal arrives


def test_the_second_signal_interrupts_immediately(tmp_path: Path) -> None:
    run, job = start_run(tmp_path)
    with handle_interrupts(Watcher()) as interrupts:
        send_signal(signal.SIGTERM)
        with pytest.raises(KeyboardInterrupt):
            send_signal()
        run.end("cancelled")
    assert job.actions == ["stop"]
    assert interrupts.exit_code == 130


def test_the_exit_code_after_sigterm(tmp_path: Path) -> None:
    with handle_interrupts(Watcher()) as interrupts, pytest.raises(KeyboardInterrupt):
        send_signal(signal.SIGTERM)
    assert interrupts.exit_code == 143


def test_the_handler_is_restored_after_a_spark_session_starts(tmp_path: Path) -> None:
    with handle_interrupts(Watcher()):
        signal.signal(signal.SIGINT, signal.default_int_handler)  # as pyspark does when a session starts
        run, job = start_run(tmp_path)
        send_signal()
        assert job.actions == ["stop"]
        with pytest.raises(KeyboardInterrupt):
            end(run)


def test_previous_handlers_are_restored() -> None:
    before = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
    with handle_interrupts(Watcher()):
        assert signal.getsignal(signal.SIGINT) != before[0]
    assert (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)) == before


def test_ignored_signals_stay_ignored_when_a_spark_session_starts(tmp_path: Path) -> None:
    """A script that starts a job with & keeps it running when Ctrl-C ends the script."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with handle_interrupts(Watcher()):
        signal.signal(signal.SIGINT, signal.default_int_handler)  # as pyspark does when a session starts
        run, job = start_run(tmp_path)
        send_signal()
        assert job.actions == []
        run.end("finished")
