"""Engines that run the job of a case and return the results of each batch."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import penstock as ps
from penstock.testing import Harness
from penstock.time import MIN_WATERMARK
from tests.conformance import local_run
from tests.conformance.job import OPERATOR, BatchResult, Job

# Runs a scripted job from a checkpoint: outputs by batch and sink, reports by batch, and the new checkpoint.
Run = Callable[[ps.StreamExecutionEnvironment, Path, str], tuple[dict[tuple[int, int], list[Any]], dict[int, Any], str]]


def in_harness(job: Job, folder: Path) -> list[BatchResult]:
    """Runs in this process. The job is restored where the case specifies it."""
    return _in_harness(job, folder, always_restore=False)


def in_harness_restored(job: Job, folder: Path) -> list[BatchResult]:
    """Runs in this process and restores the job before every batch with another parallelism. Results must not change."""
    return _in_harness(job, folder, always_restore=True)


def _in_harness(job: Job, folder: Path, always_restore: bool) -> list[BatchResult]:
    harness = Harness(job.env(2))
    results = []
    for number, batch in enumerate(job.batches):
        if batch.restored or always_restore:
            saved = harness.savepoint(folder / f"savepoint-{number}")
            harness.close()
            parallelism = 1 + number % 3 if always_restore else 2
            harness = Harness(job.env(parallelism), seed=number).restore_savepoint(saved)
        harness.run(max_batches=1)
        outputs = {sink: list(harness.sink(sink).take()) for sink in job.sinks}
        results.append(BatchResult(outputs, _watermark(job, harness), batch.inputs))
    harness.close()
    return results


def _watermark(job: Job, harness: Harness) -> int:
    """The watermark of the operator of a case. Queries have no such operator."""
    return harness.watermark(job.operator) if job.operator is not None else MIN_WATERMARK


def on_spark(job: Job, folder: Path) -> list[BatchResult]:
    """Runs on Spark. A restore starts a new job from the checkpoint with another parallelism."""
    from tests.conformance.spark_run import run  # pyspark only where it is needed

    return _in_runs(job, folder, run)


def in_process(job: Job, folder: Path) -> list[BatchResult]:
    """Runs with the local engine. A restore starts a new job from the checkpoint with another parallelism."""
    return _in_runs(job, folder, local_run.run)


def _in_runs(job: Job, folder: Path, run: Run) -> list[BatchResult]:
    ends = [n for n, batch in enumerate(job.batches) if batch.restored and n > 0] + [len(job.batches)]
    results: list[BatchResult] = []
    checkpoint = ""
    for turn, until in enumerate(ends):
        outputs_by_batch, reports, checkpoint = run(job.env(2 + turn % 2, until), folder, checkpoint)
        before = len(results)  # a new job counts its batches from 0
        for number in range(before, until):
            outputs = {sink: outputs_by_batch.get((number - before, i), []) for i, sink in enumerate(job.sinks)}
            watermark = reports[number - before]["watermarks"].get(OPERATOR, MIN_WATERMARK)
            results.append(BatchResult(outputs, watermark, job.batches[number].inputs))
    return results


ENGINES: dict[str, Any] = {
    "harness": in_harness,
    "harness-restored": in_harness_restored,
    "local": in_process,
    "spark": on_spark,
}
