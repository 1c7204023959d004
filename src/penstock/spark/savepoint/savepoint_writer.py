"""A process that writes the savepoint part of a slot while the job continues.

The worker starts it before the batch. It opens a view of the working copy, which later writes do not change. After the batch it
gets the changes to add to the view. The worker waits only for the answer that the view is not too new.

    python -m penstock.spark.savepoint.savepoint_writer FILE BYTES
"""

from __future__ import annotations

import os
import struct
import sys
import time
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import BinaryIO

import msgspec

from penstock.atomic_file import write_atomic
from penstock.connectors.file.system.file_system import FileSystem, file_system
from penstock.engine.slots.slot_metadata import SlotMetadata
from penstock.runtime.state.store import Changes
from penstock.savepoints.manifest import MANIFEST_FILE
from penstock.savepoints.savepoint import open_savepoint
from penstock.savepoints.slot_part import Entries, SlotAssignment, chunked_scan, write_part
from penstock.spark.state.copy_view import LONG_KEY, CopyReader, CopyView
from penstock.spark.state.overlay_view import OverlayView

_AT_ONCE = 2048  # entries
_NICE = 10


class WriteRequest(msgspec.Struct):
    """What a worker sends to its writer after the batch."""

    folder: str
    name: str
    assignment: SlotAssignment
    meta: SlotMetadata
    tokens: list[bytes]  # of the positions of the working copy for which `changes` is correct
    changes: list[bytes | None]  # key, value, key, value, ...; None for a deleted entry
    run_folder: str  # errors are written here for the driver, if it is on this machine


class WriteAnswer(msgspec.Struct):
    """The answer of a writer. The error is empty if it has everything that it needs."""

    error: str = ""


def send(stream: BinaryIO, message: msgspec.Struct) -> None:
    """Writes a message with its length."""
    data = msgspec.msgpack.encode(message)
    stream.write(struct.pack(">Q", len(data)))
    stream.write(data)
    stream.flush()


def receive(stream: BinaryIO) -> bytes | None:
    """Reads a message. Returns None at the end of the stream."""
    head = stream.read(8)
    if len(head) < 8:
        return None
    size = struct.unpack(">Q", head)[0]
    data = stream.read(size)
    return data if len(data) == size else None


class CopyScan:
    """Yields the entries of a working copy, with changes on top, in chunks. Chunks without changes are passed as they are."""

    def __init__(self, view: CopyView, changes: Changes) -> None:
        self._view = view
        self._changes = changes
        self._ordered = sorted(changes)

    def __call__(self, start: bytes, stop: bytes) -> Iterator[Entries]:
        changed = self._ordered[bisect_left(self._ordered, start) : bisect_left(self._ordered, stop)]
        at = 0
        for chunk in self._stored(start, stop):
            if any(len(key) >= LONG_KEY for key, _ in chunk):  # these are not in the order of their full keys
                yield from chunked_scan(OverlayView(self._view, self._changes).scan)(start, stop)
                return
            last = chunk[-1][0]
            upto = bisect_right(changed, last, at)
            if merged := self._merge(chunk, changed[at:upto]):
                yield merged
            at, start = upto, last + b"\x00"
        if rest := self._merge([], changed[at:]):
            yield rest

    def _stored(self, start: bytes, stop: bytes) -> Iterator[Entries]:
        """The entries of the copy, in stored form."""
        with self._view.transaction.cursor() as cursor:
            if not cursor.set_range(start):
                return
            entries = cursor.iternext()
            while chunk := list(islice(entries, _AT_ONCE)):
                if chunk[-1][0] >= stop:
                    if chunk := [entry for entry in chunk if entry[0] < stop]:
                        yield chunk
                    return
                yield chunk

    def _merge(self, chunk: Entries, changed: list[bytes]) -> Entries:
        if not changed:
            return chunk
        entries = dict(chunk)
        for key in changed:
            value = self._changes[key]
            if value is None:
                entries.pop(key, None)
            else:
                entries[key] = value
        return sorted(entries.items())


def main(file: str, size_limit: str) -> None:
    """Reads the request from stdin, answers on stdout, then writes the part."""
    os.nice(_NICE)
    to_worker = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # other output must not be taken for the answer
    reader = CopyReader(file, int(size_limit), readahead=True)
    data = receive(sys.stdin.buffer)
    if data is None:
        return  # the batch failed
    request = msgspec.msgpack.decode(data, type=WriteRequest)
    known = {b"", *request.tokens}
    if reader.position.token not in known or reader.position.partial not in known:
        send(to_worker, WriteAnswer("the working copy was changed before it was opened"))
        return
    send(to_worker, WriteAnswer())
    to_worker.close()
    write(request, reader.view)


def write(request: WriteRequest, view: CopyView) -> None:
    """Writes the part. An error is written to the run folder for the driver."""
    started = time.monotonic()
    system = file_system(request.folder)
    changes: Changes = dict(zip(request.changes[::2], request.changes[1::2], strict=True))  # type: ignore[arg-type]
    try:
        write_part(
            system, request.folder, request.name, request.assignment, request.meta, CopyScan(view, changes), started
        )
    except Exception as error:
        if os.path.isdir(request.run_folder):
            write_atomic(
                Path(request.run_folder, f"failed-{request.name}"),
                f"{type(error).__name__}: {error}".encode(),
                durable=False,
            )
        raise
    if system.get_status(f"{request.folder}/{MANIFEST_FILE}") is not None:
        _remove_if_late(system, request)


def _remove_if_late(system: FileSystem, request: WriteRequest) -> None:
    """Removes the part if its task failed after the batch and the savepoint uses the part of another attempt."""
    if request.name not in {file.name for file in open_savepoint(request.folder).manifest.files}:
        system.remove(f"{request.folder}/{request.name}")
        system.remove(f"{request.folder}/{request.name}.json")


if __name__ == "__main__":
    main(*sys.argv[1:])
