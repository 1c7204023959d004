"""Opens a savepoint, or a checkpoint after Spark has converted it to a savepoint."""

from __future__ import annotations

import atexit
import os

from penstock.connectors.file.system.file_system import Options
from penstock.folders import private_folder, remove_private_folder
from penstock.savepoints import Savepoint, open_savepoint
from penstock.savepoints.savepoint import is_checkpoint


def open_savepoint_or_checkpoint(
    path: str, storage_options: Options | None = None, scratch: str | None = None
) -> Savepoint:
    """The savepoint at a path, or the last committed batch of a checkpoint.

    Spark writes the savepoint of a checkpoint to `scratch`, by default a temporary folder of this process.
    """
    if not is_checkpoint(path):
        return open_savepoint(path, storage_options)
    from penstock.spark.savepoint.state_reader import (
        checkpoint_as_savepoint,  # imported here: it needs PySpark
    )

    if scratch is None:
        folder = private_folder("read")
        atexit.register(remove_private_folder, folder)  # a Spark DataFrame may read the files until then
        scratch = os.path.join(folder, "savepoint")
    return checkpoint_as_savepoint(os.path.abspath(path), scratch)
