"""The local directory of Spark on a local master, which contains its part of the state."""

from __future__ import annotations

import atexit
import os

from penstock.folders import private_folder, remove_private_folder


def local_directory_settings() -> dict[str, str]:
    """The settings of a new session. Empty if the environment names the directories.

    Spark's default is the temporary folder of the system. A temp cleaner would remove files that a job has not changed for days,
    and nothing would remove those of a killed process.
    """
    if os.environ.get("SPARK_LOCAL_DIRS"):
        return {}
    folder = private_folder("spark")
    atexit.register(remove_private_folder, folder)
    return {"spark.local.dir": str(folder)}
