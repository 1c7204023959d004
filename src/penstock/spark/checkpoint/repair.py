"""Repairs a damaged checkpoint: rolls it back to its last intact batch, and prepares the batches since then to be repeated.

Spark stores two small files per batch: its end offsets (`offsets/n`) and that it was committed (`commits/n`). A batch that is
repeated from its offsets file reads the same records with the same clock, and sinks recognise its number. So a rollback loses
nothing as long as the offsets files can be read. If one cannot be read, its number is used for a batch that reads nothing,
because a sink may already have committed that number. A later batch reads the records of the lost batch again. See
docs/decisions/0022-damaged-checkpoints.md.
"""

from __future__ import annotations

import json
import os
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from penstock.atomic_file import write_atomic
from penstock.errors import CheckpointError
from penstock.spark.checkpoint.checkpoint_files import find_fault, quarantine
from penstock.spark.checkpoint.spark_log import SparkLog
from penstock.spark.checkpoint.state_versions import StatePartition, last_common_version, state_partitions

_MAX_FAULTS = 5  # faults in a message


@dataclass
class RepairResult:
    """What a repair changed."""

    folder: str
    faults: list[str]
    last_good: int  # the last intact batch
    repeated: list[int] = field(default_factory=list)  # batches that run again with the same input
    unknown: list[int] = field(default_factory=list)  # batches whose input is no longer known
    quarantine: str = ""  # folder of the files that were removed

    @property
    def message(self) -> str:
        """A description of the damage, the repair and its consequences."""
        parts = [f"The checkpoint {self.folder} was damaged: {'; '.join(self.faults[:_MAX_FAULTS])}"]
        if len(self.faults) > _MAX_FAULTS:
            parts[0] += f"; and {len(self.faults) - _MAX_FAULTS} more"
        if self.repeated or self.unknown:
            state = f"as of batch {self.last_good}" if self.last_good >= 0 else "from before the first batch"
            parts.append(f"Its last intact state is {state}")
        if self.repeated:
            parts.append(
                f"{_batch_range(self.repeated)} run again with the same input, and sinks keep the output that they have "
                "committed: no data is lost or duplicated"
            )
        if self.unknown:
            parts.append(
                f"The input of {_batch_range(self.unknown).lower()} is no longer known. A batch with a new number reads it again "
                "from the end of the batch before: no data is lost, but a sink that had committed the output already receives it "
                "a second time. Upserts end with the same result; check other sinks for duplicates"
            )
        if not self.repeated and not self.unknown:
            parts.append("Spark does not need these files, and no data is lost")
        return ". ".join([*parts, f"The removed files are in {self.quarantine}."])


def _batch_range(numbers: list[int]) -> str:
    return f"Batch {numbers[0]}" if len(numbers) == 1 else f"Batches {numbers[0]} to {numbers[-1]}"


class RepeatedBatches:
    """Batches of a repaired checkpoint that run again, one by one, each from its own offsets file."""

    def __init__(self, folder: str) -> None:
        self._spark = Path(folder, "spark")
        self.folder = Path(folder, "penstock", "repeat")
        self._last_file = self.folder / "until"
        self._offsets, self._commits = SparkLog(self._spark / "offsets"), SparkLog(self._spark / "commits")

    def pending(self) -> bool:
        """Whether the next batch is a repeated one."""
        return self._next() <= self.last()

    def last(self) -> int:
        """The last batch that is or was repeated; -1 if there is none."""
        try:
            return int(self._last_file.read_text())
        except FileNotFoundError:
            return -1

    def prepare(self) -> None:
        """Moves the offsets file of the next batch into Spark's offset log."""
        number = self._next()
        if not self._offsets.file(number).exists():
            os.replace(self.folder / str(number), self._offsets.file(number))

    def _next(self) -> int:
        return (self._commits.batches() or [-1])[-1] + 1

    def plan(self, entries: dict[int, bytes], last: int) -> None:
        """Stores the offsets files of the batches to repeat."""
        self.folder.mkdir(parents=True, exist_ok=True)
        for number, entry in entries.items():
            write_atomic(self.folder / str(number), entry, durable=False)
        write_atomic(self._last_file, str(last).encode(), durable=False)

    def entry_file(self, number: int) -> Path:
        """The stored offsets file of a batch that has not been repeated yet."""
        return self.folder / str(number)


def repair_checkpoint(folder: str, deep: bool, now: Callable[[], float] = time.time) -> RepairResult | None:
    """Repairs a checkpoint. Returns None if no damage is found. With `deep` all state files are read completely.

    A repair may be interrupted at any point and called again, because offsets files are copied before they are moved, the
    newest ones first.
    """
    if not Path(folder, "spark").is_dir():
        return None  # no batch was started
    return _Repair(folder, deep, time.strftime("%Y%m%d-%H%M%S", time.gmtime(now()))).run()


