"""An engine without a JVM, whose jobs are controlled by the test."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import Future
from typing import Any, ClassVar

import penstock as ps
from penstock.datastream import JobClient, JobExecutionResult, JobStatus
from penstock.errors import JobError
from penstock.plan.graph import JobGraph

NAME = f"{__name__}:RecordingEngine"


class FakeJob:
    """A job that ends when the test ends it."""

    def __init__(self, graph: JobGraph) -> None:
        self.graph = graph
        self.job_id = f"{graph.name}-id"
        self.finished: Future[JobExecutionResult] = Future()
        self._status = JobStatus.RUNNING
        self.cancelled = threading.Event()

    def status(self) -> JobStatus:
        return self._status

    def cancel(self) -> None:
        self.cancelled.set()
        self._status = JobStatus.CANCELED
        self.finished.set_exception(JobError("JOB_CANCELED", "The job was cancelled."))

    def finish(self) -> None:
        self._status = JobStatus.FINISHED
        self.finished.set_result(result_of(self.graph))

    def accumulators(self) -> dict[str, Any]:
        return {"map-1.numRecordsIn": 3}

    def savepoint(self, directory: str = "", end: str = "") -> str:
        return f"{' '.join(filter(None, (directory, end)))}/{self.job_id}"


def result_of(graph: JobGraph) -> JobExecutionResult:
    return JobExecutionResult(f"{graph.name}-id", "/checkpoint", 1.5, [], {"map-1.numRecordsIn": 3})


class RecordingEngine:
    """Records the jobs that it gets."""

    asked: ClassVar[list[tuple[JobGraph, ps.Configuration, dict[str, list[str]]]]] = []
    jobs: ClassVar[list[FakeJob]] = []

    def default_parallelism(self, configuration: ps.Configuration) -> int:
        return 3

    def execute(self, graph: JobGraph, configuration: ps.Configuration, files: dict[str, list[str]]) -> Any:
        self.asked.append((graph, configuration, files))
        return result_of(graph)

    def execute_async(self, graph: JobGraph, configuration: ps.Configuration, files: dict[str, list[str]]) -> JobClient:
        self.asked.append((graph, configuration, files))
        job = FakeJob(graph)
        self.jobs.append(job)
        return JobClient(job)

    def collect(self, graph: JobGraph, configuration: ps.Configuration, files: dict[str, list[str]]) -> Iterator[Any]:
        self.asked.append((graph, configuration, files))
        return iter([1, 2])


def environment(**options: Any) -> ps.StreamExecutionEnvironment:
    RecordingEngine.asked.clear()
    RecordingEngine.jobs.clear()
    return ps.StreamExecutionEnvironment(ps.Configuration({"execution.engine": NAME, **options}))
