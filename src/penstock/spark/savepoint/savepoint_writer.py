"""A process that writes a slot's part of a savepoint while the job goes on.

The worker starts it before it runs the batch. It opens the working copy, whose later writers do not change what it sees, and
is told after the batch what to lay over it. The worker waits only until it knows that what was seen is not too new.

    python -m penstock.spark.savepoint_writer FILE BYTES
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

from penstock.connectors.file.system import FileSystem, file_system
from penstock.engine.slot_meta import SlotMeta
from penstock.jobs.whole_file import write_whole
from penstock.runtime.store import Changes
from penstock.savepoints.manifest import NAME
from penstock.savepoints.part import Entries, SlotPlace, in_chunks, write_part
from penstock.savepoints.savepoint import open_savepoint
from penstock.spark.overlaid import OverlaidView
from penstock.spark.working_copy import LONG_KEY, CopyReader, CopyView

_AT_ONCE = 2048
_NICE = 10


class Work(msgspec.Struct):
    """What a worker tells its writer after the batch."""

    folder: str
    name: str
    place: SlotPlace
    meta: SlotMeta
    tokens: list[bytes]  # of the states of the working copy that the rest can be laid over
    above: list[bytes | None]  # key, value, key, value, ...; None: deleted
    run_folder: str  # where the driver looks for errors, if it is on this machine


class Seen(msgspec.Struct):
    """What a writer answers: the error is empty once it has all it needs."""

    error: str = ""


def send(stream: BinaryIO, message: msgspec.Struct) -> None:
    """Writes a message with its length."""
    data = msgspec.msgpack.encode(message)
    stream.write(struct.pack(">Q", len(data)))
    stream.write(data)
    stream.flush()


def receive(stream: BinaryIO) -> bytes | None:
    """Reads a message; none at the end of the stream."""
    head = stream.read(8)
    if len(head) < 8:
        return None
    size = struct.unpack(">Q", head)[0]
    data = stream.read(size)
    return data if len(data) == size else None


class CopyScan:
    """The entries of a working copy with changes laid over them, some at a time: most pass without a look at each."""

    def __init__(self, view: CopyView, above: Changes) -> None:
        self._view = view
        self._above = above
        self._ordered = sorted(above)

    def __call__(self, start: bytes, stop: bytes) -> Iterator[Entries]:
        changed = self._ordered[bisect_left(self._ordered, start) : bisect_left(self._ordered, stop)]
        at = 0
        for chunk in self._stored(start, stop):
            if any(len(key) >= LONG_KEY for key, _ in chunk):  # these do not stand in the order of their full keys
                yield from in_chunks(OverlaidView(self._view, self._above).scan)(start, stop)
                return
            last = chunk[-1][0]
            upto = bisect_right(changed, last, at)
            if merged := self._merged(chunk, changed[at:upto]):
                yield merged
            at, start = upto, last + b"\x00"
        if rest := self._merged([], changed[at:]):
            yield rest

    def _stored(self, start: bytes, stop: bytes) -> Iterator[Entries]:
        """What is in the copy, as it is stored there."""
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

    def _merged(self, chunk: Entries, changed: list[bytes]) -> Entries:
        if not changed:
            return chunk
        entries = dict(chunk)
        for key in changed:
            value = self._above[key]
            if value is None:
                entries.pop(key, None)
            else:
                entries[key] = value
        return sorted(entries.items())


def main(file: str, size_limit: str) -> None:
    """Reads what to do from stdin and answers on stdout; then writes."""
    os.nice(_NICE)
    to_worker = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what anything prints is not an answer
    opened = CopyReader(file, int(size_limit))
    data = receive(sys.stdin.buffer)
    if data is None:
        return  # the batch failed
    work = msgspec.msgpack.decode(data, type=Work)
    known = {b"", *work.tokens}
    if opened.token not in known or opened.partial not in known:
        send(to_worker, Seen("the working copy had moved on before it was opened"))
        return
    send(to_worker, Seen())
    to_worker.close()
    write(work, opened.view)


def write(work: Work, view: CopyView) -> None:
    """Writes the part. What goes wrong is left for the driver to read."""
    started = time.monotonic()
    system = file_system(work.folder)
    above: Changes = dict(zip(work.above[::2], work.above[1::2], strict=True))  # type: ignore[arg-type]
    try:
        write_part(system, work.folder, work.name, work.place, work.meta, CopyScan(view, above), started)
    except Exception as error:
        if os.path.isdir(work.run_folder):
            write_whole(Path(work.run_folder, f"failed-{work.name}"), f"{type(error).__name__}: {error}".encode())
        raise
    if system.find(f"{work.folder}/{NAME}") is not None:
        _remove_if_late(system, work)


def _remove_if_late(system: FileSystem, work: Work) -> None:
    """An attempt that failed after its batch: the savepoint was made with another attempt's part."""
    if work.name not in {file.name for file in open_savepoint(work.folder).manifest.files}:
        system.remove(f"{work.folder}/{work.name}")
        system.remove(f"{work.folder}/{work.name}.json")


if __name__ == "__main__":
    main(*sys.argv[1:])
