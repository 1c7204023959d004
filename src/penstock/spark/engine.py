"""The engine that runs jobs on Spark."""

from __future__ import annotations

import atexit
import contextlib
import weakref
from collections.abc import Iterator
from typing import Any

from pyspark.sql import SparkSession

from penstock.config import MASTER, Configuration
from penstock.datastream.job_client import JobClient
from penstock.datastream.job_result import JobExecutionResult
from penstock.plan.graph import JobGraph
from penstock.spark.job import SparkJob
from penstock.spark.session import cores_of, get_session

_in_background: weakref.WeakSet[SparkJob] = weakref.WeakSet()


class SparkEngine:
    """The engine that `env.execute()` finds by its name."""

    def default_parallelism(self, configuration: Configuration) -> int:
        return cores_of(configuration.get(MASTER)) or get_session(configuration).sparkContext.defaultParallelism

    def session(self, configuration: Configuration) -> SparkSession:
        return get_session(configuration)

    def execute(self, graph: JobGraph, configuration: Configuration, files: dict[str, list[str]]) -> JobExecutionResult:
        job = SparkJob(graph, configuration, files)
        try:
            job.start()
            job.wait()
            return job.result()
        finally:
            job.forget()

    def execute_async(self, graph: JobGraph, configuration: Configuration, files: dict[str, list[str]]) -> JobClient:
        job = SparkJob(graph, configuration, files)
        try:
            job.start()
        except BaseException:
            job.forget()
            raise
        return run_in_background(job)

    def collect(self, graph: JobGraph, configuration: Configuration, files: dict[str, list[str]]) -> Iterator[Any]:
        job = SparkJob(graph, configuration, files)
        job.start()
        return _collected(job, len(graph.sinks) - 1)


def run_in_background(job: SparkJob) -> JobClient:
    """Lets a started job run beside the program; it is cancelled when the program ends, as in Flink's local mode."""
    _in_background.add(job)
    job.run_in_background()
    return JobClient(job)


@atexit.register
def _cancel_all() -> None:
    for job in list(_in_background):
        with contextlib.suppress(Exception):  # Spark may be gone already
            job.cancel()


def _collected(job: SparkJob, sink: int) -> Iterator[Any]:
    try:
        yield from job.elements(sink)
    finally:
        job.forget()
