"""Ctrl-C in two steps, without a job of Spark's."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest

from penstock.cli.interrupt import interrupts
from penstock.cli.watcher import Watcher
from penstock.config import Configuration
from penstock.jobs.registry import Registry
from penstock.jobs.run import Run
from tests.jobs_registry.jobs import FakeJob, entry


def begun(tmp_path: Path, name: str = "a") -> tuple[Run, FakeJob]:
    run, job = Run(Registry(tmp_path), entry(name), [], Configuration()), FakeJob()
    run.begin(job)
    return run, job


def press(number: int = signal.SIGINT) -> None:
    os.kill(os.getpid(), number)
    time.sleep(0.01)  # Python runs handlers between two steps


def test_without_a_job_the_program_is_interrupted() -> None:
    with interrupts(Watcher()) as heard, pytest.raises(KeyboardInterrupt):
        press()
    assert heard.exit_code == 130


def test_the_first_stops_all_jobs_and_the_program_follows(tmp_path: Path) -> None:
    (one, first), (two, second) = begun(tmp_path, "a"), begun(tmp_path, "b")
    with interrupts(Watcher()):
        press()
        assert (first.asked, second.asked) == (["stop"], ["stop"])
        one.end("finished")
        time.sleep(0.01)  # the other one has not ended
        with pytest.raises(KeyboardInterrupt):
            end(two)


def end(run: Run) -> None:
    run.end("finished")
    time.sleep(1)


def test_the_second_interrupts_at_once(tmp_path: Path) -> None:
    run, job = begun(tmp_path)
    with interrupts(Watcher()) as heard:
        press(signal.SIGTERM)
        with pytest.raises(KeyboardInterrupt):
            press()
        run.end("cancelled")
    assert job.asked == ["stop"]
    assert heard.exit_code == 130


def test_a_terminated_program_says_so(tmp_path: Path) -> None:
    with interrupts(Watcher()) as heard, pytest.raises(KeyboardInterrupt):
        press(signal.SIGTERM)
    assert heard.exit_code == 143


def test_a_session_that_takes_ctrl_c_does_not_keep_it(tmp_path: Path) -> None:
    with interrupts(Watcher()):
        signal.signal(signal.SIGINT, signal.default_int_handler)  # as pyspark does when a session starts
        run, job = begun(tmp_path)
        press()
        assert job.asked == ["stop"]
        with pytest.raises(KeyboardInterrupt):
            end(run)


def test_the_handlers_are_given_back() -> None:
    before = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
    with interrupts(Watcher()):
        assert signal.getsignal(signal.SIGINT) != before[0]
    assert (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)) == before
