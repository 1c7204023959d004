"""One run of a scripted job with the local engine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import penstock as ps
from penstock.local.job import InProcessJob

Outputs = dict[tuple[int, int], list[Any]]  # by batch and sink


def run(env: ps.StreamExecutionEnvironment, folder: Path, start: str) -> tuple[Outputs, dict[int, Any], str]:
    """Runs a job to the end of its script without ending its sources. Returns outputs, reports by batch, and the checkpoint."""
    env.configuration.set("execution.checkpointing.dir", str(folder))
    if start:
        env.configuration.set("execution.state-recovery.path", start)
    job = InProcessJob(env.graph(), env.configuration)
    job.keep_open = True
    job.start()
    outputs: Outputs = {}
    for batch, of_sinks in job.driver_outputs():
        for sink, elements in of_sinks.items():
            outputs.setdefault((batch, sink), []).extend(elements)
    return outputs, {report["batch"]: report for report in job.reporter.latest()}, job.result().checkpoint
