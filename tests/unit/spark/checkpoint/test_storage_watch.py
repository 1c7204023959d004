"""How a job waits for its store: pauses that grow, one beginning, an end when a batch is committed."""

from __future__ import annotations

import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from penstock.config import Configuration
from penstock.errors import CheckpointError, JobError
from penstock.spark.store_watch import StoreWatch


class Clock:
    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 1000.0
        monkeypatch.setattr(time, "monotonic", lambda: self.now)
        monkeypatch.setattr(time, "sleep", self._sleep)

    def _sleep(self, seconds: float) -> None:
        self.now += max(seconds, 0.001)


class Watched(StoreWatch):
    """A watch on a store whose answers are given."""

    def __init__(self, folder: Path, **options: Any) -> None:
        self.answers: list[str | None] = []
        self.batch = 4
        self.told: list[str] = []
        self.doing: str | None = None
        settings = {f"execution.checkpointing.store.{name}": value for name, value in options.items()}
        session: Any = None
        super().__init__(session, str(folder), Configuration(settings), lambda: self.batch)
        self.tell = self.told.append

    def _probed(self, over: Any) -> str | None:
        return self.answers.pop(0)

    def _doing(self, query: Any) -> str | None:
        return self.doing


QUERY = SimpleNamespace(isActive=True, name="penstock-a", status={"isTriggerActive": True})


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return Clock(monkeypatch)


def test_whatever_fails_while_the_folder_is_gone_is_the_store(tmp_path: Path) -> None:
    watch = Watched(tmp_path)
    failure = JobError("SINK_FAILED", "...")
    assert watch.trouble_of(failure) == f"{tmp_path} is not there"
    (tmp_path / "penstock").mkdir()
    (tmp_path / "penstock" / "job.json").write_text("{}")
    assert watch.trouble_of(failure) is None


def never() -> bool:
    return False


def test_pauses_grow_up_to_the_most_and_the_beginning_stays(clock: Clock, tmp_path: Path) -> None:
    watch = Watched(tmp_path, **{"max-pause": "5 s"})
    watch.answers = ["full", "full", "read-only", None]
    assert watch.wait("refused", never)
    began = watch.told[0].partition(": ")[0]
    assert watch.told == [
        f"{began}: refused; tries again in 1 s",
        f"{began}: full; tries again in 2 s",
        f"{began}: full; tries again in 4 s",
        f"{began}: read-only; tries again every 5 s",
    ]
    watch.answers = [None]
    watch.look(QUERY)  # no batch was committed since
    assert watch.wait("refused", never)
    assert watch.told[-1] == f"{began}: refused; tries again every 5 s", "it is the same trouble"
    watch.batch = 5
    watch.look(QUERY)
    assert watch.told[-1] == "", "it goes on"
    watch.answers = [None]
    assert watch.wait("refused", never)
    assert watch.told[-1].endswith("tries again in 1 s"), "this is another one"


def test_patience_is_counted_from_the_beginning(clock: Clock, tmp_path: Path) -> None:
    watch = Watched(tmp_path, patience="10 s")
    watch.answers = [None]
    assert watch.wait("full", never)
    watch.answers = ["full"] * 10
    with pytest.raises(CheckpointError, match=r"STORE_UNREACHABLE.*has failed for 7 s.*allows 10 s: full"):
        watch.wait("full", never)


def test_a_job_that_is_over_waits_no_longer(clock: Clock, tmp_path: Path) -> None:
    watch = Watched(tmp_path)
    until = clock.now + 0.5
    assert not watch.wait("full", lambda: clock.now > until)
    assert clock.now < until + 0.2


def test_a_batch_that_does_not_end_is_told_once_it_waits_for_the_store(clock: Clock, tmp_path: Path) -> None:
    watch = Watched(tmp_path, **{"slow-after": "20 s"})
    watch.look(QUERY)
    watch.doing = "writing state"
    clock.now += 19
    watch.look(QUERY)
    assert watch.told == []
    clock.now += 2
    watch.look(QUERY)
    assert watch.told[-1].endswith(": writing state does not end, in the batch after 4")
    watch.doing = None  # it computes now
    clock.now += 6
    watch.look(QUERY)
    assert watch.told[-1] == ""


def test_an_attempt_that_has_not_ended_a_batch_does_not_end_the_trouble(clock: Clock, tmp_path: Path) -> None:
    watch = Watched(tmp_path, **{"slow-after": "20 s"})
    watch.answers = ["full"] * 8 + [None]
    assert watch.wait("full", never)
    told = len(watch.told)
    clock.now += 60
    watch.look(QUERY)
    assert len(watch.told) == told
