"""An engine that runs nothing. It describes the jobs that a program would run."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Any

from penstock.config import Configuration
from penstock.config.deployment_options import MASTER
from penstock.config.execution_options import RUNTIME_MODE
from penstock.datastream.jobs.job_client import JobClient
from penstock.datastream.jobs.job_result import JobExecutionResult
from penstock.datastream.jobs.job_status import JobStatus
from penstock.plan.explain.job_description import ExplainedJob, describe_job
from penstock.plan.graph import JobGraph

ENGINE_NAME = f"{__name__}:CapturingEngine"
_NO_ID = "0" * 32

Inspect = Callable[[JobGraph, Configuration], None]


class Capture:
    """The jobs that a program started in a `capture_jobs` block."""

    def __init__(self, inspect: Inspect | None) -> None:
        self.jobs: list[ExplainedJob] = []
        self._inspect = inspect

    def add(self, graph: JobGraph, configuration: Configuration) -> None:
        # Described immediately, because the source code of the program's classes cannot be found after the program has ended.
        self.jobs.append(describe_job(graph, configuration.get(RUNTIME_MODE)))
        if self._inspect is not None:
            self._inspect(graph, configuration)


_captures: list[Capture] = []  # the engine is created by its name, so it finds the capture of the running block here


@contextmanager
def capture_jobs(inspect: Inspect | None = None) -> Iterator[Capture]:
    """Inside the block, jobs that run with the capturing engine are collected. `inspect` is called with each of them."""
    capture = Capture(inspect)
    _captures.append(capture)
    try:
        yield capture
    finally:
        _captures.remove(capture)


class CapturingEngine:
    """The engine of `penstock explain`. Each job finishes immediately and has no output."""

    def default_parallelism(self, configuration: Configuration) -> int:
        from penstock.spark.session.session import (
            local_cores,  # importing pyspark is slow, and other commands do not need it
        )

        return local_cores(configuration.get(MASTER)) or 1

    def session(self, configuration: Configuration) -> Any:
        """The Spark session. A program that creates DataFrames needs it, even if no job runs."""
        from penstock.spark.session.session import get_session

        return get_session(configuration)

    def execute(self, graph: JobGraph, configuration: Configuration, files: dict[str, list[str]]) -> JobExecutionResult:
        _captures[-1].add(graph, configuration)
        return JobExecutionResult(_NO_ID, "", 0.0, [])

    def execute_async(self, graph: JobGraph, configuration: Configuration, files: dict[str, list[str]]) -> JobClient:
        return JobClient(_FinishedJob(self.execute(graph, configuration, files)))

    def collect(self, graph: JobGraph, configuration: Configuration, files: dict[str, list[str]]) -> Iterator[Any]:
        self.execute(graph, configuration, files)
        return iter(())


class _FinishedJob:
    """A job that finished without running."""

    job_id = _NO_ID

    def __init__(self, result: JobExecutionResult) -> None:
        self.finished: Future[JobExecutionResult] = Future()
        self.finished.set_result(result)

    def status(self) -> JobStatus:
        return JobStatus.FINISHED

    def cancel(self) -> None:
        """Does nothing, because the job has finished."""

    def accumulators(self) -> dict[str, Any]:
        return {}

    def savepoint(self, directory: str = "", end: str = "") -> str:
        """Returns an empty path, because there is no state."""
        return ""
