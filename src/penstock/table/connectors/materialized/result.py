"""The files of a result and the manifest that says which of them are valid.

    folder/manifest.json          the files of the result, in the order of their commits
    folder/data/<id>.arrow        changes of one task, or the merged rows of older files

A file has one record batch per bucket. A commit adds the files of its tasks to the manifest, which is replaced as a whole, so that
a reader sees all of a batch or nothing. Many small files are merged into larger ones, and changes that are more than the rows with
all rows, so that the work is proportional to the changes. Replaced files stay for an hour, for readers that have begun with them.
"""

from __future__ import annotations

import os
import time
import uuid
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path

import msgspec
import pyarrow as pa

from penstock.atomic_file import write_atomic
from penstock.errors import JobError
from penstock.table.connectors.materialized.merging import BUCKETS, CHANGE, merge
from penstock.types.logical.arrow import arrow_type
from penstock.types.logical.kinds import Field

_VERSION = 1
_MOST_FILES = 48  # with changes, before they are merged
_LEAST_ROWS = 50_000  # fewer changes are not merged because of their number
_KEPT = 3600.0  # seconds for which replaced files stay
_ORPHANED = 24 * 3600.0  # seconds after which a file that no manifest names belongs to no running task


class ResultFile(msgspec.Struct, frozen=True):
    """A file: its name, the bucket of each of its record batches, and the number of its rows."""

    name: str
    buckets: list[int]
    rows: int


class ReplacedFile(msgspec.Struct, frozen=True):
    """A file that belonged to earlier versions of the result."""

    name: str
    since: float  # seconds since the epoch


class Manifest(msgspec.Struct, frozen=True):
    """A version of a result: all rows after a committed batch."""

    version: int = _VERSION  # of the format
    commits: int = 0
    lineage: str = ""  # of the job that committed last, and the number of its batch
    batch: int = -1
    merged: ResultFile | None = None  # rows without removals; older than all changes
    changes: list[ResultFile] = []
    replaced: list[ReplacedFile] = []

    @property
    def files(self) -> list[ResultFile]:
        """All files, oldest first."""
        return [*([] if self.merged is None else [self.merged]), *self.changes]

    def has(self, lineage: str, batch: int) -> bool:
        """Whether a batch is committed. Batches of another job are not: it continues from a savepoint of the last one."""
        return self.lineage == lineage and batch <= self.batch


