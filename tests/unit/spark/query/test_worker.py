"""The caches of a Python worker: what it keeps of jobs, and when it removes it. Needs no JVM."""

from __future__ import annotations

import gc
import time
import weakref
from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock.spark.query import worker
from penstock.spark.session.garbage import Garbage


@pytest.fixture(autouse=True)
def empty_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker, "_jobs", {})


def test_a_working_copy_is_opened_once_in_a_process(tmp_path: Path) -> None:
    first = worker.get_working_copy("job", str(tmp_path), 1 << 20)
    assert worker.get_working_copy("job", str(tmp_path), 1 << 20) is first


def test_a_resumed_job_reuses_the_working_copies_of_the_previous_run(tmp_path: Path) -> None:
    first = worker.get_working_copy("before", str(tmp_path), 1 << 20)
    assert worker.get_working_copy("resumed", str(tmp_path), 1 << 20) is first
    assert worker._jobs["before"].copies == {}


def test_an_unused_job_is_removed_when_another_job_starts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    copy = worker.get_working_copy("old", str(tmp_path), 1 << 20)
    copy.rebuild((), 0, b"empty")
    closed: list[bool] = []
    monkeypatch.setattr(copy, "close", lambda: closed.append(True))
    now += 0.6 * worker._UNUSED_AFTER
    worker.get_working_copy("beside", str(tmp_path / "b"), 1 << 20)
    assert list(worker._jobs) == ["old", "beside"]
    now += 0.6 * worker._UNUSED_AFTER
    worker.get_working_copy("new", str(tmp_path / "c"), 1 << 20)
    assert (list(worker._jobs), closed) == (["beside", "new"], [True])


class Cycle:
    """Garbage that only the cycle collector finds."""

    def __init__(self) -> None:
        self.itself = self


@pytest.fixture
def unfreeze() -> Iterator[None]:
    yield
    gc.unfreeze()


def test_objects_frozen_after_tasks_are_collected_at_intervals(unfreeze: None, monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    monkeypatch.setattr(worker, "garbage", Garbage())
    cycle = Cycle()
    gone = weakref.ref(cycle)
    with worker.pause_garbage_collection():
        assert not gc.isenabled()
    assert gc.isenabled()
    assert gc.get_freeze_count() > 1000  # all objects of the process
    del cycle
    gc.collect()  # as Spark does after each task
    assert gone() is not None
    now += 31
    with worker.pause_garbage_collection():
        pass
    gc.collect()
    assert gone() is None
