"""What a Python worker keeps of jobs, and when it forgets them; no JVM."""

from __future__ import annotations

import gc
import time
import weakref
from collections.abc import Iterator
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


class Knot:
    """Garbage that only the collector finds."""

    def __init__(self) -> None:
        self.itself = self


@pytest.fixture
def thawed() -> Iterator[None]:
    yield
    gc.unfreeze()


def test_what_is_there_at_a_task_s_end_is_looked_at_now_and_then(thawed: None, monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    monkeypatch.setattr(worker, "_garbage", worker._Garbage())
    knot = Knot()
    gone = weakref.ref(knot)
    with worker.no_garbage_collection():
        assert not gc.isenabled()
    assert gc.isenabled()
    assert gc.get_freeze_count() > 1000  # all that the process has
    del knot
    gc.collect()  # as Spark does after each task
    assert gone() is not None
    now += worker._COLLECTED_EVERY
    with worker.no_garbage_collection():
        pass
    gc.collect()
    assert gone() is None