class _Repair:
    def __init__(self, folder: str, deep: bool, timestamp: str) -> None:
        self._folder = folder
        self._spark = Path(folder, "spark")
        self._quarantine = Path(folder, "penstock", "damaged", timestamp)
        self._offsets, self._commits = SparkLog(self._spark / "offsets"), SparkLog(self._spark / "commits")
        self._repeats = RepeatedBatches(folder)
        self._faults: list[str] = []
        self._partitions: list[StatePartition] = state_partitions(self._spark, deep)

    def run(self) -> RepairResult | None:
        self._repair_metadata()
        committed = self._last_intact(self._commits)
        started = (self._offsets.batches() or [-1])[-1]
        if started < 0:
            return self._result(-1) if self._faults else None
        last_good = self._last_good(min(committed, started))
        last_commit = (self._commits.batches() or [-1])[-1]
        last = max(started, last_commit)
        damaged = [n for n in range(max(last_good, 0), started + 1) if self._offsets.find_fault(n)]
        self._faults += [f"{self._offsets.file(n)} {self._offsets.find_fault(n)}" for n in damaged]
        if last_good == committed == last_commit and last <= committed + 1 and not damaged:
            return self._remove_damaged_snapshots(last_good)
        self._faults += self._state_faults()
        # An earlier rollback may have gone not far enough.
        return self._roll_back(last_good, max(last, self._repeats.last()))

    def _state_faults(self) -> list[str]:
        return [fault for partition in self._partitions for fault in partition.faults()]

    def _last_intact(self, log: SparkLog) -> int:
        """The number of the last entry of a log that can be read; -1 if there is none."""
        for number in reversed(log.batches()):
            if not (fault := log.find_fault(number)):
                return number
            self._faults.append(f"{log.file(number)} {fault}")
        return -1

    def _last_good(self, committed: int) -> int:
        """The last committed batch whose state can be loaded and whose log entries can be read."""
        last = committed
        while True:
            last = last_common_version(self._partitions, last + 1) - 1
            if last < 0 or not (self._offsets.find_fault(last) or self._commits.find_fault(last)):
                break
            last -= 1
        first = (self._offsets.batches() or [0])[0]
        if last < first and not (last == -1 and first == 0):
            raise self._unrepairable()
        return last

    def _unrepairable(self) -> CheckpointError:
        faults = [*self._faults, *self._state_faults()]
        return CheckpointError(
            "CHECKPOINT_DAMAGED",
            f"The checkpoint {self._folder} is damaged, and none of the batches in it is intact: "
            f"{'; '.join(faults[:_MAX_FAULTS])}. Start from a savepoint or another checkpoint. This one was not changed.",
        )

    def _remove_damaged_snapshots(self, last_good: int) -> RepairResult | None:
        """Removes damaged snapshots that are not needed, because Spark would try to load them first."""
        self._faults += self._state_faults()
        for partition in self._partitions:
            for file in partition.damaged_snapshots():
                quarantine(file, self._spark, self._quarantine)
        return self._result(last_good) if self._faults else None

    def _roll_back(self, last_good: int, last: int) -> RepairResult:
        entries, last_known = self._entries_to_repeat(last_good, last)
        self._repeats.plan(entries, last)
        for (
            partition
        ) in self._partitions:  # before the logs, so that an interrupted repair finds the missing state again
            for file in {*partition.files_after(last_good + 1), *partition.damaged_snapshots()}:
                quarantine(file, self._spark, self._quarantine)
        for number in range(last, last_good, -1):
            for log in (self._commits, self._offsets):
                quarantine(log.file(number), self._spark, self._quarantine)
        return self._result(last_good, [*range(last_good + 1, last_known + 1)], [*range(last_known + 1, last + 1)])

    def _entries_to_repeat(self, last_good: int, last: int) -> tuple[dict[int, bytes], int]:
        """The offsets files of the batches to repeat, and the last batch whose own file can be read.

        A batch whose file is damaged gets the file of the batch before, so that it reads nothing.
        """
        entries: dict[int, bytes] = {}
        last_known = last_good
        entry = self._read_entry(last_good) if last_good >= 0 else None
        for number in range(last_good + 1, last + 1):
            if not self._offsets.find_fault(number) or self._repeats.entry_file(number).exists():
                entry, last_known = self._read_entry(number), number
            elif entry is None:
                raise self._unrepairable()  # the start offsets of the first batch are unknown
            entries[number] = entry
        return entries, last_known

    def _read_entry(self, number: int) -> bytes:
        stored = self._repeats.entry_file(number)
        return stored.read_bytes() if stored.exists() else self._offsets.file(number).read_bytes()

    def _repair_metadata(self) -> None:
        """Replaces a damaged file with the id of the Spark query. No other file of the checkpoint refers to the id."""
        file = self._spark / "metadata"
        fault = find_fault(file, deep=True)
        if not fault:
            try:
                json.loads(file.read_text())["id"]
            except (ValueError, KeyError, TypeError) as error:
                fault = f"cannot be decoded ({error})"
        if fault and self._offsets.batches():
            self._faults.append(f"{file} {fault}")
            quarantine(file, self._spark, self._quarantine)
            write_atomic(file, json.dumps({"id": str(uuid.uuid4())}).encode(), durable=False)

    def _result(
        self, last_good: int, repeated: list[int] | None = None, unknown: list[int] | None = None
    ) -> RepairResult:
        return RepairResult(self._folder, self._faults, last_good, repeated or [], unknown or [], str(self._quarantine))
