"""Writes the elements of a task to hidden files, one per bucket."""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Protocol

from penstock.connectors.encoder import Encoder
from penstock.connectors.file.sink.bucket_assigner import BucketContext, validate_bucket
from penstock.connectors.file.sink.journal import Piece
from penstock.connectors.sink import SinkWriter, WriteTask
from penstock.runtime.loop.records import Tags
from penstock.time import NO_TIMESTAMP
from penstock.types import TypeInformation

if TYPE_CHECKING:
    from penstock.connectors.file.sink.sink import FileSink

_MAX_OPEN = 200  # files of one task; the oldest one is closed if there would be more


class ElementWriter(Protocol):
    """Writes elements to one file."""

    def write(self, values: list[Any]) -> None: ...
    def finish(self) -> None: ...


class RowWriter:
    """Writes encoded elements one after the other."""

    def __init__(self, encoder: Encoder, kind: TypeInformation | None, file: Any) -> None:
        self._encoder = encoder
        self._kind = kind
        self._file = file

    def write(self, values: list[Any]) -> None:
        self._file.write(self._encoder.encode_all(values, self._kind))

    def finish(self) -> None:
        """Does nothing, because a row format has no footer."""


class PartWriter(SinkWriter):
    """Writes the files of one task."""

    def __init__(self, sink: FileSink, task: WriteTask) -> None:
        self._sink = sink
        self._task = task
        self._system = sink.system()
        self._suffix = uuid.uuid4().hex[:6]  # needed because attempt numbers start again when a job is resumed
        self._open: dict[str, _OpenPiece] = {}
        self._started: list[_OpenPiece] = []
        self._pieces: list[Piece] = []

    def write(self, values: list[Any], timestamps: Any, tags: Tags | None) -> None:
        if not values:
            return
        for bucket, elements in self._group_by_bucket(values, timestamps):
            if self._sink.encoder is None:
                self._piece(bucket).writer.write(elements)
            else:
                self._write_rows(bucket, elements, self._sink.encoder)

    def _group_by_bucket(self, values: list[Any], timestamps: Any) -> Iterator[tuple[str, list[Any]]]:
        assigner = self._sink.buckets
        now = int(time.time() * 1000)
        common = assigner.bucket(now)
        if common is not None:
            yield validate_bucket(common), values
            return
        groups: dict[Any, list[Any]] = {}
        context = BucketContext(now, None)
        stamps = None if timestamps is None or not len(timestamps) else timestamps.tolist()
        for at, value in enumerate(values):
            if stamps is not None:
                context.element_timestamp = None if stamps[at] == NO_TIMESTAMP else stamps[at]
            try:
                groups.setdefault(assigner.get_bucket_id(value, context), []).append(value)
            except Exception:
                self.failed_on = (value,)
                raise
        for bucket, elements in groups.items():
            try:
                valid = validate_bucket(bucket)
            except Exception:
                self.failed_on = (elements[0],)
                raise
            yield valid, elements

    def _write_rows(self, bucket: str, values: list[Any], encoder: Encoder) -> None:
        max_size = self._sink.rolling.part_size
        data = encoder.encode_all(values, self._sink.kind)
        if not data:
            return
        piece = self._piece(bucket)
        if max_size is None or piece.size + len(data) <= max_size:
            piece.put(data)
            return
        for row in encoder.encode(values, self._sink.kind):
            if piece.size and piece.size + len(row) > max_size:
                self._end(bucket)
                piece = self._piece(bucket)
            piece.put(row)

    def _piece(self, bucket: str) -> _OpenPiece:
        piece = self._open.get(bucket)
        if piece is None:
            if len(self._open) >= _MAX_OPEN:
                self._end(next(iter(self._open)))
            number = len(self._started)
            hidden = f"{self._task.batch:09d}-{self._task.partition:05d}-{number}.{self._task.attempt}.{self._suffix}"
            name = self._sink.part_name(self._task.batch, self._task.partition, number)
            piece = _OpenPiece(self._sink, bucket, hidden, name, self._system.create(self._sink.hidden(hidden)))
            self._open[bucket] = piece
            self._started.append(piece)
        return piece

    def _end(self, bucket: str) -> None:
        piece = self._open.pop(bucket)
        piece.writer.finish()
        size = piece.file.tell()
        self._system.close(piece.file)
        self._pieces.append(Piece(bucket, piece.hidden, piece.name, size))

    def prepare(self) -> Any:
        for bucket in list(self._open):
            self._end(bucket)
        return self._pieces or None

    def abort(self) -> None:
        for piece in self._open.values():
            with suppress(Exception):  # some writers hold resources besides the file
                piece.writer.finish()
        for piece in self._started:
            with suppress(OSError):  # flushing fails on a full disk; the file is deleted anyway
                piece.file.close()
            with suppress(OSError):
                self._system.remove(self._sink.hidden(piece.hidden))


class _OpenPiece:
    """A hidden file that is being written."""

    __slots__ = ("bucket", "file", "hidden", "name", "size", "writer")

    def __init__(self, sink: FileSink, bucket: str, hidden: str, name: str, file: Any) -> None:
        self.bucket = bucket
        self.hidden = hidden
        self.name = name
        self.file = file
        self.writer = sink.element_writer(file)
        self.size = 0

    def put(self, data: bytes) -> None:
        self.file.write(data)
        self.size += len(data)
