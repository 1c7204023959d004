"""What runs a job of a case. Each engine gives what happened, batch by batch."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from penstock.testing import Harness
from tests.conformance.job import OPERATOR, Happened, Job


def in_harness(job: Job, folder: Path) -> list[Happened]:
    """In this process, restored where the case says so."""
    return _in_harness(job, folder, always_restore=False)


def in_harness_restored(job: Job, folder: Path) -> list[Happened]:
    """In this process, restored before every batch, each time with another parallelism: nobody may notice."""
    return _in_harness(job, folder, always_restore=True)


def _in_harness(job: Job, folder: Path, always_restore: bool) -> list[Happened]:
    harness = Harness(job.env(2))
    happened = []
    for number, batch in enumerate(job.batches):
        if batch.restored or always_restore:
            saved = harness.savepoint(folder / f"savepoint-{number}")
            harness.close()
            parallelism = 1 + number % 3 if always_restore else 2
            harness = Harness(job.env(parallelism), seed=number).restore_savepoint(saved)
        harness.run(max_batches=1)
        outputs = {sink: list(harness.sink(sink).take()) for sink in job.sinks}
        happened.append(Happened(outputs, harness.watermark(OPERATOR), batch.inputs))
    harness.close()
    return happened


def on_spark(job: Job, folder: Path) -> list[Happened]:
    """As one query; a restore stops the query and starts a new job from its checkpoint, with another parallelism."""
    from tests.conformance.spark_run import run  # pyspark only where it is needed

    ends = [n for n, batch in enumerate(job.batches) if batch.restored and n > 0] + [len(job.batches)]
    happened: list[Happened] = []
    checkpoint = ""
    for turn, until in enumerate(ends):
        letters, reports, checkpoint = run(job.env(2 + turn % 2, until), folder, checkpoint)
        before = len(happened)  # a new job counts its batches from 0
        for number in range(before, until):
            outputs = {sink: letters.get((number - before, i), []) for i, sink in enumerate(job.sinks)}
            watermark = reports[number - before]["watermarks"].get(OPERATOR)
            happened.append(Happened(outputs, watermark, job.batches[number].inputs))
    return happened


ENGINES: dict[str, Any] = {"harness": in_harness, "harness-restored": in_harness_restored, "spark": on_spark}
