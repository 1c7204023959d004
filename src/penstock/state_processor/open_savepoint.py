"""What can be read and changed: a savepoint, or a checkpoint, which Spark turns into one first."""

from __future__ import annotations

import os
import tempfile

from penstock.connectors.file.system import Options
from penstock.savepoints import Savepoint, open_savepoint
from penstock.savepoints.checkpoint_folder import is_checkpoint

# As long as the process: a Spark DataFrame reads its files when it is asked for rows.
_scratch: list[tempfile.TemporaryDirectory[str]] = []


def held_at(path: str, storage_options: Options | None = None, scratch: str | None = None) -> Savepoint:
    """The savepoint at a path, or the last committed batch of a checkpoint."""
    if not is_checkpoint(path):
        return open_savepoint(path, storage_options)
    from penstock.spark.state_reader import checkpoint_as_savepoint  # not before it is needed: it looks for PySpark

    if scratch is None:
        _scratch.append(tempfile.TemporaryDirectory(prefix="penstock-read-"))
        scratch = os.path.join(_scratch[-1].name, "savepoint")
    return checkpoint_as_savepoint(os.path.abspath(path), scratch)
