"""The file sink. Tasks write hidden files; the driver publishes complete files exactly once."""

from __future__ import annotations

import copy
import os
import re
import time
import uuid
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from penstock.atomic_file import write_atomic
from penstock.connectors.checkpoint_file import damaged_file_error, read_checkpoint_file
from penstock.connectors.encoder import Encoder
from penstock.connectors.file.sink import sink_builder
from penstock.connectors.file.sink.bucket_assigner import BucketAssigner
from penstock.connectors.file.sink.compaction import CompactionPacking, FileCompactor, FileCompactStrategy
from penstock.connectors.file.sink.journal import Journal, PendingFile, load_journal, save_journal
from penstock.connectors.file.sink.output_file_config import OutputFileConfig
from penstock.connectors.file.sink.packing import Packing, RollingPacking, next_due_time, pack_pieces
from penstock.connectors.file.sink.part_writer import ElementWriter, PartWriter, RowWriter
from penstock.connectors.file.sink.rolling_policy import RollingPolicy
from penstock.connectors.file.sink.saved_files import PieceCopier, SavedFiles, SavedFolders, add_to_savepoint
from penstock.connectors.file.system.file_system import FileSystem, Options, absolute_path, file_system
from penstock.connectors.secret import wrap_secrets
from penstock.connectors.sink import SINK_FILE, Sink, SinkWriter, WriteTask
from penstock.errors import JobError
from penstock.types import TypeInformation

_CLEANUP_INTERVAL = 100  # batches after which files of killed tasks are removed
_FOLDERS = "folders.json"  # in the checkpoint: where the files are
_JOIN = FileCompactor.concat_file_compactor()


