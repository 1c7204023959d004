"""The engine that runs jobs on Spark."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from penstock.config import MASTER, Configuration
from penstock.plan.graph import JobGraph
from penstock.spark.job import JobResult, SparkJob
from penstock.spark.session import cores_of, get_session


class SparkEngine:
    """The engine that `env.execute()` finds by its name."""

    def default_parallelism(self, configuration: Configuration) -> int:
        return cores_of(configuration.get(MASTER)) or get_session(configuration).sparkContext.defaultParallelism

    def execute(self, graph: JobGraph, configuration: Configuration, files: dict[str, list[str]]) -> JobResult:
        job = SparkJob(graph, configuration, files)
        job.start()
        job.wait()
        return job.result()

    def collect(self, graph: JobGraph, configuration: Configuration, files: dict[str, list[str]]) -> Iterator[Any]:
        job = SparkJob(graph, configuration, files)
        job.start()
        return _collected(job, len(graph.sinks) - 1)


def _collected(job: SparkJob, sink: int) -> Iterator[Any]:
    try:
        yield from job.elements(sink)
    finally:
        job.forget()
