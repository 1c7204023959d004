"""The batch that an earlier run of a checkpoint began and did not finish: Spark runs it again, with the same input."""

from __future__ import annotations

import json
import os


def unfinished_batch(checkpoint: str) -> tuple[int, int] | None:
    """Its number, and when it began, in milliseconds since 1970; none when the last batch was finished.

    Spark writes a batch into its offset log before it runs, and into its commit log when all sinks have committed.
    """
    begun, finished = last_entry(os.path.join(checkpoint, "offsets")), last_entry(os.path.join(checkpoint, "commits"))
    if begun is None or (finished is not None and finished >= begun):
        return None
    return begun, _began(os.path.join(checkpoint, "offsets", str(begun)))


def last_entry(log: str) -> int | None:
    """The last batch in one of Spark's logs."""
    if not os.path.isdir(log):
        return None
    return max((int(name) for name in os.listdir(log) if name.isdecimal()), default=None)


def _began(entry: str) -> int:
    """The batch's own time: its entry is not written again when the batch runs again."""
    with open(entry, encoding="utf-8") as file:
        told = file.read().split("\n")
    try:
        return int(json.loads(told[1])["batchTimestampMs"])
    except (IndexError, ValueError, KeyError, TypeError):
        return int(os.path.getmtime(entry) * 1000)
