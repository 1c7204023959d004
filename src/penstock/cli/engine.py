"""Spark's engine as the command line runs it: Java checked first, Spark's chatter in a log, and somebody looking on.

Environments find their engine by the name in the option `execution.engine`; commands put this one's name there.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from penstock.cli.quiet import output_to
from penstock.cli.watcher import JobFacts, Watcher
from penstock.config import ENGINE, OPTIONS_VARIABLE, Configuration, given_options
from penstock.plan.graph import JobGraph
from penstock.spark.java import check_java
from penstock.spark.reports import ReportReader

if TYPE_CHECKING:
    from penstock.datastream.job_client import JobClient
    from penstock.spark.job import SparkJob

_POLL = 0.2
_watcher = Watcher()
_log: Path | None = None


@contextmanager
def watched_by(watcher: Watcher, log: Path | None, options: dict[str, Any]) -> Iterator[None]:
    """Inside, environments have these options as defaults, Spark writes to the log and the watcher is told of jobs."""
    global _watcher, _log
    before = _watcher, _log, os.environ.get(OPTIONS_VARIABLE)
    given = {ENGINE.key: f"{__name__}:WatchedEngine", **given_options(), **options}
    Configuration(given)  # refuses what is wrong before anything runs
    _watcher, _log = watcher, log
    os.environ[OPTIONS_VARIABLE] = json.dumps(given)
    try:
        yield
    finally:
        _watcher, _log, variable = before
        os.environ.pop(OPTIONS_VARIABLE)
        if variable is not None:
            os.environ[OPTIONS_VARIABLE] = variable


class WatchedEngine:
    """The Spark engine, watched."""

    def default_parallelism(self, configuration: Configuration) -> int:
        check_java()
        with output_to(_log):
            from penstock.spark.engine import SparkEngine

            return SparkEngine().default_parallelism(configuration)

    def execute(self, graph: JobGraph, configuration: Configuration, files: dict[str, list[str]]) -> Any:
        job, facts = _started(graph, configuration, files)
        with _watching(job, facts):
            job.wait()
        return job.result()

    def execute_async(self, graph: JobGraph, configuration: Configuration, files: dict[str, list[str]]) -> JobClient:
        job, facts = _started(graph, configuration, files)
        from penstock.spark.engine import run_in_background

        watching = _watching(job, facts)
        watching.__enter__()
        job.finished.add_done_callback(lambda done: _end_watch(watching, done.exception()))
        return run_in_background(job)

    def collect(self, graph: JobGraph, configuration: Configuration, files: dict[str, list[str]]) -> Iterator[Any]:
        job, facts = _started(graph, configuration, files)
        return _collected(job, facts, len(graph.sinks) - 1)


def _end_watch(watching: AbstractContextManager[None], error: BaseException | None) -> None:
    """Ends the watch over a job that ran in the background."""
    watching.__exit__(None if error is None else type(error), error, None)


def _started(graph: JobGraph, configuration: Configuration, files: dict[str, list[str]]) -> tuple[SparkJob, JobFacts]:
    check_java()
    with output_to(_log):  # pyspark is imported, and the JVM started, only now
        from penstock.spark.job import SparkJob

        job = SparkJob(graph, configuration, files)
    facts = JobFacts(graph.name, job.checkpoint.job_id, job.checkpoint.folder)
    _watcher.started(facts)
    try:
        job.start()
    except BaseException:
        _watcher.ended(facts, True)
        raise
    return job, facts


def _collected(job: SparkJob, facts: JobFacts, sink: int) -> Iterator[Any]:
    try:
        with _watching(job, facts):
            yield from job.elements(sink)
    finally:
        job.forget()


@contextmanager
def _watching(job: SparkJob, facts: JobFacts) -> Iterator[None]:
    """Tells the watcher of each batch until the job ends."""
    watcher, reader, over = _watcher, ReportReader(job.folder.path), threading.Event()

    def tell() -> None:
        for report in reader.new():
            watcher.batch(facts, report)

    def look() -> None:
        while not over.wait(_POLL):
            tell()

    thread = threading.Thread(target=look, name="penstock-watcher", daemon=True)
    thread.start()
    failed = True
    try:
        yield
        failed = False
    finally:
        over.set()
        thread.join()
        tell()
        watcher.ended(facts, failed)
