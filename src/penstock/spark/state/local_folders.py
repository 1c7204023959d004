"""The folders of working copies on the disk of an executor."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from pathlib import Path

from penstock.config import Configuration
from penstock.config.state_options import LOCAL_DIR
from penstock.jobs.registry import process

_SECONDS_PER_HOUR = 3600


def boot_id() -> bytes:
    """Returns an id that changes when the machine restarts."""
    return (process.boot_id() or str(int(time.time() - time.monotonic()) // 60)).encode()


def working_copy_folder(configuration: Configuration, job_id: str) -> str:
    """Returns the folder where executors keep the working copies of a job."""
    root = configuration.get(LOCAL_DIR) or os.path.join(tempfile.gettempdir(), "penstock-state")
    return f"{root}/{job_id}"


def remove_unused_copies(folder: str, keep_hours: int) -> list[str]:
    """Removes the working copies of jobs that were not used for so many hours. Returns their folders."""
    removed = []
    for job in Path(folder).glob("*") if os.path.isdir(folder) else ():
        used = [float(f.read_text()) for f in job.glob("*/used") if f.is_file()]
        if used and max(used) < time.time() - keep_hours * _SECONDS_PER_HOUR:
            shutil.rmtree(job, ignore_errors=True)
            removed.append(str(job))
    return removed
