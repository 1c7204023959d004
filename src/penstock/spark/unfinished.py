"""The batch that an earlier run of a checkpoint began and did not finish: Spark runs it again, with the same input."""

from __future__ import annotations

import json
import os
from pathlib import Path

from penstock.spark.spark_log import SparkLog


def unfinished_batch(checkpoint: str) -> tuple[int, int] | None:
    """Its number, and when it began, in milliseconds since 1970; none when the last batch was finished.

    Spark writes a batch into its offset log before it runs, and into its commit log when all sinks have committed.
    """
    offsets, commits = (SparkLog(Path(checkpoint, name)) for name in ("offsets", "commits"))
    begun, finished = offsets.last(), commits.last()
    if begun is None or (finished is not None and finished >= begun):
        return None
    return begun, _began(offsets.file(begun))


def _began(entry: Path) -> int:
    """The batch's own time: its entry is not written again when the batch runs again."""
    told = entry.read_text(encoding="utf-8").split("\n")
    try:
        return int(json.loads(told[1])["batchTimestampMs"])
    except (IndexError, ValueError, KeyError, TypeError):
        return int(os.path.getmtime(entry) * 1000)
