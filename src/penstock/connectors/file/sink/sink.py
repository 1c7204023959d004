"""Files of a folder, exactly once: elements are written to hidden files, which become visible as whole, full files."""

from __future__ import annotations

import copy
import os
import shutil
import time
import uuid
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from penstock.connectors.encoder import Encoder
from penstock.connectors.file import sink_builder
from penstock.connectors.file.bucket_assigner import BucketAssigner
from penstock.connectors.file.compaction import CompactedParts, FileCompactor, FileCompactStrategy
from penstock.connectors.file.journal import Journal, Part, Piece, load, save
from penstock.connectors.file.output_file_config import OutputFileConfig
from penstock.connectors.file.packing import Packing, RolledParts, due, pack
from penstock.connectors.file.part_writer import ElementWriter, PartWriter, RowWriter
from penstock.connectors.file.rolling_policy import RollingPolicy
from penstock.connectors.file.system import FileSystem, Options, absolute, file_system
from penstock.connectors.lasting_file import write_lasting
from penstock.connectors.secret import with_secrets
from penstock.connectors.sink import Sink, SinkWriter, WriteTask
from penstock.errors import JobError
from penstock.types import TypeInformation

_SWEPT_EVERY = 100  # batches: what killed tasks left behind is removed
_JOIN = FileCompactor.concat_file_compactor()


