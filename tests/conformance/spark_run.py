"""One run of a scripted job on Spark."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import penstock as ps
from penstock.spark.job.job import SparkJob

Outputs = dict[tuple[int, int], list[Any]]  # by batch and sink


def run(env: ps.StreamExecutionEnvironment, folder: Path, start: str) -> tuple[Outputs, dict[int, Any], str]:
    """Runs a job to the end of its script without ending its sources. Returns outputs, reports by batch, and the checkpoint."""
    settings = {"execution.checkpointing.dir": str(folder), "state.local.dir": str(folder / "local")}
    for key, value in {**settings, **({"execution.state-recovery.path": start} if start else {})}.items():
        env.configuration.set(key, value)
    job = SparkJob(env.graph(), env.configuration, {"files": [], "requirements": [], "archives": [], "jars": []})
    job.keep_open = True
    job.start()
    outputs: Outputs = {}
    for batch, of_sinks in job.driver_outputs():
        for sink, elements in of_sinks.items():
            outputs.setdefault((batch, sink), []).extend(elements)
    reports = {report.batch: report.to_dict() for report in job.folder.reports.latest()}
    return outputs, reports, job.result().checkpoint
