"""What Spark's logs of a checkpoint say: which batches were begun and committed, and how far each source was read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from penstock.spark.checkpoint_files import fault_of


class SparkLog:
    """One of Spark's two logs: a file per batch, with a version and lines of JSON."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def numbers(self) -> list[int]:
        if not self.folder.is_dir():
            return []
        return sorted(int(f.name) for f in self.folder.iterdir() if f.name.isdecimal())

    def last(self) -> int | None:
        """The last batch in it."""
        return max(self.numbers(), default=None)

    def file(self, number: int) -> Path:
        return self.folder / str(number)

    def fault(self, number: int) -> str:
        """What is wrong with an entry; empty: nothing."""
        file = self.file(number)
        if fault := fault_of(file, deep=True):
            return fault
        try:
            version, *lines = file.read_text(encoding="utf-8").split("\n")
            if not version.startswith("v") or not lines:
                return "is cut off"
            for line in lines:
                if line not in ("", "-"):  # a source that has not begun is a dash
                    json.loads(line)
        except ValueError as error:
            return f"cannot be understood ({error})"
        return ""


def last_commit(checkpoint: str) -> int:
    """The last committed batch of a job's checkpoint; -1: there is none."""
    try:
        last = SparkLog(Path(checkpoint, "spark", "commits")).last()
    except OSError:
        last = None
    return -1 if last is None else last


def offsets_of(checkpoint: str, batch: int) -> list[Any]:
    """What a batch read up to: the control source's word, then each source's offset; None: not read yet."""
    lines = SparkLog(Path(checkpoint, "spark", "offsets")).file(batch).read_text(encoding="utf-8").splitlines()[2:]
    return [None if line in ("-", "") else json.loads(line) for line in lines]