class Result:
    """A result in a folder. key: the columns of the primary key, empty if the result has none."""

    def __init__(self, folder: str, columns: Sequence[Field], key: Sequence[str]) -> None:
        self.folder = folder
        self.columns = tuple(columns)
        self.key = tuple(key)

    @property
    def key_fields(self) -> tuple[Field, ...]:
        """The columns by which rows are merged."""
        return tuple(c for c in self.columns if not self.key or c.name in self.key)

    def manifest(self) -> Manifest:
        """Returns the current version."""
        file = Path(self.folder, "manifest.json")
        try:
            found = msgspec.json.decode(file.read_bytes(), type=Manifest)
        except FileNotFoundError:
            return Manifest()
        except (OSError, msgspec.DecodeError) as error:
            raise _damaged(file, error) from error
        if found.version > _VERSION:
            raise _damaged(file, f"it has format {found.version}, which a newer version of Penstock wrote")
        return found

    # -- writing

    def write(self, parts: Iterable[tuple[int, pa.RecordBatch]], name: str) -> ResultFile:
        """Writes a file that belongs to no version yet. `parts` are rows by bucket."""
        data = Path(self.folder, "data")
        data.mkdir(parents=True, exist_ok=True)
        written: list[tuple[int, int]] = []
        with open(data / name, "wb") as target:
            with pa.ipc.new_file(target, self._schema()) as writer:
                for bucket, rows in parts:
                    writer.write_batch(rows)
                    written.append((bucket, rows.num_rows))
            target.flush()
            os.fsync(target.fileno())
        return ResultFile(name, [bucket for bucket, _ in written], sum(rows for _, rows in written))

    def remove(self, name: str) -> None:
        """Removes a file that belongs to no version."""
        with suppress(OSError):
            Path(self.folder, "data", name).unlink(missing_ok=True)

    def commit(self, lineage: str, batch: int, files: Sequence[ResultFile]) -> None:
        """Adds the files of a batch. Does nothing if an earlier call has added them."""
        current = self.manifest()
        if current.has(lineage, batch):
            known = {file.name for file in current.files}
            for file in files:  # those of a batch that was repeated
                if file.name not in known:
                    self.remove(file.name)
            return
        changed = msgspec.structs.replace(
            current,
            commits=current.commits + 1,
            lineage=lineage,
            batch=batch,
            changes=[*current.changes, *files],
        )
        self._replace(changed)
        rows = sum(file.rows for file in changed.changes)
        before = 0 if changed.merged is None else changed.merged.rows
        if rows > max(_LEAST_ROWS, before):
            self.compact()
        elif len(changed.changes) > _MOST_FILES:
            self._merge_newest()

    def compact(self) -> None:
        """Merges all files of the current version into one."""
        current = self.manifest()
        merged = self._merged(current.files, complete=True)
        self._swap(current, msgspec.structs.replace(current, merged=merged, changes=[]), current.files)

    def _merge_newest(self) -> None:
        """Merges the newest files with changes, and older ones that are not larger, so that a row is merged only a few times."""
        current = self.manifest()
        start, rows = len(current.changes), 0
        while start > 0:
            older = current.changes[start - 1].rows
            if len(current.changes) - start > _MOST_FILES // 2 and older > rows:
                break
            start, rows = start - 1, rows + older
        files = current.changes[start:]
        merged = self._merged(files, complete=False)
        self._swap(current, msgspec.structs.replace(current, changes=[*current.changes[:start], merged]), files)

    def _merged(self, files: Sequence[ResultFile], complete: bool) -> ResultFile:
        """Writes one file with the rows of several, which follow each other. One bucket at a time is in memory."""
        names = [c.name for c in self.columns]
        parts = (
            (bucket, rows) for bucket in range(BUCKETS) if (rows := self.read(files, bucket, names, complete)).num_rows
        )
        return self.write(parts, f"{uuid.uuid4().hex}.arrow")

    def _swap(self, before: Manifest, after: Manifest, files: Sequence[ResultFile]) -> None:
        """Replaces a version by an equal one with other files, and removes files that nobody reads any more."""
        now = time.time()
        replaced = [file for file in before.replaced if now - file.since <= _KEPT]
        replaced += [ReplacedFile(file.name, now) for file in files]
        after = msgspec.structs.replace(after, replaced=replaced)
        self._replace(after)
        for file in before.replaced:
            if now - file.since > _KEPT:
                self.remove(file.name)
        self._remove_orphans({*(file.name for file in after.files), *(file.name for file in replaced)}, now)

    def _remove_orphans(self, known: set[str], now: float) -> None:
        """Removes files of tasks that were killed."""
        with suppress(OSError):
            for entry in os.scandir(Path(self.folder, "data")):
                if entry.name not in known and now - entry.stat().st_mtime > _ORPHANED:
                    self.remove(entry.name)

    def _replace(self, manifest: Manifest) -> None:
        write_atomic(Path(self.folder, "manifest.json"), msgspec.json.encode(manifest), durable=True)

    # -- reading

    def read(
        self, files: Sequence[ResultFile], bucket: int, names: Sequence[str], complete: bool = True
    ) -> pa.RecordBatch:
        """Returns the merged rows of one bucket with some columns, those of the key, and the change.

        complete: these are all files of a version, so that removed rows are left out.
        """
        wanted = [c for c in self.columns if not self.key or c.name in self.key or c.name in names]
        schema = pa.schema([*(pa.field(c.name, arrow_type(c.type)) for c in wanted), pa.field(CHANGE, pa.int64())])
        parts = [part for file in files if bucket in file.buckets for part in self._parts(file, bucket, schema)]
        if not parts:
            return _empty(schema)
        table = pa.Table.from_batches(parts).combine_chunks()
        return merge(table.to_batches()[0], self.key, complete)

    def _parts(self, file: ResultFile, bucket: int, schema: pa.Schema) -> list[pa.RecordBatch]:
        path = Path(self.folder, "data", file.name)
        try:
            with pa.memory_map(str(path)) as source, pa.ipc.open_file(source) as reader:
                found = [reader.get_batch(i) for i, b in enumerate(file.buckets) if b == bucket]
        except FileNotFoundError as error:
            raise JobError(
                "TABLE_RESULT_REPLACED",
                f"The file {path} of the result was replaced more than an hour ago and is removed. Run the query again.",
            ) from error
        except (OSError, pa.ArrowInvalid) as error:
            raise _damaged(path, error) from error
        return [_with_columns(batch, schema) for batch in found]

    def _schema(self) -> pa.Schema:
        fields = [pa.field(c.name, arrow_type(c.type)) for c in self.columns]
        return pa.schema([*fields, pa.field(CHANGE, pa.int64())])


def _empty(schema: pa.Schema) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([pa.array([], field.type) for field in schema], schema=schema)


def _with_columns(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """A column that the table did not have when the file was written is NULL."""
    known = set(batch.schema.names)
    columns = [
        batch.column(field.name) if field.name in known else pa.nulls(batch.num_rows, field.type) for field in schema
    ]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _damaged(file: Path, reason: object) -> JobError:
    return JobError(
        "TABLE_RESULT_DAMAGED",
        f"The file {file} of a materialized table cannot be read: {reason}. Restore it from a backup, or drop the table and create "
        "it again.",
    )
