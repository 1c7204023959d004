"""Reads Spark's offset and commit logs: which batches were started and committed, and the offsets of each source."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from penstock.spark.checkpoint.checkpoint_files import find_fault


class SparkLog:
    """The offset log or the commit log: one file per batch, with a version and lines of JSON."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def batches(self) -> list[int]:
        """The numbers of the batches that have an entry, in order."""
        if not self.folder.is_dir():
            return []
        return sorted(int(f.name) for f in self.folder.iterdir() if f.name.isdecimal())

    def last(self) -> int | None:
        """The last batch that has an entry; None if there is none."""
        return max(self.batches(), default=None)

    def file(self, number: int) -> Path:
        return self.folder / str(number)

    def find_fault(self, number: int) -> str:
        """A message about the damage of an entry; empty if none is found."""
        file = self.file(number)
        if fault := find_fault(file, deep=True):
            return fault
        try:
            version, *lines = file.read_text(encoding="utf-8").split("\n")
            if not version.startswith("v") or not lines:
                return "is truncated"
            for line in lines:
                if line not in ("", "-"):  # a dash stands for a source that has not been read
                    json.loads(line)
        except ValueError as error:
            return f"cannot be decoded ({error})"
        return ""


def last_committed_batch(checkpoint: str) -> int:
    """The last committed batch of a checkpoint; -1 if there is none."""
    try:
        last = SparkLog(Path(checkpoint, "spark", "commits")).last()
    except OSError:
        last = None
    return -1 if last is None else last


def read_offsets(checkpoint: str, batch: int) -> list[Any]:
    """The end offsets of a batch: that of the control source, then those of the sources; None for a source not read yet."""
    lines = SparkLog(Path(checkpoint, "spark", "offsets")).file(batch).read_text(encoding="utf-8").splitlines()[2:]
    return [None if line in ("-", "") else json.loads(line) for line in lines]


def unfinished_batch(checkpoint: str) -> tuple[int, int] | None:
    """The number and start time (milliseconds since 1970) of a batch that was started and not committed; None if there is none.

    Spark writes a batch to the offset log before it runs it, and to the commit log after all sinks have committed. It runs an
    unfinished batch again with the same input.
    """
    offsets, commits = (SparkLog(Path(checkpoint, name)) for name in ("offsets", "commits"))
    started, committed = offsets.last(), commits.last()
    if started is None or (committed is not None and committed >= started):
        return None
    return started, _start_time(offsets.file(started))


def _start_time(entry: Path) -> int:
    """The first start of a batch. Its entry is not written again if the batch runs again."""
    lines = entry.read_text(encoding="utf-8").split("\n")
    try:
        return int(json.loads(lines[1])["batchTimestampMs"])
    except (IndexError, ValueError, KeyError, TypeError):
        return int(os.path.getmtime(entry) * 1000)
