"""The engine of the runs of a fork or a replay: the job on Spark, over a fixed range of input."""

from __future__ import annotations

import dataclasses
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from penstock.config import (
    ALLOW_DROPPED,
    CHECKPOINT_DIR,
    CHECKPOINT_RETENTION,
    FORK_PLAN,
    FORK_RUN,
    FROM_SAVEPOINT,
    Configuration,
)
from penstock.datastream.job_client import JobClient
from penstock.datastream.job_result import JobExecutionResult
from penstock.errors import PlanError
from penstock.jobs.whole_file import write_whole
from penstock.plan.graph import JobGraph
from penstock.plan.nodes import SourceNode
from penstock.spark.engine import SparkEngine, run_in_background
from penstock.spark.job import SparkJob
from penstock.spark.spark_log import last_commit, offsets_of
from penstock.whatif.plan import ForkPlan, RunFacts, missing, ranges_of, read_plan
from penstock.whatif.redirected import redirected
from penstock.whatif.replayed_source import ReplayedSource, SourceRange
from penstock.whatif.sinks import refuse_appending

_LOOK = 0.1
RUN = "run.json"


class ForkEngine(SparkEngine):
    """Runs a job from a savepoint over the range of input that the fork's plan fixes, then lets it stop."""

    def execute(self, graph: JobGraph, configuration: Configuration, files: dict[str, list[str]]) -> JobExecutionResult:
        job = self._started(graph, configuration, files)
        try:
            job.wait()
            return job.result()
        finally:
            job.forget()

    def execute_async(self, graph: JobGraph, configuration: Configuration, files: dict[str, list[str]]) -> JobClient:
        return run_in_background(self._started(graph, configuration, files))

    def collect(self, graph: JobGraph, configuration: Configuration, files: dict[str, list[str]]) -> Iterator[Any]:
        job = self._started(graph, configuration, files, collects=True)
        try:
            yield from job.elements(len(graph.sinks) - 1)
        finally:
            job.forget()

    def _started(
        self, graph: JobGraph, configuration: Configuration, files: dict[str, list[str]], collects: bool = False
    ) -> SparkJob:
        file = configuration.get(FORK_PLAN)
        plan = read_plan(file)
        if plan.ranges is None:
            plan.ranges = ranges_of(plan, graph)
            plan.write(Path(file))
        folder = Path(plan.folder, configuration.get(FORK_RUN))
        if (folder / RUN).exists():
            raise PlanError(
                "FORK_TWO_JOBS",
                f"The program runs a second job, '{graph.name}', and a savepoint is of one job. Let it run the one job only.",
            )
        folder.mkdir(parents=True, exist_ok=True)
        facts = RunFacts()
        job_graph = with_ranges(graph, plan.ranges)
        if plan.redirect:
            job_graph, facts.redirected = redirected(job_graph, str(folder / "sinks"), collects)
        else:
            refuse_appending(graph, plan.append)
        job = SparkJob(job_graph, self._chosen(configuration, plan, folder), files)
        facts.checkpoint, facts.job_id = job.checkpoint.folder, job.job_id
        try:
            job.start()
        except BaseException:
            job.forget()
            raise
        write_whole(folder / RUN, msgspec.json.encode(facts))
        _Ending(job, plan).start()
        return job

    @staticmethod
    def _chosen(configuration: Configuration, plan: ForkPlan, folder: Path) -> Configuration:
        """The program's own options, but for where it starts and what it leaves behind."""
        chosen = Configuration(configuration)
        chosen.set(FROM_SAVEPOINT.key, plan.savepoint)
        chosen.set(ALLOW_DROPPED.key, plan.allow_dropped)
        chosen.set(CHECKPOINT_DIR.key, str(folder / "checkpoints"))
        chosen.set(CHECKPOINT_RETENTION.key, "RETAIN_ON_CANCELLATION")
        return chosen


def with_ranges(graph: JobGraph, ranges: dict[str, SourceRange]) -> JobGraph:
    """The job with sources that read the range and no more."""
    if unknown := missing(ranges, graph):
        raise PlanError(
            "FORK_SOURCE_UNKNOWN",
            f"This version has {', '.join(map(repr, unknown))}, a source that the first version has not: the versions would "
            "not read the same input. Give sources the same uids in all versions.",
        )
    nodes = tuple(
        dataclasses.replace(n, source=ReplayedSource(n.source, ranges[n.uid])) if isinstance(n, SourceNode) else n
        for n in graph.nodes
    )
    return dataclasses.replace(graph, nodes=nodes)


class _Ending(threading.Thread):
    """Lets a job stop once it has committed all of its range."""

    def __init__(self, job: SparkJob, plan: ForkPlan) -> None:
        super().__init__(name="penstock-fork", daemon=True)
        self._job = job
        self._plan = plan
        assert plan.ranges is not None
        self._last = {source.number: plan.ranges[source.uid].last for source in job.program.sources}

    def run(self) -> None:
        while not self._job.status().is_terminal_state():
            if self._is_through():
                run = self._job.run
                assert run is not None
                run.end_by("drain" if self._plan.drain else "stop")
                return
            time.sleep(_LOOK)

    def _is_through(self) -> bool:
        batch = last_commit(self._job.checkpoint.folder)
        if batch < 0:
            return False
        try:
            _, *offsets = offsets_of(self._job.checkpoint.folder, batch)
        except (OSError, ValueError):
            return False
        return all(offset is not None and offset["at"] >= self._last[n] for n, offset in enumerate(offsets))
