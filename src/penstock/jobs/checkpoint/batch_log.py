"""The checkpoint of a job of the local engine as a log.

Before a batch its input is stored, after it the changed state, and from time to time all state. Files of generation n: `base-n`
has the state at its beginning, `log-n` the batches since then. Without `base-n` the generation starts empty. A new base is
written aside and renamed, and the previous generation is kept until the next one. If the newest base is damaged, the previous
base and both logs contain the same.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec

from penstock.engine.slots.rescale import SlotState
from penstock.engine.slots.slot_metadata import SlotMetadata
from penstock.errors import CheckpointError
from penstock.jobs.checkpoint.record_file import RecordWriter, damaged_file, read_records, sync_folder
from penstock.runtime.state.store import Changes, MemoryView

FORMAT = 1
START = -1  # instead of the number of a batch: where a new job starts
_MIN_LOG_BYTES = 8 << 20  # a log is compacted when it is larger than this and than its base
_CHUNK_ENTRIES = 2048
_NAME = re.compile(r"(base|log)-(\d{9})")


class BatchInput(msgspec.Struct, tag="input", array_like=True):
    """The input of a batch: where it ends in each source, what it announces, and its clock. A repeated batch has the same."""

    batch: int
    timestamp: int  # milliseconds since the epoch
    control: dict[str, Any]
    offsets: str  # JSON, as on Spark: the end offset of each source


class SlotChanges(msgspec.Struct, array_like=True):
    """The metadata of a slot after a batch, and its changed entries. None means removed."""

    level: int
    slot: int
    meta: SlotMetadata
    changes: dict[bytes, bytes | None]


class BatchState(msgspec.Struct, tag="state", array_like=True):
    """The changes of a batch. With this record, the batch is committed."""

    batch: int
    slots: list[SlotChanges]


class BaseHeader(msgspec.Struct, tag="base", array_like=True):
    """The first record of a base."""

    format: int
    next_batch: int
    input: BatchInput | None  # of the last committed batch
    slots: list[tuple[int, int, SlotMetadata]]


class BaseEntries(msgspec.Struct, tag="entries", array_like=True):
    """Entries of a slot in a base: key, value, key, value, ..."""

    level: int
    slot: int
    flat: list[bytes]


class BaseEnd(msgspec.Struct, tag="end", array_like=True):
    """The last record of a base."""

    entries: int


SlotKey = tuple[int, int]  # level, slot
Record = BatchInput | BatchState | BaseHeader | BaseEntries | BaseEnd
_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Record).decode


@dataclass(slots=True)
class LoggedState:
    """The state of a job after its last committed batch."""

    next_batch: int = 0
    input: BatchInput | None = None  # of the last committed batch, or the start; None if the job did not start yet
    unfinished: BatchInput | None = None  # of a batch that began and was not committed
    slots: dict[SlotKey, SlotState] = field(default_factory=dict)

    def apply(self, record: Record) -> None:
        """Applies a record of a log. A log may begin before the state, so its first batches may be known."""
        if isinstance(record, BatchInput) and record.batch == START:
            self.input = record
        elif isinstance(record, BatchInput) and record.batch >= self.next_batch:
            self.unfinished = record
        elif isinstance(record, BatchState) and record.batch >= self.next_batch:
            if record.batch > self.next_batch:
                raise ValueError(f"batch {record.batch} follows batch {self.next_batch - 1}")
            self.input, self.unfinished, self.next_batch = self.unfinished, None, record.batch + 1
            for slot in record.slots:
                state = self.slots.setdefault((slot.level, slot.slot), SlotState(slot.meta))
                state.meta = slot.meta
                for key, value in slot.changes.items():
                    if value is None:
                        state.entries.pop(key, None)
                    else:
                        state.entries[key] = value


class BatchLog:
    """The log of one job, in the folder `local` of its checkpoint. One process writes it."""

    def __init__(self, checkpoint: str | os.PathLike[str], min_log_bytes: int = _MIN_LOG_BYTES) -> None:
        self._folder = Path(checkpoint, "local")
        self._min_log_bytes = min_log_bytes
        self._generation = 0
        self._base_bytes = 0
        self._writer: RecordWriter | None = None

    def open(self) -> LoggedState:
        """Reads the state, and opens the log to append to it. An incomplete last record is removed."""
        self.close()
        self._folder.mkdir(parents=True, exist_ok=True)
        for leftover in self._folder.glob(".base-*"):  # of a process that was killed while it wrote a base
            leftover.unlink(missing_ok=True)
        state, position = self.read()
        base = self._file("base", self._generation)
        self._base_bytes = base.stat().st_size if base.exists() else 0
        self._writer = RecordWriter(self._file("log", self._generation), position)
        sync_folder(self._folder)
        return state

    def read(self) -> tuple[LoggedState, int]:
        """Returns the state, and the end of the last complete record of the newest log. Changes no file."""
        while True:
            try:
                return self._read()
            except FileNotFoundError:  # the job that writes the log has just removed an old generation
                continue

    def _read(self) -> tuple[LoggedState, int]:
        bases, logs = self._find("base"), self._find("log")
        self._generation = max([*bases, *logs], default=0)
        state, first = self._read_base(bases, self._generation)
        position = 0
        for generation in range(first, self._generation + 1):
            position = 0
            for end, data in read_records(logs[generation]) if generation in logs else ():
                try:
                    state.apply(_decode(data))
                except (msgspec.MsgspecError, ValueError) as error:
                    raise damaged_file(logs[generation], f"it cannot be decoded ({error})") from error
                position = end
        return state, position

    def _find(self, kind: str) -> dict[int, Path]:
        files = self._folder.iterdir() if self._folder.is_dir() else ()
        found = ((_NAME.fullmatch(file.name), file) for file in files)
        return {int(match[2]): file for match, file in found if match is not None and match[1] == kind}

    def _file(self, kind: str, generation: int) -> Path:
        return self._folder / f"{kind}-{generation:09d}"

    def _read_base(self, bases: dict[int, Path], newest: int) -> tuple[LoggedState, int]:
        """The state of the newest readable base, and its generation. Older bases need the logs after them."""
        failure: CheckpointError | None = None
        for generation in sorted(bases, reverse=True):
            try:
                return read_base(bases[generation]), generation
            except CheckpointError as error:
                if error.code != "CHECKPOINT_DAMAGED":
                    raise
                failure = failure or error
        if failure is not None and not all(self._file("log", n).exists() for n in range(newest + 1)):
            raise failure
        if failure is None and newest and not self._file("log", 0).exists():
            raise damaged_file(self._file("base", newest), "it is missing")
        return LoggedState(), 0

    @property
    def log_bytes(self) -> int:
        """The size of the log since the last base."""
        return 0 if self._writer is None else self._writer.size

    def begin(self, batch: BatchInput) -> None:
        """Stores the input of a batch before it runs."""
        assert self._writer is not None
        self._writer.append(_encode(batch))

    def commit(self, batch: int, slots: Iterable[tuple[SlotKey, SlotMetadata, Changes]]) -> None:
        """Stores the changes of a batch."""
        assert self._writer is not None
        changes = [SlotChanges(level, slot, meta, changed) for (level, slot), meta, changed in slots]
        self._writer.append(_encode(BatchState(batch, changes)))

    def needs_compaction(self) -> bool:
        """Whether the log is large enough that a new base costs little in comparison."""
        return self.log_bytes > max(self._min_log_bytes, self._base_bytes)

    def compact(
        self, next_batch: int, last: BatchInput | None, slots: Iterable[tuple[SlotKey, SlotMetadata, MemoryView]]
    ) -> None:
        """Writes all state as the base of the next generation, and removes the generation before the current one."""
        base, log = self._file("base", self._generation + 1), self._file("log", self._generation + 1)
        temporary = base.with_name(f".{base.name}.{os.getpid()}")
        writer = RecordWriter(temporary)
        try:
            for record in _base_records(next_batch, last, list(slots)):
                writer.append(_encode(record), sync=False)
            writer.sync()
            size = writer.size
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
        finally:
            writer.close()
        self.close()
        os.replace(temporary, base)
        self._writer = RecordWriter(log)
        sync_folder(self._folder)
        self._generation, self._base_bytes = self._generation + 1, size
        for kind in ("base", "log"):
            for generation, file in self._find(kind).items():
                if generation < self._generation - 1:
                    file.unlink(missing_ok=True)

    def close(self) -> None:
        """Closes the log."""
        if self._writer is not None:
            self._writer.close()
            self._writer = None


def _base_records(
    next_batch: int, last: BatchInput | None, slots: list[tuple[SlotKey, SlotMetadata, MemoryView]]
) -> Iterator[Record]:
    yield BaseHeader(FORMAT, next_batch, last, [(level, slot, meta) for (level, slot), meta, _ in slots])
    total = 0
    for (level, slot), _, view in slots:
        entries = iter(view.entries.items())
        while chunk := list(islice(entries, _CHUNK_ENTRIES)):
            total += len(chunk)
            yield BaseEntries(level, slot, [part for entry in chunk for part in entry])
    yield BaseEnd(total)


def read_base(file: Path) -> LoggedState:
    """Reads a base.

    Raises:
        CheckpointError: it is damaged, or a later version has written it.
    """
    state = LoggedState()
    total = 0
    try:
        for _, data in read_records(file):
            record = _decode(data)
            if isinstance(record, BaseHeader):
                _check_format(file, record.format)
                state = LoggedState(record.next_batch, record.input)
                state.slots = {(level, slot): SlotState(meta) for level, slot, meta in record.slots}
            elif isinstance(record, BaseEntries):
                entries = dict(zip(record.flat[::2], record.flat[1::2], strict=True))
                state.slots[record.level, record.slot].entries.update(entries)
                total += len(entries)
            elif isinstance(record, BaseEnd) and record.entries == total:
                return state
    except FileNotFoundError:
        raise
    except (msgspec.MsgspecError, KeyError, OSError) as error:
        raise damaged_file(file, f"it cannot be read ({type(error).__name__}: {error})") from error
    raise damaged_file(file, "its end is missing")


def _check_format(file: Path, found: int) -> None:
    if found > FORMAT:
        raise CheckpointError(
            "CHECKPOINT_VERSION",
            f"{file} has format {found}, and this Penstock reads formats up to {FORMAT}. Resume the job with the version of "
            "Penstock that wrote it, or with a later one.",
        )


def encode_offsets(offsets: list[Any]) -> str:
    return json.dumps(offsets)


def decode_offsets(stored: str) -> list[Any]:
    offsets: list[Any] = json.loads(stored)
    return offsets
