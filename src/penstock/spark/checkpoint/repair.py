"""A damaged checkpoint goes back to its last whole batch, and runs the batches since then again as they were logged.

Spark knows of a batch by two small files: what it reads (`offsets/n`) and that it is done (`commits/n`). A batch that is run again
from its entry reads the same records with the same clock, and sinks know its number. So going back loses nothing as long as
the entries can be read. Where one cannot, its number is spent on a batch that reads nothing, because a sink may have
taken that number before; what it had read is read again by a later batch. docs/decisions/0022-damaged-checkpoints.md says why.
"""

from __future__ import annotations

import json
import os
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from penstock.errors import CheckpointError
from penstock.jobs.whole_file import write_whole
from penstock.spark.checkpoint_files import fault_of, put_aside
from penstock.spark.spark_log import SparkLog
from penstock.spark.state_versions import Partition, last_common, partitions


@dataclass
class Mended:
    """What was done to a checkpoint, for people."""

    folder: str
    faults: list[str]
    last_good: int  # batch
    repeated: list[int] = field(default_factory=list)  # run again as they were
    unknown: list[int] = field(default_factory=list)  # what they read is not known any more
    aside: str = ""

    @property
    def words(self) -> str:
        parts = [f"The checkpoint {self.folder} was damaged: {'; '.join(self.faults[:5])}"]
        if len(self.faults) > 5:
            parts[0] += f"; and {len(self.faults) - 5} more"
        if self.repeated or self.unknown:
            state = f"as of batch {self.last_good}" if self.last_good >= 0 else "from before the first batch"
            parts.append(f"Its last whole state is {state}")
        if self.repeated:
            parts.append(
                f"{_range(self.repeated)} run again with the same input, and sinks keep what they have of them: nothing of "
                "them is lost, and nothing comes twice"
            )
        if self.unknown:
            parts.append(
                f"What {_range(self.unknown).lower()} read is not known any more. It is read again, from the end of the batch "
                "before, by a batch with a new number: nothing is lost, but a sink that had taken it already gets its output "
                "a second time. Upserts end the same; look for duplicates elsewhere"
            )
        if not self.repeated and not self.unknown:
            parts.append("Spark goes on without these files, and nothing is lost")
        return ". ".join([*parts, f"What was damaged or undone is kept in {self.aside}."])


def _range(numbers: list[int]) -> str:
    return f"Batch {numbers[0]}" if len(numbers) == 1 else f"Batches {numbers[0]} to {numbers[-1]}"


class Repeats:
    """Batches of a checkpoint that are to run again, one by one, each from its own entry."""

    def __init__(self, folder: str) -> None:
        self._spark = Path(folder, "spark")
        self.folder = Path(folder, "penstock", "repeat")
        self._until = self.folder / "until"
        self._offsets, self._commits = SparkLog(self._spark / "offsets"), SparkLog(self._spark / "commits")

    def pending(self) -> bool:
        """Whether the next batch is one that ran before."""
        return self._next() <= self.until()

    def until(self) -> int:
        """The last batch that is to run again, or has; -1: none was."""
        try:
            return int(self._until.read_text())
        except FileNotFoundError:
            return -1

    def prepare(self) -> None:
        """Puts the entry of the next batch where Spark looks for it."""
        number = self._next()
        if not self._offsets.file(number).exists():
            os.replace(self.folder / str(number), self._offsets.file(number))

    def _next(self) -> int:
        return (self._commits.numbers() or [-1])[-1] + 1

    def plan(self, entries: dict[int, bytes], until: int) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        for number, entry in entries.items():
            write_whole(self.folder / str(number), entry)
        write_whole(self._until, str(until).encode())

    def kept(self, number: int) -> Path:
        """An entry of a plan that was made and not carried out."""
        return self.folder / str(number)


def mend(folder: str, deep: bool, now: Callable[[], float] = time.time) -> Mended | None:
    """Makes a checkpoint whole again; None when nothing is wrong. `deep` reads all of the state's files.

    May be broken off at any point, and called again: entries are copied before they are moved, the newest ones first.
    """
    spark = Path(folder, "spark")
    if not spark.is_dir():
        return None  # it has not begun
    return _Mending(folder, deep, time.strftime("%Y%m%d-%H%M%S", time.gmtime(now()))).done()


