"""A failure by a killed helper process names the process."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from penstock.errors import JobError, UserFunctionError
from penstock.jobs.registry.process import ProcessId, process_start_time
from penstock.jobs.run.restarts import is_retryable
from penstock.spark.job.lost_process import explain_lost_process
from penstock.spark.report.helper_processes import HelperProcess, HelperProcesses

BROKEN = JobError("JOB_FAILED", "The job failed in Spark: java.net.SocketException: Broken pipe")


@pytest.fixture
def processes(tmp_path: Path) -> HelperProcesses:
    """The helper processes of a job: this one, which runs, and one that was killed."""
    processes = HelperProcesses(tmp_path / "processes")
    processes.begin("control", "starts the batches of the job")
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as killed:
        process = ProcessId("laptop", killed.pid, process_start_time(killed.pid))
        data = msgspec.json.encode(HelperProcess("plans the batches of source 'orders'", process))
        (tmp_path / "processes" / "source-0").write_bytes(data)
        killed.kill()
    return processes


def test_the_killed_process_is_named(processes: HelperProcesses) -> None:
    [killed] = processes.killed()
    explained = explain_lost_process(BROKEN, BROKEN, processes)
    assert str(explained).startswith(
        "[HELPER_PROCESS_DIED] A process that Spark uses ended without an error message: the process that plans the batches "
        f"of source 'orders' (process {killed.process.pid} on laptop). "
    )
    assert is_retryable(explained)


def test_other_failures_are_not_changed(processes: HelperProcesses) -> None:
    for failure in (UserFunctionError("FUNCTION_FAILED", "Broken pipe"), JobError("JOB_FAILED", "something else")):
        assert explain_lost_process(failure, failure, processes) is failure


def test_a_killed_worker_of_a_task_is_not_a_helper_process(processes: HelperProcesses) -> None:
    """Spark has ended the helper processes because of it."""
    task = "Job aborted due to stage failure: Task 0 failed 1 times: Python worker exited unexpectedly (crashed)"
    died = JobError("WORKER_DIED", "A Python worker of Spark ended.")
    assert explain_lost_process(RuntimeError(task), died, processes) is died


def test_a_process_that_ends_as_planned_was_not_killed(processes: HelperProcesses) -> None:
    processes.end("control")
    assert [helper.task for helper in processes.all()] == ["plans the batches of source 'orders'"]
    processes.clear()
    assert explain_lost_process(BROKEN, BROKEN, processes) is BROKEN
