"""Files of a folder, exactly once: a batch's files appear when it is committed."""

from __future__ import annotations

import copy
import os
import time
import uuid
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn, Self

from penstock.connectors.encoder import Encoder
from penstock.connectors.part_files import BucketAssigner, OutputFileConfig, RollingPolicy
from penstock.connectors.sink import Sink, SinkWriter, WriteTask
from penstock.errors import UnsupportedOperation
from penstock.runtime.records import Tags
from penstock.types import TypeInformation


class FileSink(Sink):
    """Writes elements to files; a folder below the given one for each hour, unless a bucket assigner says otherwise.

    Files are called prefix-sink-batch-task-number. A file that is being written begins with a dot. A batch that runs again
    after a failure puts the same files in the same place, so every element is there once.

    >>> sink = FileSink.for_row_format("out", Encoder.simple_string_encoder()).build()
    """

    def __init__(
        self,
        path: str | Path,
        encoder: Encoder,
        files: OutputFileConfig,
        rolling: RollingPolicy,
        buckets: BucketAssigner,
    ) -> None:
        self.path = os.path.abspath(path)  # other processes have other working folders
        self.encoder = encoder
        self.files = files
        self.rolling = rolling
        self.buckets = buckets
        self.kind: TypeInformation | None = None
        self._id = uuid.uuid4().hex[:8]
        self._memory = ""  # a folder that lasts as long as the checkpoint

    @staticmethod
    def for_row_format(base_path: str | Path, encoder: Encoder) -> FileSink.RowFormatBuilder:
        """A sink that writes one element after the other."""
        return FileSink.RowFormatBuilder(base_path, encoder)

    @staticmethod
    def for_bulk_format(base_path: str | Path, writer_factory: Any) -> NoReturn:
        """Not supported: a bulk writer is a Java class of Flink's."""
        raise UnsupportedOperation(
            "BULK_FORMAT",
            "FileSink.for_bulk_format takes a bulk writer, a Java class of Flink's, and no Flink runs here. Use for_row_format, or "
            "write a Sink of your own.",
        )

    # -- what jobs do with it

    def of_type(self, kind: TypeInformation | None) -> FileSink:
        typed = copy.copy(self)
        typed.kind = kind
        return typed

    def attach(self, folder: str) -> None:
        """The sink keeps its name in files, so that a resumed job finds what it wrote."""
        self._memory = folder
        own = Path(folder, "id")
        if not own.exists():
            own.write_text(self._id)
        self._id = own.read_text()

    def writer(self, task: WriteTask) -> SinkWriter:
        return _PartWriter(self, task)

    def name_of(self, batch: int) -> str:
        """What the names of a batch's files begin with."""
        return f"{self.files.part_prefix}-{self._id}-{batch:09d}-"

    def commit(self, batch: int, prepared: list[Any]) -> None:
        parts = [part for written in prepared for part in written]
        folder, again = self._folder_of(batch)
        if again:  # the batch ran before, perhaps in other tasks
            keep = {name for _, name in parts}
            for name in os.listdir(folder) if os.path.isdir(folder) else ():
                if name.startswith(self.name_of(batch)) and name not in keep:
                    os.remove(os.path.join(folder, name))
        if parts:
            os.makedirs(folder, exist_ok=True)
        for pending, name in parts:
            if os.path.exists(pending):
                os.replace(pending, os.path.join(folder, name))

    def _folder_of(self, batch: int) -> tuple[str, bool]:
        """Where a batch's files go, decided once; and whether that was decided before."""
        note = Path(self._memory, "bucket.txt") if self._memory else None
        if note is not None and note.exists():
            said, _, bucket = note.read_text().partition(" ")
            if int(said) == batch:
                return os.path.join(self.path, bucket), True
        bucket = self.buckets.bucket(time.time())
        if note is not None:
            fresh = note.with_suffix(".new")
            with open(fresh, "w", encoding="utf-8") as file:
                file.write(f"{batch} {bucket}")
                file.flush()
                os.fsync(file.fileno())
            os.replace(fresh, note)
        return os.path.join(self.path, bucket), False

    def abort(self, batch: int, prepared: list[Any]) -> None:
        for written in prepared:
            for pending, _ in written:
                with suppress(FileNotFoundError):
                    os.remove(pending)

    class RowFormatBuilder:
        """Collects the settings of a sink."""

        def __init__(self, base_path: str | Path, encoder: Encoder) -> None:
            self._path = base_path
            self._encoder = encoder
            self._files = OutputFileConfig()
            self._rolling: RollingPolicy = RollingPolicy.default_rolling_policy()
            self._buckets = BucketAssigner.date_time_bucket_assigner()

        def with_bucket_check_interval(self, interval: int) -> Self:
            """Accepted, and changes nothing: files are finished with each batch."""
            return self

        def with_bucket_assigner(self, bucket_assigner: BucketAssigner) -> Self:
            self._buckets = bucket_assigner
            return self

        def with_output_file_config(self, output_file_config: OutputFileConfig) -> Self:
            self._files = output_file_config
            return self

        def with_rolling_policy(self, rolling_policy: RollingPolicy) -> Self:
            self._rolling = rolling_policy
            return self

        def enable_compact(self, strategy: Any, compactor: Any) -> NoReturn:
            """Not supported: small files stay as they are."""
            raise UnsupportedOperation(
                "FILE_COMPACTION",
                "enable_compact joins small files after they were written, which Penstock's file sink does not do. Let a "
                "batch be larger with execution.trigger.interval, or join the files in a job of their own.",
            )

        def disable_compact(self) -> Self:
            return self

        def build(self) -> FileSink:
            return FileSink(self._path, self._encoder, self._files, self._rolling, self._buckets)


class _PartWriter(SinkWriter):
    """Writes one task's files, one after the other."""

    def __init__(self, sink: FileSink, task: WriteTask) -> None:
        os.makedirs(sink.path, exist_ok=True)
        self._sink = sink
        self._stem = f"{sink.name_of(task.batch)}{task.partition:05d}"
        self._attempt = task.attempt
        self._most = sink.rolling.part_size
        self._parts: list[tuple[str, str]] = []
        self._file: Any = None
        self._size = 0

    def write(self, values: list[Any], timestamps: Any, tags: Tags | None) -> None:
        pieces = self._sink.encoder.encode(values, self._sink.kind)
        size = sum(map(len, pieces))
        if self._most is None or self._size + size <= self._most:
            self._put(b"".join(pieces))
            return
        for piece in pieces:
            if self._file is not None and self._size + len(piece) > self._most:
                self._finish()
            self._put(piece)

    def _put(self, data: bytes) -> None:
        if not data:
            return
        if self._file is None:
            name = f"{self._stem}-{len(self._parts)}{self._sink.files.part_suffix}"
            pending = os.path.join(self._sink.path, f".{name}.{self._attempt}.inprogress")
            self._parts.append((pending, name))
            self._file = open(pending, "wb")  # noqa: SIM115 - closed by _finish or abort
        self._file.write(data)
        self._size += len(data)

    def _finish(self) -> None:
        file, self._file, self._size = self._file, None, 0
        file.flush()
        os.fsync(file.fileno())
        file.close()

    def prepare(self) -> Any:
        if self._file is not None:
            self._finish()
        return self._parts or None

    def abort(self) -> None:
        if self._file is not None:
            with suppress(OSError):  # a full disk cannot take what is left, and it is not wanted
                self._file.close()
        for pending, _ in self._parts:
            with suppress(FileNotFoundError):
                os.remove(pending)
