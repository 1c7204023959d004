"""A run updates its entry, processes requests and calls listeners. It does not fail if the registry cannot be written."""

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
from penstock.jobs.registry import requests
from penstock.jobs.registry.batch_report import BatchReport
from penstock.jobs.registry.entry import Failure, JobEntry
from penstock.jobs.registry.progress import OperatorProgress, Progress, StageProgress
from penstock.jobs.registry.registry import Registry
from penstock.jobs.run.listener import Listener, add_listener
from penstock.jobs.run.run import Run, active_runs
from tests.unit.jobs.jobs import DEAD_PROCESS, FakeJob, entry, report
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
    operators = [OperatorProgress("s", "numbers", "source"), OperatorProgress("out", "print", "sink")]
    return Run(registry, entry(**more), operators, Configuration())


def read(registry: Registry) -> JobEntry:
    found = registry.entry("a1b2c3")
    assert found is not None
    return found


def test_a_job_is_running_when_its_first_batch_is_planned(registry: Registry, run: Run, job: FakeJob) -> None:
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


def test_what_a_job_waits_for_is_in_its_entry_and_printed_once(
    registry: Registry, run: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    for reason in ("waits for a", "waits for a", "waits for b", ""):
        run.set_waiting(reason)
        assert read(registry).waits == reason
    events = [line.partition(": job a1b2c3: ")[2] for line in capsys.readouterr().err.splitlines()]
    assert [text for text in events if text] == ["waits for a", "waits for b", "continues"]
    run.set_waiting("waits for c")
    run.end("failed")
    assert read(registry).waits == ""


def test_stages_of_a_batch_job_are_reported_before_its_only_batch(registry: Registry, job: FakeJob) -> None:
    class StageRecorder(Listener):
        stages: list[list[StageProgress]] = []  # noqa: RUF012

        def on_stages(self, job: JobEntry, progress: Progress) -> None:
            self.stages.append(list(progress.stages))

    with add_listener(recorder := StageRecorder()):
        run = new_run(registry, batch=True, checkpoint="")
        job.current_stages = [StageProgress("numbers", 4, 1), StageProgress("totals")]
        run.begin(job)
        until(lambda: (registry.progress("a1b2c3") or Progress()).stages)
        job.current_stages = [StageProgress("numbers", 4, 4), StageProgress("totals", 2, 0)]
        until(lambda: len(recorder.stages) == 2)
        run.end("finished")
    assert [[s.done for s in stages] for stages in recorder.stages] == [[1, 0], [4, 0]], "each change is reported once"
    assert read(registry).start_message == "job a1b2c3, in batch mode"


def test_a_lost_batch_job_cannot_be_resumed(registry: Registry) -> None:
    lost = entry(process=DEAD_PROCESS, status="running", batch=True, checkpoint="")
    with pytest.raises(JobError, match=r"JOB_LOST.*nothing was committed"):
        requests.request_end(registry, lost, "cancel")


def test_the_last_reports_are_processed_at_the_end(registry: Registry, run: Run, job: FakeJob) -> None:
    assert run in active_runs()
    job.reports = [report(0, 10), report(1, 5)]
    run.end("failed", Failure("JOB_FAILED", "It broke."))
    run.end("finished")  # only the first call has an effect
    found = read(registry)
    assert (found.status, found.error) == ("failed", Failure("JOB_FAILED", "It broke."))
    assert found.ended is not None
    assert (registry.progress("a1b2c3") or Progress()).read == 15
    assert "failed: [JOB_FAILED] It broke." in Path(found.log).read_text()
    assert run not in active_runs()


@pytest.mark.parametrize("action", ["stop", "drain", "cancel"])
def test_a_request_reaches_the_job(registry: Registry, run: Run, job: FakeJob, action: requests.EndAction) -> None:
    requests.request_end(registry, read(registry), action)
    assert job.action_requested.wait(120)
    time.sleep(0.5)
    assert job.actions == [action]  # and is processed once
    run.end("finished" if action != "cancel" else "cancelled")
    assert read(registry).stopped == ("" if action == "cancel" else action)


def test_cancel_replaces_stop_but_stop_does_not_replace_cancel(registry: Registry, run: Run, job: FakeJob) -> None:
    requests.request_end(registry, read(registry), "stop")
    until(lambda: job.actions == ["stop"])
    requests.request_end(registry, read(registry), "cancel")
    until(lambda: job.actions == ["stop", "cancel"])
    requests.request_end(registry, read(registry), "stop")
    time.sleep(0.5)
    assert job.actions == ["stop", "cancel"]


def test_a_limit_reaches_the_job_once_and_can_be_changed(registry: Registry, run: Run, job: FakeJob) -> None:
    requests.request_limit(registry, read(registry), 100)
    until(lambda: job.limits == [100])
    requests.request_limit(registry, read(registry), 7)
    until(lambda: job.limits == [100, 7])
    time.sleep(0.5)
    assert job.limits == [100, 7]
    assert job.actions == []


def test_a_limit_for_an_ended_or_batch_job_is_an_error(registry: Registry) -> None:
    with pytest.raises(JobError, match=r"has already ended \(finished\)\. There is nothing to limit\."):
        requests.request_limit(registry, entry(status="finished"), 5)
    with pytest.raises(JobError, match=r"All of its input is one batch") as caught:
        requests.request_limit(registry, entry(status="running", batch=True), 5)
    assert caught.value.code == "JOB_IN_BATCH_MODE"


def test_a_request_to_a_lost_or_ended_job_is_an_error(registry: Registry) -> None:
    lost = entry(process=DEAD_PROCESS, status="running")
    registry.write(lost)
    with pytest.raises(JobError, match=r"does not run any more: .* --resume /checkpoints/a1b2c3") as caught:
        requests.request_end(registry, lost, "stop")
    assert caught.value.code == "JOB_LOST"
    with pytest.raises(JobError, match=r"has already ended \(finished\)\. There is nothing to cancel\.") as caught:
        requests.request_end(registry, entry(status="finished"), "cancel")
    assert caught.value.code == "JOB_OVER"
    assert requests.read_end_request(registry, "a1b2c3") is None


def test_a_resumed_job_ignores_old_requests(registry: Registry, job: FakeJob) -> None:
    first = new_run(registry)
    requests.request_end(registry, first.entry, "cancel")
    requests.request_limit(registry, first.entry, 5)
    first.end("cancelled")
    second = new_run(registry)
    second.begin(job)
    time.sleep(0.5)
    assert (job.actions, job.limits) == ([], [])
    assert (read(registry).runs, read(registry).status) == (2, "created")
    second.end("finished")


def test_wait_for_end_returns_at_the_end_or_after_the_timeout(registry: Registry, run: Run) -> None:
    assert requests.wait_for_end(registry, "a1b2c3", 0.2) == "created"
    run.end("cancelled")
    assert requests.wait_for_end(registry, "a1b2c3", 120) == "cancelled"


def test_listeners_get_all_events(registry: Registry, job: FakeJob) -> None:
    events: list[str] = []

    class Recorder(Listener):
        def on_created(self, job: JobEntry) -> None:
            events.append(job.status)

        def on_batch(self, job: JobEntry, progress: Progress, report: BatchReport) -> None:
            events.append(f"batch {report.batch}, {progress.read}")

        def on_ended(self, job: JobEntry, progress: Progress) -> None:
            events.append(job.status)

    with add_listener(Recorder()):
        run = new_run(registry)
        run.begin(job)
        job.reports = [report(0, 3), report(1, 4)]
        run.end("finished")
    assert events == ["created", "batch 0, 3", "batch 1, 7", "finished"]


def test_metrics_of_functions_are_written(registry: Registry, run: Run, job: FakeJob) -> None:
    job.reports = [report(0, 3)]
    run.end("finished")
    assert (registry.progress("a1b2c3") or Progress()).metrics == {"totals.hits": 7}


def test_log_messages_are_written_line_by_line(registry: Registry, run: Run) -> None:
    run.log("WARNING shop [totals #1] nothing to add\nINFO shop [totals #0] two")
    lines = Path(read(registry).log).read_text().splitlines()
    assert [line[20:] for line in lines[-2:]] == [
        "WARNING shop [totals #1] nothing to add",
        "INFO shop [totals #0] two",
    ]


def test_a_job_continues_if_the_registry_cannot_be_written(
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
import sys, tests.unit.jobs.test_run as t
from pathlib import Path
from typing import Any
run = t.new_run(t.Registry(Path(sys.argv[1])))
run.begin(t.FakeJob())
"""


def test_jobs_are_cancelled_when_the_program_ends(registry: Registry) -> None:
    subprocess.run([sys.executable, "-c", PROGRAM, str(registry.folder)], check=True)
    found = read(registry)
    assert (found.status, found.error) == (
        "cancelled",
        Failure("PROGRAM_ENDED", "The program ended while the job was running."),
    )
