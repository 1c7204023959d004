"""What travels between stages: bundles of frames. A bundle goes to one slot of one level.

Elements are columns beside one pickled body, so a few hundred blobs are shuffled instead of millions of rows.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
import numpy as np

from penstock.engine.body import unpack_body
from penstock.engine.logs import LogLine
from penstock.metrics.values import Told
from penstock.runtime.records import TAG_NAMES, Column, Records, Tags

SINKS = 0  # the level of bundles for the sink router; -n: for what stands around the host of level n (savepoints)
_BUNDLE = 4 << 20
_OPEN = 64 << 20  # bytes that wait for their bundle to become full, all destinations together


class Rows(msgspec.Struct, tag=0, array_like=True):
    """Elements for one input of an operator. From a source: tags are (watermark, position) of one split."""

    operator: int
    input: int
    stream: int  # of a source's elements, else -1
    split: str  # "*" behind an operator: elements of the stream of marks whose number is in `start`
    start: int  # of the chunk in its split
    branch: int  # by which way the elements came to the operator
    timestamps: bytes
    tags: bytes
    body: bytes


class Marks(msgspec.Struct, tag=1, array_like=True):
    """What a task says of one chunk of a split: its end mark, even when none of its elements came to this slot."""

    stream: int
    split: str
    start: int
    mark: int
    count: int
    explicit: list[int]
    waiting: list[str]
    transient: bool


class Control(msgspec.Struct, tag=2, array_like=True):
    """The control source's word: the run, a manual clock, and which splits are known and which have ended."""

    run: str
    clock: int | None
    known: dict[int, list[str]]  # by source
    ended: dict[int, list[str]]
    end: bool


class Relay(msgspec.Struct, tag=3, array_like=True):
    """An upstream operator's word: its clocks after the batch."""

    operator: int
    batch: int
    previous: int
    now: int
    watermark: int
    idle: bool
    ended: bool
    run: str
    marks: list[int]


class Output(msgspec.Struct, tag=4, array_like=True):
    """Elements for a sink."""

    sink: int
    subtask: int
    count: int
    timestamps: bytes
    tags: bytes
    body: bytes


class SavedPart(msgspec.Struct, array_like=True):
    """A slot's part of a savepoint, which a process beside the worker writes."""

    savepoint: str
    name: str  # of the file
    host: str = ""
    pid: int = 0
    started: str = ""  # of the process, as the system words it
    error: str = ""  # why there is none


class Report(msgspec.Struct, tag=5, array_like=True):
    """A slot's word to the driver, at the end of its batch."""

    level: int
    slot: int
    batch: int
    now: int
    wake: int | None  # when the next batch is needed even without data
    watermarks: dict[str, int]
    records: dict[str, int]  # elements in, by operator
    late: dict[str, int]
    broadcast: dict[str, int]  # hashes of broadcast state, equal in all slots
    ended: bool
    marks: dict[str, dict[str, tuple[int, bool]]] = {}  # of aligned streams: each split's mark, and whether it counts
    state_bytes: int = 0
    delta_bytes: int = 0
    seconds: dict[str, float] = {}  # where the slot's time went
    metrics: Told = {}  # of user functions: what the batch changed
    logs: list[LogLine] = []
    dead: dict[str, tuple[int, int]] = {}  # dead letters by operator: how many were made, and how many nobody reads
    flows: dict[str, tuple[int, int]] = {}  # elements in and out of each operator and each step behind it
    began: float = 0.0  # when the slot's work began, in seconds since 1970
    worker: str = ""  # the process that did it
    work: dict[str, float] = {}  # seconds by operator, and by step behind it
    changed: dict[
        str, tuple[int, int]
    ] = {}  # by operator: entries of state, and their bytes where several share a level
    hot: dict[str, list[tuple[str, float]]] = {}  # by operator: keys that many of its elements have, and their share
    behind: dict[str, tuple[str, int, int]] = {}  # by stream: the split furthest behind, its mark, the highest mark
    part: SavedPart | None = None  # of the savepoint that this batch was asked for


class Counted(msgspec.Struct, tag=6, array_like=True):
    """A source task's word to the driver: how many elements it read, and what the functions behind it had to say."""

    source: int
    count: int
    seconds: float = 0.0
    subtask: int = 0
    metrics: Told = {}
    logs: list[LogLine] = []
    dead: dict[str, tuple[int, int]] = {}  # dead letters, as in a slot's report
    flows: dict[str, tuple[int, int]] = {}  # of the steps behind the source, as in a slot's report
    skipped: int = 0  # records that do not decode and were dropped
    began: float = 0.0  # when the task's work began, in seconds since 1970
    reading: float = 0.0  # seconds that the source itself took
    work: dict[str, float] = {}  # seconds by step behind the source
    worker: str = ""  # the process that did it


class Columns(msgspec.Struct, tag=7, array_like=True):
    """Elements for an operator that works by columns, or what they were combined to; fields as in `Rows`."""

    operator: int
    stream: int
    split: str
    start: int
    branch: int
    body: bytes


class Save(msgspec.Struct, tag=8, array_like=True):
    """The control source's word that the state after this batch is to be kept as a savepoint."""

    id: str
    folder: str


Frame = Rows | Marks | Control | Relay | Output | Report | Counted | Columns | Save

_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(list[Frame])


def decode_bundle(blob: bytes) -> list[Frame]:
    return _decoder.decode(blob)


Bundle = tuple[int, int, bytes]  # slot (batch mode: address), level, blob


class Bundles:
    """Collects frames by destination and hands them out as blobs of some megabytes."""

    def __init__(self) -> None:
        self._frames: dict[tuple[int, int], list[Frame]] = {}
        self._sizes: dict[tuple[int, int], int] = {}
        self._full: list[Bundle] = []
        self._open = 0

    def add(self, level: int, slot: int, frame: Frame, size: int = 0) -> None:
        to = (level, slot)
        self._frames.setdefault(to, []).append(frame)
        self._sizes[to] = self._sizes.get(to, 0) + size
        self._open += size
        if self._sizes[to] >= _BUNDLE:
            self._close(to)
        elif self._open >= _OPEN:
            self._close_all()

    def _close(self, to: tuple[int, int]) -> None:
        frames = self._frames.pop(to)
        self._open -= self._sizes.pop(to)
        level, slot = to
        self._full.append((slot, level, _encoder.encode(frames)))

    def take_full(self) -> Iterator[Bundle]:
        full, self._full = self._full, []
        yield from full

    def _close_all(self) -> None:
        for to in list(self._frames):
            self._close(to)

    def take_all(self) -> Iterator[Bundle]:
        self._close_all()
        yield from self.take_full()


def pack_tags(tags: Tags) -> bytes:
    return np.concatenate([getattr(tags, name) for name in TAG_NAMES]).tobytes()


def unpack_tags(data: bytes) -> Tags:
    columns = np.frombuffer(data, np.int64).reshape(len(TAG_NAMES), -1)
    return Tags(*columns)


def unpack_column(data: bytes) -> Column:
    return np.frombuffer(data, np.int64)


def unpack_rows(frame: Rows, origin: int, at_least: int) -> Records:
    """The elements of a frame; those of a source get the watermark of their split where it is higher than the chunk's own."""
    keys, values = unpack_body(frame.body)
    timestamps = unpack_column(frame.timestamps)
    if frame.stream < 0:
        tags = unpack_tags(frame.tags)
    else:
        watermark, position = np.frombuffer(frame.tags, np.int64).reshape(2, -1)
        tags = Tags.of_source(np.maximum(watermark, at_least), origin, position)
    return Records(values, keys, None, timestamps, tags.on_branch(frame.branch))
