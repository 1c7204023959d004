"""An engine without a JVM, for names that start a job."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future
from typing import Any

from penstock.config import Configuration
from penstock.datastream.jobs.job_client import JobClient
from penstock.datastream.jobs.job_result import JobExecutionResult
from penstock.datastream.jobs.job_status import JobStatus
from penstock.engine.program.builder import build_program
from penstock.plan.graph import JobGraph

Files = dict[str, list[str]]


class InProcess:
    """Builds the job, but does not run it."""

    def default_parallelism(self, configuration: Configuration) -> int:
        return 2

    def execute(self, graph: JobGraph, configuration: Configuration, files: Files) -> JobExecutionResult:
        build_program(graph)
        return JobExecutionResult("0" * 32, "checkpoint", 1.0, [])

    def execute_async(self, graph: JobGraph, configuration: Configuration, files: Files) -> JobClient:
        return JobClient(_Finished(self.execute(graph, configuration, files)))

    def collect(self, graph: JobGraph, configuration: Configuration, files: Files) -> Iterator[Any]:
        build_program(graph)
        return iter([1])


class _Finished:
    """A job that has ended."""

    job_id = "0" * 32

    def __init__(self, result: JobExecutionResult) -> None:
        self.finished: Future[JobExecutionResult] = Future()
        self.finished.set_result(result)

    def status(self) -> JobStatus:
        return JobStatus.FINISHED

    def cancel(self) -> None:
        """Does nothing, because the job has ended."""

    def accumulators(self) -> dict[str, Any]:
        return {}

    def savepoint(self, directory: str = "", end: str = "") -> str:
        return f"{directory}/{end}"
