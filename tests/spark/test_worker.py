"""What a Python worker keeps of jobs, and when it forgets them; no JVM."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from penstock.spark import worker


@pytest.fixture(autouse=True)
def empty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker, "_jobs", {})


def test_a_working_copy_is_opened_once_in_a_process(tmp_path: Path) -> None:
    first = worker.copy_of("job", str(tmp_path), 1 << 20)
    assert worker.copy_of("job", str(tmp_path), 1 << 20) is first


def test_a_resumed_job_takes_over_the_copies_of_the_run_before(tmp_path: Path) -> None:
    first = worker.copy_of("before", str(tmp_path), 1 << 20)
    assert worker.copy_of("resumed", str(tmp_path), 1 << 20) is first
    assert worker._jobs["before"].copies == {}


def test_a_job_that_has_not_run_for_a_while_is_forgotten_when_another_comes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 100.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    copy = worker.copy_of("old", str(tmp_path), 1 << 20)
    copy.rebuild((), 0, b"empty")
    closed: list[bool] = []
    monkeypatch.setattr(copy, "close", lambda: closed.append(True))
    now += 0.6 * worker._FORGOTTEN_AFTER
    worker.copy_of("beside", str(tmp_path / "b"), 1 << 20)
    assert list(worker._jobs) == ["old", "beside"]
    now += 0.6 * worker._FORGOTTEN_AFTER
    worker.copy_of("new", str(tmp_path / "c"), 1 << 20)
    assert (list(worker._jobs), closed) == (["beside", "new"], [True])
