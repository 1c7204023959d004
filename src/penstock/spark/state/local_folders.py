"""The folders of working copies on the disk of an executor."""

from __future__ import annotations

import os
import tempfile
import time
from contextlib import suppress

from penstock.config import Configuration
from penstock.config.state_options import LOCAL_DIR
from penstock.folders import create_private, working_copies_folder
from penstock.jobs.registry import process

_ON_EXECUTORS = "penstock-working-copies"


def boot_id() -> bytes:
    """Returns an id that changes when the machine restarts."""
    return (process.boot_id() or str(int(time.time() - time.monotonic()) // 60)).encode()


def working_copy_folder(configuration: Configuration, job_id: str, master: str) -> str:
    """Returns the folder where executors keep the working copies of a job.

    On a cluster the path is relative, because each executor puts it into its local directory of Spark.

    >>> working_copy_folder(Configuration(), "7", "yarn")
    'penstock-working-copies/7'
    """
    if chosen := configuration.get(LOCAL_DIR):
        return f"{chosen}/{job_id}"
    if master == "local" or master.startswith("local["):
        return str(working_copies_folder() / job_id)
    return f"{_ON_EXECUTORS}/{job_id}"


def create_copies_folder(configuration: Configuration) -> None:
    """Creates the default folder on this machine, so that only this user can access it."""
    if not configuration.get(LOCAL_DIR):
        with suppress(OSError):  # workers report why they cannot write it
            create_private(working_copies_folder())


def folder_on_executor(folder: str) -> str:
    """Returns the path of `working_copy_folder` on this machine. Spark sets the variable for its Python workers."""
    if os.path.isabs(folder):
        return folder
    local = os.environ.get("SPARK_LOCAL_DIRS", "").split(",")[0]
    return os.path.join(local or tempfile.gettempdir(), folder)
