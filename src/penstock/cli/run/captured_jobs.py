"""An engine that runs nothing: it keeps the jobs that a program would run, as they would run."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future
from typing import Any

from penstock.config import MASTER, RUNTIME_MODE, Configuration
from penstock.datastream.job_client import JobClient
from penstock.datastream.job_result import JobExecutionResult
from penstock.datastream.job_status import JobStatus
from penstock.plan.explained import ExplainedJob, explained
from penstock.plan.graph import JobGraph

ENGINE_NAME = f"{__name__}:CapturingEngine"
_NO_ID = "0" * 32

Look = Callable[[JobGraph, Configuration], None]

captured: list[ExplainedJob] = []
looks: list[Look] = []  # called with each job, while the program's classes can be found


class CapturingEngine:
    """What `penstock explain` gives to a program instead of Spark: each job is over at once, and nothing comes out."""

    def default_parallelism(self, configuration: Configuration) -> int:
        from penstock.spark.session import cores_of  # pyspark takes its time, and other commands do not need it

        return cores_of(configuration.get(MASTER)) or 1

    def session(self, configuration: Configuration) -> Any:
        """A program that makes DataFrames needs Spark, also when nothing is run."""
        from penstock.spark.session import get_session

        return get_session(configuration)

    def execute(self, graph: JobGraph, configuration: Configuration, files: dict[str, list[str]]) -> JobExecutionResult:
        # At once: later the source of the program's classes is not found any more.
        captured.append(explained(graph, configuration.get(RUNTIME_MODE)))
        for look in looks:
            look(graph, configuration)
        return JobExecutionResult(_NO_ID, "", 0.0, [])

    def execute_async(self, graph: JobGraph, configuration: Configuration, files: dict[str, list[str]]) -> JobClient:
        return JobClient(_Over(self.execute(graph, configuration, files)))

    def collect(self, graph: JobGraph, configuration: Configuration, files: dict[str, list[str]]) -> Iterator[Any]:
        self.execute(graph, configuration, files)
        return iter(())


class _Over:
    """A job that ended before it began."""

    job_id = _NO_ID

    def __init__(self, result: JobExecutionResult) -> None:
        self.finished: Future[JobExecutionResult] = Future()
        self.finished.set_result(result)

    def status(self) -> JobStatus:
        return JobStatus.FINISHED

    def cancel(self) -> None:
        """It is over."""

    def accumulators(self) -> dict[str, Any]:
        return {}

    def savepoint(self, directory: str = "", end: str = "") -> str:
        """Nothing ran, so there is nothing to save."""
        return ""
