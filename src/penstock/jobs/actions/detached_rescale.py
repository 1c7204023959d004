"""Rescales a job from a separate process. A job that rescales itself needs it, because its own process ends on the way.

python -m penstock.jobs.actions.detached_rescale REGISTRY_FOLDER JOB_ID PARALLELISM
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from penstock.config import OPTIONS_VARIABLE, environment_options
from penstock.errors import PenstockError
from penstock.jobs.actions.rescale import RescaleProgress, rescale_job
from penstock.jobs.actions.start import start_detached
from penstock.jobs.registry.entry import JobEntry
from penstock.jobs.registry.launch import job_options
from penstock.jobs.registry.registry import Registry


def start_detached_rescale(registry: Registry, entry: JobEntry, parallelism: int) -> subprocess.Popen[bytes]:
    """Starts the process that rescales a job. Returns immediately. The process writes to the log of the job."""
    command = [sys.executable, "-m", __name__, str(registry.folder), entry.id, str(parallelism)]
    return start_detached(command, Path(entry.log) if entry.log else None, environment=_environment())


def _environment() -> dict[str, str]:
    """The environment of this process without the start position of this run, which the new job must not inherit."""
    return {**os.environ, OPTIONS_VARIABLE: json.dumps(job_options(environment_options()))}


def main(arguments: list[str]) -> int:
    """Rescales the job and returns the exit code of the process."""
    folder, job_id, parallelism = arguments
    registry = Registry(Path(folder))
    logged = ""

    def log_step(progress: RescaleProgress) -> None:
        nonlocal logged
        if progress.step != logged:
            logged = progress.step
            print(f"penstock: rescale {job_id[:8]} to {parallelism}: {logged}", flush=True)

    try:
        rescaled = rescale_job(registry, registry.find(job_id), int(parallelism), on_progress=log_step)
    except PenstockError as error:
        print(f"penstock: [{error.code}] {error.text}", flush=True)
        return 1
    print(f"penstock: job {job_id} continues as job {rescaled.job.id} with parallelism {parallelism}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
