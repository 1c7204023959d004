"""A run keeps its entry, hears requests, tells listeners, and never fails for the registry's sake."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from penstock.config import Configuration
from penstock.errors import JobError
from penstock.jobs import requests
from penstock.jobs.entry import Failure, JobEntry
from penstock.jobs.listener import Listener, listening
from penstock.jobs.progress import OperatorFigures, Progress, StageFigures
from penstock.jobs.registry import Registry
from penstock.jobs.run import Run, runs
from penstock.jobs.tally import Report
from tests.jobs_registry.jobs import NOBODY, FakeJob, entry, report
from tests.waiting import until


@pytest.fixture
def registry(tmp_path: Path) -> Registry:
    return Registry(tmp_path)


@pytest.fixture
def job() -> FakeJob:
    return FakeJob()


@pytest.fixture
def run(registry: Registry, job: FakeJob) -> Iterator[Run]:
    run = new_run(registry)
    run.begin(job)
    yield run
    run.end("cancelled")


def new_run(registry: Registry, **more: Any) -> Run:
    operators = [OperatorFigures("s", "numbers", "source"), OperatorFigures("out", "print", "sink")]
    return Run(registry, entry(**more), operators, Configuration())


def read(registry: Registry) -> JobEntry:
    found = registry.entry("a1b2c3")
    assert found is not None
    return found


def test_a_job_runs_once_its_first_batch_is_planned(registry: Registry, run: Run, job: FakeJob) -> None:
    assert read(registry).status == "created"
    time.sleep(0.5)
    assert read(registry).status == "created"
    job.planned = True
    until(lambda: read(registry).status == "running")


def test_progress_is_written_while_it_runs(registry: Registry, run: Run, job: FakeJob) -> None:
    job.reports = [report(0, 10, 4)]
    until(lambda: (registry.progress("a1b2c3") or Progress()).batches == 1)
    progress = registry.progress("a1b2c3")
    assert progress is not None
    assert (progress.read, progress.written, progress.batch_millis) == (10, 4, 250)
    assert read(registry).status == "running"


def test_what_it_waits_for_is_in_its_entry_and_told_once(
    registry: Registry, run: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    for words in ("waits for a", "waits for a", "waits for b", ""):
        run.waits(words)
        assert read(registry).waits == words
    told = [line.partition(": job a1b2c3: ")[2] for line in capsys.readouterr().err.splitlines()]
    assert [text for text in told if text] == ["waits for a", "waits for b", "goes on"]
    run.waits("waits for c")
    run.end("failed")
    assert read(registry).waits == ""


def test_the_stages_of_a_batch_job_are_told_before_its_only_report(registry: Registry, job: FakeJob) -> None:
    class Heard(Listener):
        stages: list[list[StageFigures]] = []  # noqa: RUF012

        def moved(self, job: JobEntry, progress: Progress) -> None:
            self.stages.append(list(progress.stages))

    with listening(heard := Heard()):
        run = new_run(registry, batch=True, checkpoint="")
        job.told_stages = [StageFigures("numbers", 4, 1), StageFigures("totals")]
        run.begin(job)
        until(lambda: (registry.progress("a1b2c3") or Progress()).stages)
        job.told_stages = [StageFigures("numbers", 4, 4), StageFigures("totals", 2, 0)]
        until(lambda: len(heard.stages) == 2)
        run.end("finished")
    assert [[s.done for s in stages] for stages in heard.stages] == [[1, 0], [4, 0]], "each change is told once"
    assert read(registry).introduction == "job a1b2c3, in batch mode"


def test_a_lost_batch_job_cannot_be_resumed(registry: Registry) -> None:
    lost = entry(process=NOBODY, status="running", batch=True, checkpoint="")
    with pytest.raises(JobError, match=r"JOB_LOST.*nothing of it was committed"):
        requests.ask(registry, lost, "cancel")


def test_the_end_takes_in_the_last_reports(registry: Registry, run: Run, job: FakeJob) -> None:
    assert runs() == [run]
    job.reports = [report(0, 10), report(1, 5)]
    run.end("failed", Failure("JOB_FAILED", "It broke."))
    run.end("finished")  # only the first word counts
    found = read(registry)
    assert (found.status, found.error) == ("failed", Failure("JOB_FAILED", "It broke."))
    assert found.ended is not None
    assert (registry.progress("a1b2c3") or Progress()).read == 15
    assert "failed: [JOB_FAILED] It broke." in Path(found.log).read_text()
    assert runs() == []


@pytest.mark.parametrize("action", ["stop", "drain", "cancel"])
def test_a_request_reaches_the_job(registry: Registry, run: Run, job: FakeJob, action: requests.Action) -> None:
    requests.ask(registry, read(registry), action)
    assert job.heard.wait(10)
    time.sleep(0.5)
    assert job.asked == [action]  # and is heard once
    run.end("finished" if action != "cancel" else "cancelled")
    assert read(registry).stopped == ("" if action == "cancel" else action)


def test_cancel_follows_stop_and_not_the_other_way(registry: Registry, run: Run, job: FakeJob) -> None:
    requests.ask(registry, read(registry), "stop")
    until(lambda: job.asked == ["stop"])
    requests.ask(registry, read(registry), "cancel")
    until(lambda: job.asked == ["stop", "cancel"])
    requests.ask(registry, read(registry), "stop")
    time.sleep(0.5)
    assert job.asked == ["stop", "cancel"]


def test_a_limit_reaches_the_job_once_and_can_be_changed(registry: Registry, run: Run, job: FakeJob) -> None:
    requests.ask_limit(registry, read(registry), 100)
    until(lambda: job.limits == [100])
    requests.ask_limit(registry, read(registry), 7)
    until(lambda: job.limits == [100, 7])
    time.sleep(0.5)
    assert job.limits == [100, 7]
    assert job.asked == []


def test_a_job_that_cannot_be_limited_says_so(registry: Registry) -> None:
    with pytest.raises(JobError, match=r"is finished already; there is nothing to limit\."):
        requests.ask_limit(registry, entry(status="finished"), 5)
    with pytest.raises(JobError, match=r"all of its input is one batch") as caught:
        requests.ask_limit(registry, entry(status="running", batch=True), 5)
    assert caught.value.code == "JOB_IN_BATCH_MODE"


def test_a_dead_or_ended_job_is_not_asked(registry: Registry) -> None:
    lost = entry(process=NOBODY, status="running")
    registry.write(lost)
    with pytest.raises(
        JobError, match=r"has no process any more: .* go on with --resume /checkpoints/a1b2c3"
    ) as caught:
        requests.ask(registry, lost, "stop")
    assert caught.value.code == "JOB_LOST"
    with pytest.raises(JobError, match=r"is finished already; there is nothing to cancel\.") as caught:
        requests.ask(registry, entry(status="finished"), "cancel")
    assert caught.value.code == "JOB_OVER"
    assert requests.asked(registry, "a1b2c3") is None


def test_a_resumed_job_is_its_next_run_and_hears_no_old_request(registry: Registry, job: FakeJob) -> None:
    first = new_run(registry)
    requests.ask(registry, first.entry, "cancel")
    requests.ask_limit(registry, first.entry, 5)
    first.end("cancelled")
    second = new_run(registry)
    second.begin(job)
    time.sleep(0.5)
    assert (job.asked, job.limits) == ([], [])
    assert (read(registry).runs, read(registry).status) == (2, "created")
    second.end("finished")


def test_waiting_ends_with_the_job_or_the_time(registry: Registry, run: Run) -> None:
    assert requests.wait_until_over(registry, "a1b2c3", 0.2) == "created"
    run.end("cancelled")
    assert requests.wait_until_over(registry, "a1b2c3", 10) == "cancelled"


def test_listeners_hear_it_all(registry: Registry, job: FakeJob) -> None:
    told: list[str] = []

    class Ear(Listener):
        def created(self, job: JobEntry) -> None:
            told.append(job.status)

        def batch(self, job: JobEntry, progress: Progress, report: Report) -> None:
            told.append(f"batch {report['batch']}, {progress.read}")

        def ended(self, job: JobEntry, progress: Progress) -> None:
            told.append(job.status)

    with listening(Ear()):
        run = new_run(registry)
        run.begin(job)
        job.reports = [report(0, 3), report(1, 4)]
        run.end("finished")
    assert told == ["created", "batch 0, 3", "batch 1, 7", "finished"]


def test_metrics_of_functions_are_kept(registry: Registry, run: Run, job: FakeJob) -> None:
    job.reports = [report(0, 3)]
    run.end("finished")
    assert (registry.progress("a1b2c3") or Progress()).metrics == {"totals.hits": 7}


def test_notes_reach_the_log_line_by_line(registry: Registry, run: Run) -> None:
    run.note("WARNING shop [totals #1] nothing to add\nINFO shop [totals #0] two")
    lines = Path(read(registry).log).read_text().splitlines()
    assert [line[20:] for line in lines[-2:]] == [
        "WARNING shop [totals #1] nothing to add",
        "INFO shop [totals #0] two",
    ]


def test_a_job_goes_on_when_the_registry_cannot_be_written(
    tmp_path: Path, job: FakeJob, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").touch()
    run = new_run(Registry(tmp_path / "file"))
    run.begin(job)
    job.reports = [report(0, 3)]
    run.end("finished")
    assert run.tally.progress.read == 3
    assert capsys.readouterr().err.count("cannot be registered") == 1


PROGRAM = """
import sys, tests.jobs_registry.test_run as t
from pathlib import Path
from typing import Any
run = t.new_run(t.Registry(Path(sys.argv[1])))
run.begin(t.FakeJob())
"""


def test_a_program_that_ends_takes_its_jobs_along(registry: Registry) -> None:
    subprocess.run([sys.executable, "-c", PROGRAM, str(registry.folder)], check=True)
    found = read(registry)
    assert (found.status, found.error) == (
        "cancelled",
        Failure("PROGRAM_ENDED", "The program ended while the job was running."),
    )
