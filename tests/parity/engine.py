"""An engine in this process, so that names that run a job can be called without a JVM."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future
from typing import Any

from penstock.config import Configuration
from penstock.datastream.job_client import JobClient
from penstock.datastream.job_result import JobExecutionResult
from penstock.datastream.job_status import JobStatus
from penstock.engine.program import build
from penstock.plan.graph import JobGraph

Files = dict[str, list[str]]


class InProcess:
    """Builds the job and runs nothing: a name that starts a job has done its part when the engine has got it."""

    def default_parallelism(self, configuration: Configuration) -> int:
        return 2

    def execute(self, graph: JobGraph, configuration: Configuration, files: Files) -> JobExecutionResult:
        build(graph)
        return JobExecutionResult("0" * 32, "checkpoint", 1.0, [])

    def execute_async(self, graph: JobGraph, configuration: Configuration, files: Files) -> JobClient:
        return JobClient(_Finished(self.execute(graph, configuration, files)))

    def collect(self, graph: JobGraph, configuration: Configuration, files: Files) -> Iterator[Any]:
        build(graph)
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
        """It has ended already."""

    def accumulators(self) -> dict[str, Any]:
        return {}

    def savepoint(self, directory: str = "", end: str = "") -> str:
        return f"{directory}/{end}"