class FileSink(Sink):
    """Writes elements to files; a folder below the given one for each hour, unless a bucket assigner says otherwise.

    Files are called prefix-sink-batch-task-number. What is being written is in a folder whose name begins with a dot. A
    file becomes visible when its rolling policy says so and its batch is committed, or when the job ends; a batch that runs
    again after a failure changes nothing, so every element is there once.

    >>> sink = FileSink.for_row_format("out", Encoder.simple_string_encoder()).build()
    """

    RowFormatBuilder = sink_builder.RowFormatBuilder
    BulkFormatBuilder = sink_builder.BulkFormatBuilder

    def __init__(
        self,
        path: str | os.PathLike[str],
        encoder: Encoder | None = None,
        *,
        bulk_writer: Any = None,
        files: OutputFileConfig | None = None,
        rolling: RollingPolicy | None = None,
        buckets: BucketAssigner | None = None,
        compaction: tuple[FileCompactStrategy, FileCompactor] | None = None,
        storage_options: Options | None = None,
    ) -> None:
        self.path = absolute(path)
        self.encoder = encoder
        self.bulk_writer = bulk_writer
        self.files = files or OutputFileConfig()
        self.rolling = rolling or RollingPolicy.default_rolling_policy()
        self.buckets = buckets or BucketAssigner.date_time_bucket_assigner()
        self.compaction = compaction
        self.kind: TypeInformation | None = None
        self.wants_timestamps = self.buckets.wants_timestamps
        self._options = with_secrets(storage_options or {})
        self.name_in_files = _fresh_name()
        self._memory = ""  # a folder that lasts as long as the checkpoint
        self._journal = Journal()  # where there is no such folder
        self._due: int | None = None

    @staticmethod
    def for_row_format(base_path: str | os.PathLike[str], encoder: Encoder) -> sink_builder.RowFormatBuilder:
        """A sink that writes one element after the other."""
        return sink_builder.RowFormatBuilder(base_path, encoder)

    @staticmethod
    def for_bulk_format(base_path: str | os.PathLike[str], writer_factory: Any) -> sink_builder.BulkFormatBuilder:
        """A sink of files that are written as a whole, such as Parquet: one for each batch, task and folder."""
        return sink_builder.BulkFormatBuilder(base_path, writer_factory)

    # -- in tasks

    def of_type(self, kind: TypeInformation | None) -> FileSink:
        typed = copy.copy(self)
        typed.kind = kind
        typed.name_in_files, typed._journal = _fresh_name(), Journal()  # one sink may stand behind several streams
        return typed

    def system(self) -> FileSystem:
        """Where the files are."""
        return file_system(self.path, self._options)

    def hidden(self, name: str) -> str:
        """Where a file is that readers must not see yet."""
        return f"{self.path}/.{self.files.part_prefix}-{self.name_in_files}/{name}"

    def part_name(self, batch: int, partition: int, number: int) -> str:
        """What a file is called that begins with what this task writes."""
        files = self.files
        suffix = files.part_suffix or getattr(self.bulk_writer, "extension", "")
        return f"{files.part_prefix}-{self.name_in_files}-{batch:09d}-{partition:05d}-{number}{suffix}"

    def element_writer(self, file: Any) -> ElementWriter:
        """What writes elements to an open file."""
        if self.encoder is not None:
            return RowWriter(self.encoder, self.kind, file)
        writer: ElementWriter = self.bulk_writer.create(file)
        return writer

    def writer(self, task: WriteTask) -> SinkWriter:
        return PartWriter(self, task)

    # -- on the driver

    def attach(self, folder: str) -> None:
        """The sink keeps its name in files, so that a resumed job finds what it wrote."""
        self._memory = folder
        own = Path(folder, "id")
        if own.exists():
            self.name_in_files = own.read_text()
            self._sweep(load(folder))
        else:
            self.name_in_files = _fresh_name()  # the same program may run twice
            write_lasting(own, self.name_in_files.encode())

    def commit(self, batch: int, prepared: list[Any]) -> None:
        pieces = [piece for written in prepared for piece in written]
        journal = self._load()
        now = int(time.time() * 1000)
        if journal.batch >= batch:  # it ran before, and what it wrote then counts
            needed = journal.pieces()
            for piece in pieces:
                if piece.file not in needed:
                    self.system().remove(self.hidden(piece.file))
            self._publish(journal.full, again=True)
        elif pieces or journal.open or journal.full:
            journal = pack(journal, batch, pieces, self._packing(), now)
            self._save(journal)
            self._publish(journal.full)
        self._due = due(journal, self._packing())
        if batch % _SWEPT_EVERY == _SWEPT_EVERY - 1:
            self._sweep(journal)

    def files_in(self, prepared: list[Any]) -> tuple[int, int]:
        sizes = [piece.size for written in prepared for piece in written]
        return len(sizes), sum(sizes)

    def due(self) -> int | None:
        return self._due

    def finish(self) -> None:
        journal = self._load()
        self._publish(journal.full, again=True)
        last = Journal(journal.batch, [], journal.open)
        self._save(last)
        self._publish(last.full)
        self._save(Journal(journal.batch))
        self._due = None
        self.system().remove_folder(os.path.dirname(self.hidden("")))

    def abort(self, batch: int, prepared: list[Any]) -> None:
        needed = self._load().pieces()
        for written in prepared:
            for piece in written:
                if piece.file not in needed:
                    self.system().remove(self.hidden(piece.file))

    def memory(self) -> Any:
        """Files that are being written: another job that goes on from here takes copies of them."""
        journal = self._load()  # what is full became visible with the batch, unless the job died before
        return {"name": self.name_in_files, "files": msgspec.to_builtins([*journal.full, *journal.open])}

    def restore(self, memory: Any) -> None:
        """Copies what was hidden when the savepoint was taken. What the old job has made visible since then stays as it is."""
        system, old = self.system(), memory["name"]
        taken = []
        for part in msgspec.convert(memory["files"], list[Part]):
            if system.find(self._final(part)) is None:
                pieces = [self._copied(system, piece, old) for piece in part.pieces]
                taken.append(msgspec.structs.replace(part, pieces=pieces))
        self._save(Journal(-1, taken))
        self._due = due(self._load(), self._packing())

    def _copied(self, system: FileSystem, piece: Piece, old: str) -> Piece:
        batch, dash, rest = piece.file.partition("-")
        new = Piece(
            piece.bucket,
            f"{batch}-{old}{dash}{rest}",
            piece.name.replace(old, f"{self.name_in_files}-{old}", 1),
            piece.size,
        )
        before = f"{self.path}/.{self.files.part_prefix}-{old}/{piece.file}"
        try:
            with system.open(before) as source:
                target = system.create(self.hidden(new.file))
                shutil.copyfileobj(source, target)
                system.close(target)
        except FileNotFoundError as error:
            raise JobError(
                "PART_VANISHED",
                f"The savepoint's file sink had begun {piece.name}, and what was written for it is gone: {error}. Hidden files "
                f"below {self.path} belong to savepoints too: leave them there while a job may be started from one.",
            ) from error
        return new

    def _packing(self) -> Packing:
        if self.compaction is not None:
            return CompactedParts(self.compaction[0])
        return RolledParts(self.rolling, joined=self.encoder is not None)

    def _load(self) -> Journal:
        return load(self._memory) if self._memory else self._journal

    def _save(self, journal: Journal) -> None:
        if self._memory:
            save(self._memory, journal)
        else:
            self._journal = journal

    def _publish(self, parts: list[Part], again: bool = False) -> None:
        """Makes files visible; `again`: it may have been done before, in part."""
        threads = 1 if self.compaction is None else self.compaction[0].num_compact_threads
        if threads == 1 or len(parts) < 2:
            for part in parts:
                self._publish_part(part, again)
            return
        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(partial(self._publish_part, again=again), parts))

    def _publish_part(self, part: Part, again: bool = False) -> None:
        system = self.system()
        pieces = [self.hidden(piece.file) for piece in part.pieces]
        final = self._final(part)
        if again and system.find(final) is not None:
            for piece in pieces:
                system.remove(piece)
            return
        try:
            if len(pieces) == 1:
                system.publish(pieces[0], final)
                return
            joined = f"{pieces[0]}.joined"
            self._join(system, pieces, joined)
            system.publish(joined, final)
        except FileNotFoundError as error:
            raise JobError(
                "PART_VANISHED",
                f"The file sink was about to make {final} visible, and what was written for it is gone: {error}. Hidden files "
                f"below {self.path} belong to running jobs: leave them there. What was in it can only be had by "
                "running the job again from the start.",
            ) from error
        for piece in pieces:
            system.remove(piece)

    def _final(self, part: Part) -> str:
        name = part.pieces[0].name
        if self.compaction is not None:
            name = f"compacted-{name}"
        return "/".join(filter(None, (self.path, part.bucket, name)))

    def _join(self, system: FileSystem, pieces: list[str], joined: str) -> None:
        compactor = _JOIN if self.compaction is None else self.compaction[1]
        output = system.create(joined)
        try:
            if compactor.record_wise:
                writer = self.element_writer(output)
                compactor.compact_records(_opened(system, pieces), writer.write)
                writer.finish()
            else:
                compactor.compact(_opened(system, pieces), output)
        except BaseException:
            output.close()
            raise
        system.close(output)

    def _sweep(self, journal: Journal) -> None:
        """Removes what tasks left that were killed. Those of later batches may be at work."""
        system = self.system()
        needed = journal.pieces()
        for name in system.names(os.path.dirname(self.hidden(""))):
            if int(name.partition("-")[0]) <= journal.batch and name not in needed:
                system.remove(self.hidden(name))


def _fresh_name() -> str:
    return uuid.uuid4().hex[:8]


def _opened(system: FileSystem, paths: Iterable[str]) -> Iterator[Any]:
    for path in paths:
        with system.open(path) as file:
            yield file
