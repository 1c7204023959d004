"""The local directory of Spark on a local master, which contains its part of the state."""

from __future__ import annotations

import atexit
import os

from penstock.folders import private_folder, remove_private_folder

_LONGEST_SOCKET_FOLDER = 60  # bytes; the path of a socket has at most 107, and Spark adds a name of 42


def local_directory_settings() -> dict[str, str]:
    """The settings of a new session. Empty if the environment names the directories.

    Spark's default is the temporary folder of the system. A temp cleaner would remove files that a job has not changed for days,
    and nothing would remove those of a killed process.
    """
    if os.environ.get("SPARK_LOCAL_DIRS"):
        return {}
    folder = private_folder("spark")
    atexit.register(remove_private_folder, folder)
    settings = {"spark.local.dir": str(folder)}
    if len(os.fsencode(folder)) <= _LONGEST_SOCKET_FOLDER:
        settings["spark.python.unix.domain.socket.dir"] = str(folder)  # Spark does not remove all of its sockets
    return settings
