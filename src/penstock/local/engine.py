"""The engine that runs jobs in this process, without Java. The option `execution.engine: local` selects it."""

from __future__ import annotations

import atexit
import contextlib
import weakref
from collections.abc import Iterator
from typing import Any

from penstock.config import Configuration
from penstock.config.deployment_options import PYTHON_EXECUTABLE
from penstock.datastream.jobs.job_client import JobClient
from penstock.datastream.jobs.job_result import JobExecutionResult
from penstock.errors import UnsupportedOperation
from penstock.local.job import InProcessJob
from penstock.local.user_files import UserFiles
from penstock.plan.graph import JobGraph

_in_background: weakref.WeakSet[InProcessJob] = weakref.WeakSet()


class LocalEngine:
    """Runs a whole job in this process: sources, operators, sinks and checkpoints."""

    def default_parallelism(self, configuration: Configuration) -> int:
        return 1  # one thread runs all slots

    def session(self, configuration: Configuration) -> Any:
        raise UnsupportedOperation(
            "NEEDS_SPARK",
            "The program needs a Spark session, and the local engine runs without Spark. Run it without --local, or with "
            "execution.engine: spark.",
        )

    def execute(self, graph: JobGraph, configuration: Configuration, files: dict[str, list[str]]) -> JobExecutionResult:
        job = _start(graph, configuration, files)
        job.wait()
        return job.result()

    def execute_async(self, graph: JobGraph, configuration: Configuration, files: dict[str, list[str]]) -> JobClient:
        job = _start(graph, configuration, files)
        _in_background.add(job)
        job.run_in_background()
        return JobClient(job)

    def collect(self, graph: JobGraph, configuration: Configuration, files: dict[str, list[str]]) -> Iterator[Any]:
        return _start(graph, configuration, files).elements(len(graph.sinks) - 1)


def _start(graph: JobGraph, configuration: Configuration, files: dict[str, list[str]]) -> InProcessJob:
    job = InProcessJob(graph, configuration, UserFiles(files, configuration.get(PYTHON_EXECUTABLE)))
    job.start()
    return job


@atexit.register
def _cancel_all() -> None:
    """Jobs in the background end with the program, as in Flink's local mode."""
    for job in list(_in_background):
        with contextlib.suppress(Exception):
            job.cancel()
