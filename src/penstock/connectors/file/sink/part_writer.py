"""Writes one task's elements to hidden files, one for each folder they go to."""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Protocol

from penstock.connectors.encoder import Encoder
from penstock.connectors.file.bucket_assigner import BucketContext, checked_bucket
from penstock.connectors.file.journal import Piece
from penstock.connectors.sink import SinkWriter, WriteTask
from penstock.runtime.records import Tags
from penstock.time import NO_TIMESTAMP
from penstock.types import TypeInformation

if TYPE_CHECKING:
    from penstock.connectors.file.sink import FileSink

_MOST_OPEN = 200  # files of one task; the one that was begun first ends when there would be more


class ElementWriter(Protocol):
    """Writes elements to one file."""

    def write(self, values: list[Any]) -> None: ...
    def finish(self) -> None: ...


class RowWriter:
    """Writes the bytes of one element after the other."""

    def __init__(self, encoder: Encoder, kind: TypeInformation | None, file: Any) -> None:
        self._encoder = encoder
        self._kind = kind
        self._file = file

    def write(self, values: list[Any]) -> None:
        self._file.write(self._encoder.encode_all(values, self._kind))

    def finish(self) -> None:
        """Rows need no end."""


class PartWriter(SinkWriter):
    """Writes one task's files."""

    def __init__(self, sink: FileSink, task: WriteTask) -> None:
        self._sink = sink
        self._task = task
        self._system = sink.system()
        self._own = uuid.uuid4().hex[:6]  # numbers of attempts begin again when a job is resumed
        self._open: dict[str, _OpenPiece] = {}
        self._begun: list[_OpenPiece] = []
        self._pieces: list[Piece] = []

    def write(self, values: list[Any], timestamps: Any, tags: Tags | None) -> None:
        if not values:
            return
        for bucket, chosen in self._by_bucket(values, timestamps):
            if self._sink.encoder is None:
                self._piece(bucket).writer.write(chosen)
            else:
                self._write_rows(bucket, chosen, self._sink.encoder)

    def _by_bucket(self, values: list[Any], timestamps: Any) -> Iterator[tuple[str, list[Any]]]:
        assigner = self._sink.buckets
        now = int(time.time() * 1000)
        same = assigner.bucket(now)
        if same is not None:
            yield checked_bucket(same), values
            return
        found: dict[Any, list[Any]] = {}
        context = BucketContext(now, None)
        stamps = None if timestamps is None or not len(timestamps) else timestamps.tolist()
        for at, value in enumerate(values):
            if stamps is not None:
                context.element_timestamp = None if stamps[at] == NO_TIMESTAMP else stamps[at]
            try:
                found.setdefault(assigner.get_bucket_id(value, context), []).append(value)
            except Exception:
                self.failed_on = (value,)
                raise
        for bucket, chosen in found.items():
            try:
                checked = checked_bucket(bucket)
            except Exception:
                self.failed_on = (chosen[0],)
                raise
            yield checked, chosen

    def _write_rows(self, bucket: str, values: list[Any], encoder: Encoder) -> None:
        most = self._sink.rolling.part_size
        data = encoder.encode_all(values, self._sink.kind)
        if not data:
            return
        piece = self._piece(bucket)
        if most is None or piece.size + len(data) <= most:
            piece.put(data)
            return
        for row in encoder.encode(values, self._sink.kind):
            if piece.size and piece.size + len(row) > most:
                self._end(bucket)
                piece = self._piece(bucket)
            piece.put(row)

    def _piece(self, bucket: str) -> _OpenPiece:
        piece = self._open.get(bucket)
        if piece is None:
            if len(self._open) >= _MOST_OPEN:
                self._end(next(iter(self._open)))
            number = len(self._begun)
            hidden = f"{self._task.batch:09d}-{self._task.partition:05d}-{number}.{self._task.attempt}.{self._own}"
            name = self._sink.part_name(self._task.batch, self._task.partition, number)
            piece = _OpenPiece(self._sink, bucket, hidden, name, self._system.create(self._sink.hidden(hidden)))
            self._open[bucket] = piece
            self._begun.append(piece)
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
            with suppress(Exception):  # some writers hold more than the file
                piece.writer.finish()
        for piece in self._begun:
            with suppress(OSError):  # a full disk cannot take what is left, and it is not wanted
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
