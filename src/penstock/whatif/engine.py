"""The engine of forks and replays. It runs a job on Spark over a fixed range of input."""

from __future__ import annotations

import dataclasses
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from penstock.atomic_file import write_atomic
from penstock.config import Configuration
from penstock.config.checkpoint_options import (
    ALLOW_DROPPED,
    CHECKPOINT_DIR,
    CHECKPOINT_RETENTION,
    FROM_SAVEPOINT,
    RESUME,
)
from penstock.config.execution_options import FORK_PLAN, FORK_RUN
from penstock.config.restart_options import RESTARTS
from penstock.datastream.jobs.job_client import JobClient
from penstock.datastream.jobs.job_result import JobExecutionResult
from penstock.errors import PlanError
from penstock.plan.graph import JobGraph
from penstock.plan.nodes import SourceNode
from penstock.spark.checkpoint.spark_log import last_committed_batch, read_offsets
from penstock.spark.engine import SparkEngine, run_in_background
from penstock.spark.job.job import SparkJob
from penstock.whatif.plan import RUN_FILE, ForkPlan, ForkRun, plan_ranges, read_plan, sources_without_range
from penstock.whatif.redirected_sinks import redirect_sinks
from penstock.whatif.repeatable_sinks import check_repeatable
from penstock.whatif.replayed_source import ReplayedSource, SourceRange

_POLL = 0.1


class ForkEngine(SparkEngine):
    """Runs a job from a savepoint over the range of input of the plan, then stops it."""

    def execute(self, graph: JobGraph, configuration: Configuration, files: dict[str, list[str]]) -> JobExecutionResult:
        job = self._start(graph, configuration, files)
        try:
            job.wait()
            return job.result()
        finally:
            job.clean_up()

    def execute_async(self, graph: JobGraph, configuration: Configuration, files: dict[str, list[str]]) -> JobClient:
        return run_in_background(self._start(graph, configuration, files))

    def collect(self, graph: JobGraph, configuration: Configuration, files: dict[str, list[str]]) -> Iterator[Any]:
        job = self._start(graph, configuration, files, collects=True)
        try:
            yield from job.elements(len(graph.sinks) - 1)
        finally:
            job.clean_up()

    def _start(
        self, graph: JobGraph, configuration: Configuration, files: dict[str, list[str]], collects: bool = False
    ) -> SparkJob:
        file = configuration.get(FORK_PLAN)
        plan = read_plan(file)
        if plan.ranges is None:
            plan.ranges = plan_ranges(plan, graph)
            plan.write(Path(file))
        folder = Path(plan.folder, configuration.get(FORK_RUN))
        if (folder / RUN_FILE).exists():
            raise PlanError(
                "FORK_TWO_JOBS",
                f"The program runs a second job, '{graph.name}', but a savepoint belongs to one job. "
                "Change the program to run only that job.",
            )
        folder.mkdir(parents=True, exist_ok=True)
        run = ForkRun()
        job_graph = with_replayed_sources(graph, plan.ranges)
        if plan.redirect:
            job_graph, run.redirected = redirect_sinks(job_graph, str(folder / "sinks"), collects)
        else:
            check_repeatable(graph, plan.append)
        job = SparkJob(job_graph, self._run_configuration(configuration, plan, folder), files)
        run.checkpoint, run.job_id = job.checkpoint.folder, job.job_id
        try:
            job.start()
        except BaseException:
            job.clean_up()
            raise
        write_atomic(folder / RUN_FILE, msgspec.json.encode(run), durable=False)
        _RangeEnd(job, plan).start()
        return job

    @staticmethod
    def _run_configuration(configuration: Configuration, plan: ForkPlan, folder: Path) -> Configuration:
        """The options of the program with another start and other checkpoint settings."""
        options = Configuration(configuration)
        options.set(FROM_SAVEPOINT.key, plan.savepoint)
        options.set(ALLOW_DROPPED.key, plan.allow_dropped)
        options.set(CHECKPOINT_DIR.key, str(folder / "checkpoints"))
        options.set(CHECKPOINT_RETENTION.key, "RETAIN_ON_CANCELLATION")
        options.unset(RESUME)
        if not options.is_set(RESTARTS):
            options.set(RESTARTS.key, "none")  # the user waits for the result, and repeats the command after a failure
        return options


def with_replayed_sources(graph: JobGraph, ranges: dict[str, SourceRange]) -> JobGraph:
    """The job with sources that read only their range."""
    if unknown := sources_without_range(ranges, graph):
        raise PlanError(
            "FORK_SOURCE_UNKNOWN",
            f"This version has the source {', '.join(map(repr, unknown))}, which the first version does not have, so the versions "
            "would not read the same input. Use the same uids for sources in all versions.",
        )
    nodes = tuple(
        dataclasses.replace(n, source=ReplayedSource(n.source, ranges[n.uid])) if isinstance(n, SourceNode) else n
        for n in graph.nodes
    )
    return dataclasses.replace(graph, nodes=nodes)


class _RangeEnd(threading.Thread):
    """Stops a job when it has committed its complete range."""

    def __init__(self, job: SparkJob, plan: ForkPlan) -> None:
        super().__init__(name="penstock-fork", daemon=True)
        self._job = job
        self._plan = plan
        assert plan.ranges is not None
        self._last = {source.number: plan.ranges[source.uid].last for source in job.program.sources}

    def run(self) -> None:
        while not self._job.status().is_terminal_state():
            if self._is_complete():
                run = self._job.run
                assert run is not None
                run.request_end("drain" if self._plan.drain else "stop")
                return
            time.sleep(_POLL)

    def _is_complete(self) -> bool:
        batch = last_committed_batch(self._job.checkpoint.folder)
        if batch < 0:
            return False
        try:
            _, *offsets = read_offsets(self._job.checkpoint.folder, batch)
        except (OSError, ValueError):
            return False
        return all(offset is not None and offset["at"] >= self._last[n] for n, offset in enumerate(offsets))
