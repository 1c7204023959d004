"""The engine that runs jobs on Spark."""

from __future__ import annotations

import atexit
import contextlib
import weakref
from collections.abc import Iterator
from typing import Any

from pyspark.sql import SparkSession

from penstock.config import Configuration
from penstock.config.deployment_options import MASTER
from penstock.datastream.jobs.job_client import JobClient
from penstock.datastream.jobs.job_result import JobExecutionResult
from penstock.plan.graph import JobGraph
from penstock.spark.job.job import SparkJob
from penstock.spark.session.session import get_session, local_cores

_in_background: weakref.WeakSet[SparkJob] = weakref.WeakSet()


class SparkEngine:
    """The engine that `env.execute()` loads by its name."""

    def default_parallelism(self, configuration: Configuration) -> int:
        return local_cores(configuration.get(MASTER)) or get_session(configuration).sparkContext.defaultParallelism

    def session(self, configuration: Configuration) -> SparkSession:
        return get_session(configuration)

    def execute(self, graph: JobGraph, configuration: Configuration, files: dict[str, list[str]]) -> JobExecutionResult:
        job = SparkJob(graph, configuration, files)
        try:
            job.start()
            job.wait()
            return job.result()
        finally:
            job.clean_up()

    def execute_async(self, graph: JobGraph, configuration: Configuration, files: dict[str, list[str]]) -> JobClient:
        job = SparkJob(graph, configuration, files)
        try:
            job.start()
        except BaseException:
            job.clean_up()
            raise
        return run_in_background(job)

    def collect(self, graph: JobGraph, configuration: Configuration, files: dict[str, list[str]]) -> Iterator[Any]:
        job = SparkJob(graph, configuration, files)
        job.start()
        elements = _collect(job, len(graph.sinks) - 1)
        next(elements)  # from now on, closing the iterator ends the job
        return elements


def run_in_background(job: SparkJob) -> JobClient:
    """Runs a started job in the background. It is cancelled when the program ends, as in Flink's local mode."""
    _in_background.add(job)
    job.run_in_background()
    return JobClient(job)


@atexit.register
def _cancel_all() -> None:
    for job in list(_in_background):
        with contextlib.suppress(Exception):  # Spark may have ended already
            job.cancel()


def _collect(job: SparkJob, sink: int) -> Iterator[Any]:
    try:
        elements = job.elements(sink)
        yield None  # runs to here before the caller reads the first element
        yield from elements
    finally:
        job.clean_up()