class _Mending:
    def __init__(self, folder: str, deep: bool, when: str) -> None:
        self._folder = folder
        self._spark = Path(folder, "spark")
        self._aside = Path(folder, "penstock", "damaged", when)
        self._offsets, self._commits = SparkLog(self._spark / "offsets"), SparkLog(self._spark / "commits")
        self._repeats = Repeats(folder)
        self._faults: list[str] = []
        self._partitions: list[Partition] = partitions(self._spark, deep)

    def done(self) -> Mended | None:
        self._mend_metadata()
        committed = self._last_whole(self._commits)
        begun = (self._offsets.numbers() or [-1])[-1]
        if begun < 0:
            return self._result(-1) if self._faults else None
        last = self._last_good(min(committed, begun))
        noted = (self._commits.numbers() or [-1])[-1]
        until = max(begun, noted)
        bad = [n for n in range(max(last, 0), begun + 1) if self._offsets.fault(n)]
        self._faults += [f"{self._offsets.file(n)} {self._offsets.fault(n)}" for n in bad]
        if last == committed == noted and until <= committed + 1 and not bad:
            return self._without_snapshots(last)
        self._faults += [fault for partition in self._partitions for fault in partition.faults()]
        return self._go_back(
            last, max(until, self._repeats.until())
        )  # it may have gone back before, and not far enough

    def _last_whole(self, log: SparkLog) -> int:
        """The number of a log's last entry that can be read; -1: there is none."""
        for number in reversed(log.numbers()):
            if not (fault := log.fault(number)):
                return number
            self._faults.append(f"{log.file(number)} {fault}")
        return -1

    def _is_good(self, number: int) -> bool:
        return not self._offsets.fault(number) or self._repeats.kept(number).exists()

    def _last_good(self, committed: int) -> int:
        """The last batch whose state can be loaded, whose end is known, and that is noted as done."""
        last = committed
        while True:
            last = last_common(self._partitions, last + 1) - 1
            if last < 0 or not (self._offsets.fault(last) or self._commits.fault(last)):
                break
            last -= 1
        first = (self._offsets.numbers() or [0])[0]
        if last < first and not (last == -1 and first == 0):
            raise self._hopeless()
        return last

    def _hopeless(self) -> CheckpointError:
        faults = [*self._faults, *(fault for partition in self._partitions for fault in partition.faults())]
        return CheckpointError(
            "CHECKPOINT_DAMAGED",
            f"The checkpoint {self._folder} is damaged, and none of the batches that it remembers is whole: "
            f"{'; '.join(faults[:5])}. Start from a savepoint or another checkpoint; nothing was changed in this one.",
        )

    def _without_snapshots(self, last: int) -> Mended | None:
        """Damaged snapshots that nobody needs: Spark would try them first."""
        bad = [file for partition in self._partitions for file in partition.bad_snapshots()]
        self._faults += [fault for partition in self._partitions for fault in partition.faults()]
        for file in bad:
            put_aside(file, self._spark, self._aside)
        return self._result(last) if self._faults else None

    def _go_back(self, last: int, until: int) -> Mended:
        entries: dict[int, bytes] = {}
        known = last  # the last batch of which it is known what it read
        entry = self._read(last) if last >= 0 else None
        for number in range(last + 1, until + 1):
            if self._is_good(number):
                entry, known = self._read(number), number
            elif entry is None:
                raise self._hopeless()  # nothing says where the first batch began
            entries[number] = entry
        self._repeats.plan(entries, until)
        for partition in self._partitions:  # before the logs: what is logged and not there is found again
            for file in {*partition.newer_than(last + 1), *partition.bad_snapshots()}:
                put_aside(file, self._spark, self._aside)
        for number in range(until, last, -1):
            for log in (self._commits, self._offsets):
                put_aside(log.file(number), self._spark, self._aside)
        return self._result(
            last, [*range(last + 1, known + 1)], [*range(known + 1, until + 1)] if known < until else []
        )

    def _read(self, number: int) -> bytes:
        kept = self._repeats.kept(number)
        return kept.read_bytes() if kept.exists() else self._offsets.file(number).read_bytes()

    def _mend_metadata(self) -> None:
        """Spark's name of the query, which nothing of the checkpoint refers to."""
        file = self._spark / "metadata"
        fault = fault_of(file, deep=True)
        if not fault:
            try:
                json.loads(file.read_text())["id"]
            except (ValueError, KeyError, TypeError) as error:
                fault = f"cannot be understood ({error})"
        if fault and self._offsets.numbers():
            self._faults.append(f"{file} {fault}")
            put_aside(file, self._spark, self._aside)
            write_whole(file, json.dumps({"id": str(uuid.uuid4())}).encode())

    def _result(self, last: int, repeated: list[int] | None = None, unknown: list[int] | None = None) -> Mended:
        return Mended(self._folder, self._faults, last, repeated or [], unknown or [], str(self._aside))