class FileSink(Sink):
    """Writes elements to files, exactly once. By default there is a subfolder (bucket) for each hour of processing time.

    Files are named prefix-sink-batch-task-number. Files in progress are in a folder whose name starts with a dot. A file becomes
    visible when the rolling policy completes it and its batch is committed, or when the job ends. A batch that runs again after a
    failure does not duplicate elements.

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
        self.path = absolute_path(path)
        self.encoder = encoder
        self.bulk_writer = bulk_writer
        self.files = files or OutputFileConfig()
        self.rolling = rolling or RollingPolicy.default_rolling_policy()
        self.buckets = buckets or BucketAssigner.date_time_bucket_assigner()
        self.compaction = compaction
        self.kind: TypeInformation | None = None
        self.wants_timestamps = self.buckets.wants_timestamps
        self._options = wrap_secrets(storage_options or {})
        self.name_in_files = _new_name()
        self._folder = ""  # exists as long as the checkpoint
        self._journal = Journal()  # used if there is no such folder
        self._due: int | None = None

    @staticmethod
    def for_row_format(base_path: str | os.PathLike[str], encoder: Encoder) -> sink_builder.RowFormatBuilder:
        """Returns a builder for a sink that encodes elements one by one."""
        return sink_builder.RowFormatBuilder(base_path, encoder)

    @staticmethod
    def for_bulk_format(base_path: str | os.PathLike[str], writer_factory: Any) -> sink_builder.BulkFormatBuilder:
        """Returns a builder for bulk formats such as Parquet. Each batch, task and bucket has its own file."""
        return sink_builder.BulkFormatBuilder(base_path, writer_factory)

    # -- in tasks

    def of_type(self, kind: TypeInformation | None) -> FileSink:
        typed = copy.copy(self)
        typed.kind = kind
        typed.name_in_files, typed._journal = _new_name(), Journal()  # one sink may be used for several streams
        return typed

    def system(self) -> FileSystem:
        """Returns the file system of the path."""
        return file_system(self.path, self._options)

    def hidden(self, name: str) -> str:
        """Returns the path of a hidden file."""
        return f"{self.path}/.{self.files.part_prefix}-{self.name_in_files}/{name}"

    def part_name(self, batch: int, partition: int, number: int) -> str:
        """Returns the final name of a file whose first piece this task writes."""
        files = self.files
        suffix = files.part_suffix or getattr(self.bulk_writer, "extension", "")
        return f"{files.part_prefix}-{self.name_in_files}-{batch:09d}-{partition:05d}-{number}{suffix}"

    def element_writer(self, file: Any) -> ElementWriter:
        """Returns a writer of elements to an open file."""
        if self.encoder is not None:
            return RowWriter(self.encoder, self.kind, file)
        writer: ElementWriter = self.bulk_writer.create(file)
        return writer

    def writer(self, task: WriteTask) -> SinkWriter:
        return PartWriter(self, task)

    # -- on the driver

    def attach(self, folder: str) -> None:
        """Restores the name in files, so that a resumed job finds its files."""
        self._folder = folder
        id_file = Path(folder, "id")
        name = read_checkpoint_file(id_file)
        if name is not None:
            self.name_in_files = _stored_name(name, id_file)
            self._remove_orphans(load_journal(folder))
        else:
            self.name_in_files = _new_name()  # the same program may run twice
            write_atomic(Path(folder, _FOLDERS), msgspec.json.encode(self._folders()), durable=True)
            write_atomic(id_file, self.name_in_files.encode(), durable=True)

    def commit(self, batch: int, prepared: list[Any]) -> None:
        pieces = [piece for written in prepared for piece in written]
        journal = self._load()
        now = int(time.time() * 1000)
        if journal.batch >= batch:  # the batch was committed before; the files of that run count
            needed = journal.pieces()
            for piece in pieces:
                if piece.file not in needed:
                    self.system().remove(self.hidden(piece.file))
            self._publish(journal.full, again=True)
        elif pieces or journal.open or journal.full:
            journal = pack_pieces(journal, batch, pieces, self._packing(), now)
            self._save(journal)
            self._publish(journal.full)
        self._due = next_due_time(journal, self._packing())
        if batch % _CLEANUP_INTERVAL == _CLEANUP_INTERVAL - 1:
            self._remove_orphans(journal)

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
        """Returns the pending files. A job that starts from the savepoint copies them."""
        return msgspec.to_builtins(self._pending())

    def memory_in(self, savepoint: str) -> Any:
        """The same. The pieces of files that will be compacted are copied to the savepoint, because they cannot be read from the
        compacted file, which also has later elements."""
        pending = self._pending()
        if self.compaction is not None:
            pieces = [piece for file in pending.files for piece in file.pieces]
            prefix, system = f"{SINK_FILE}{pending.name}-", self.system()
            pending.copies = add_to_savepoint(
                savepoint, prefix, pieces, lambda name: system.open(f"{pending.hidden}/{name}")
            )
        return msgspec.to_builtins(pending)

    def _pending(self) -> SavedFiles:
        journal = self._load()
        folders, stored = self._folders(), Path(self._folder, _FOLDERS)
        if self._folder and stored.exists():  # another program may read the checkpoint of the job that wrote the files
            folders = _stored_folders(stored)
        pending = SavedFiles(self.name_in_files, journal.open, **folders)
        system = file_system(pending.path, self._options)
        # Full files became visible with the batch, unless the job failed before.
        hidden = [file for file in journal.full if system.get_status(pending.final_path(file)) is None]
        pending.files = [*hidden, *journal.open]
        return pending

    def _folders(self) -> dict[str, Any]:
        """Where the files of this sink are: the fields of `SavedFiles` that do not change."""
        hidden = os.path.dirname(self.hidden(""))
        return {"path": self.path, "hidden": hidden, "compacted": self.compaction is not None}

    def restore_from(self, savepoint: str, memory: Any) -> None:
        self._restore(memory, savepoint)

    def restore(self, memory: Any) -> None:
        self._restore(memory)

    def _restore(self, memory: Any, savepoint: str = "") -> None:
        """Copies the files that were hidden when the savepoint was taken.

        In the same folder, files that have become visible since are not copied. In another one, the job writes all of them.
        """
        earlier = {**self._folders(), "hidden": f"{self.path}/.{self.files.part_prefix}-{memory['name']}"}
        saved = msgspec.convert({**earlier, **memory}, SavedFiles)  # earlier versions stored only names and files
        systems = file_system(saved.path, self._options), self.system()
        copier = PieceCopier(saved, systems, self.name_in_files, self.hidden, saved.path == self.path, savepoint)
        self._save(Journal(-1, copier.copy_all()))
        self._due = next_due_time(self._load(), self._packing())

    def _packing(self) -> Packing:
        if self.compaction is not None:
            return CompactionPacking(self.compaction[0])
        return RollingPacking(self.rolling, concatenate=self.encoder is not None)

    def _load(self) -> Journal:
        return load_journal(self._folder) if self._folder else self._journal

    def _save(self, journal: Journal) -> None:
        if self._folder:
            save_journal(self._folder, journal)
        else:
            self._journal = journal

    def _publish(self, files: list[PendingFile], again: bool = False) -> None:
        """Makes files visible. `again` means that some of them may already be visible."""
        threads = 1 if self.compaction is None else self.compaction[0].num_compact_threads
        if threads == 1 or len(files) < 2:
            for file in files:
                self._publish_file(file, again)
            return
        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(partial(self._publish_file, again=again), files))

    def _publish_file(self, file: PendingFile, again: bool = False) -> None:
        system = self.system()
        pieces = [self.hidden(piece.file) for piece in file.pieces]
        final = self._final_path(file)
        if again and system.get_status(final) is not None:
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
                f"The file sink cannot publish {final}, because its data no longer exists: {error}. Hidden files in {self.path} "
                "belong to running jobs and must not be removed. The lost elements can only be recovered by running the job "
                "again from the start.",
            ) from error
        for piece in pieces:
            system.remove(piece)

    def _final_path(self, file: PendingFile) -> str:
        name = file.pieces[0].name
        if self.compaction is not None:
            name = f"compacted-{name}"
        return "/".join(filter(None, (self.path, file.bucket, name)))

    def _join(self, system: FileSystem, pieces: list[str], joined: str) -> None:
        compactor = _JOIN if self.compaction is None else self.compaction[1]
        output = system.create(joined)
        try:
            if compactor.record_wise:
                writer = self.element_writer(output)
                compactor.compact_records(_open_each(system, pieces), writer.write)
                writer.finish()
            else:
                compactor.compact(_open_each(system, pieces), output)
        except BaseException:
            output.close()
            raise
        system.close(output)

    def _remove_orphans(self, journal: Journal) -> None:
        """Removes files of killed tasks. Later batches may still be running, so their files are not touched."""
        system = self.system()
        needed = journal.pieces()
        for name in system.list_names(os.path.dirname(self.hidden(""))):
            if int(name.partition("-")[0]) <= journal.batch and name not in needed:
                system.remove(self.hidden(name))


def _new_name() -> str:
    return uuid.uuid4().hex[:8]


def _stored_folders(file: Path) -> dict[str, Any]:
    try:
        folders = msgspec.json.decode(read_checkpoint_file(file) or b"", type=SavedFolders)
    except msgspec.DecodeError as error:
        raise damaged_file_error(file, error) from error
    return msgspec.structs.asdict(folders)


def _stored_name(data: bytes, file: Path) -> str:
    if not re.fullmatch(rb"[\w-]+", data):
        raise damaged_file_error(file, f"it contains {data[:40]!r} instead of the name that is in the names of files")
    return data.decode()


def _open_each(system: FileSystem, paths: Iterable[str]) -> Iterator[Any]:
    for path in paths:
        with system.open(path) as file:
            yield file
