"""How a job waits for checkpoint storage: growing pauses, one start time, and the end at the next committed batch."""

from __future__ import annotations

import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from penstock.config import Configuration
from penstock.errors import CheckpointError, JobError
from penstock.jobs.registry.cpu_time import CpuTime
from penstock.spark.checkpoint.storage_watch import OperationSample, StorageWatch


class Clock:
    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 1000.0
        monkeypatch.setattr(time, "monotonic", lambda: self.now)
        monkeypatch.setattr(time, "sleep", self._sleep)

    def _sleep(self, seconds: float) -> None:
        self.now += max(seconds, 0.001)


class Watched(StorageWatch):
    """A watch with prescribed results of its probes."""

    def __init__(self, folder: Path, **options: Any) -> None:
        self.answers: list[str | None] = []
        self.batch = 4
        self.reports: list[str] = []
        self.operation: str | None = None
        self.thread = 7
        self.cpu_wait = 0.01
        settings = {f"execution.checkpointing.store.{name}": value for name, value in options.items()}
        session: Any = None
        super().__init__(session, str(folder), Configuration(settings), lambda: self.batch)
        self.report = self.reports.append

    def _probe_in_thread(self, is_over: Any) -> str | None:
        return self.answers.pop(0)

    def _sample(self, query: str) -> OperationSample | None:
        if self.operation is None:
            return None
        # Every second, one thread computes for 0.1 s and waits for a CPU for some time.
        return OperationSample(
            self.thread, self.operation, CpuTime(0.1 * time.monotonic(), self.cpu_wait * time.monotonic())
        )


QUERY = SimpleNamespace(isActive=True, name="penstock-a", status={"isTriggerActive": True})


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return Clock(monkeypatch)


def test_any_error_while_the_folder_is_missing_is_a_storage_failure(tmp_path: Path) -> None:
    watch = Watched(tmp_path)
    failure = JobError("SINK_FAILED", "...")
    assert watch.storage_failure_in(failure) == f"{tmp_path} does not exist"
    (tmp_path / "penstock").mkdir()
    (tmp_path / "penstock" / "job.json").write_text("{}")
    assert watch.storage_failure_in(failure) is None


def never() -> bool:
    return False


def test_pauses_grow_up_to_the_maximum_and_the_start_time_stays(clock: Clock, tmp_path: Path) -> None:
    watch = Watched(tmp_path, **{"max-pause": "5 s"})
    watch.answers = ["full", "full", "read-only", None]
    assert watch.wait("refused", never)
    since = watch.reports[0].partition(": ")[0]
    assert watch.reports == [
        f"{since}: refused; retries in 1 s",
        f"{since}: full; retries in 2 s",
        f"{since}: full; retries in 4 s",
        f"{since}: read-only; retries every 5 s",
    ]
    watch.answers = [None]
    watch.check_progress(QUERY)  # no batch was committed since
    assert watch.wait("refused", never)
    assert watch.reports[-1] == f"{since}: refused; retries every 5 s", "it is the same failure"
    watch.batch = 5
    watch.check_progress(QUERY)
    assert watch.reports[-1] == "", "the failure has ended"
    watch.answers = [None]
    assert watch.wait("refused", never)
    assert watch.reports[-1].endswith("retries in 1 s"), "this is another failure"


def test_the_timeout_counts_from_the_start_of_the_failure(clock: Clock, tmp_path: Path) -> None:
    watch = Watched(tmp_path, timeout="10 s")
    watch.answers = [None]
    assert watch.wait("full", never)
    watch.answers = ["full"] * 10
    with pytest.raises(CheckpointError, match=r"STORE_UNREACHABLE.*has failed for 7 s.*allows 10 s: full"):
        watch.wait("full", never)


def test_a_job_that_is_over_stops_waiting(clock: Clock, tmp_path: Path) -> None:
    watch = Watched(tmp_path)
    end = clock.now + 0.5
    assert not watch.wait("full", lambda: clock.now > end)
    assert clock.now < end + 0.2


def test_a_storage_operation_that_does_not_end_is_reported(clock: Clock, tmp_path: Path) -> None:
    watch = Watched(tmp_path, **{"slow-after": "20 s"})
    watch.check_progress(QUERY)
    watch.operation = "writing state"
    clock.now += 19
    watch.check_progress(QUERY)
    assert watch.reports == []
    clock.now += 2
    watch.check_progress(QUERY)
    assert watch.reports == [], "the operation may have begun just now"
    clock.now += 6
    watch.check_progress(QUERY)
    assert watch.reports[-1].endswith(": writing state does not end, in the batch after 4")
    watch.operation = None  # the batch computes now
    clock.now += 6
    watch.check_progress(QUERY)
    assert watch.reports[-1] == ""


def test_a_slow_machine_is_not_reported_as_slow_storage(clock: Clock, tmp_path: Path) -> None:
    watch = Watched(tmp_path, **{"slow-after": "20 s"})
    watch.operation, watch.cpu_wait = "reading state", 0.3
    for _ in range(10):
        clock.now += 10
        watch.check_progress(QUERY)
    assert watch.reports == []
    watch.cpu_wait = 0.01
    for _ in range(2):
        clock.now += 10
        watch.check_progress(QUERY)
    assert watch.reports[-1].endswith(": reading state does not end, in the batch after 4")


def test_short_storage_operations_of_a_long_batch_are_not_reported(clock: Clock, tmp_path: Path) -> None:
    watch = Watched(tmp_path, **{"slow-after": "20 s"})
    for thread in range(10):
        watch.operation, watch.thread = "reading state", thread  # tasks of the batch, one after the other
        clock.now += 10
        watch.check_progress(QUERY)
    assert watch.reports == []


def test_a_failure_ends_only_with_a_committed_batch(clock: Clock, tmp_path: Path) -> None:
    watch = Watched(tmp_path, **{"slow-after": "20 s"})
    watch.answers = ["full"] * 8 + [None]
    assert watch.wait("full", never)
    count = len(watch.reports)
    clock.now += 60
    watch.check_progress(QUERY)
    assert len(watch.reports) == count
