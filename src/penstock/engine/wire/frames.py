"""Frames: the messages between stages. Frames for one slot of one level are encoded together as a bundle.

A frame contains many elements, so Spark shuffles a few hundred bundles instead of millions of rows.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
import numpy as np

from penstock.engine.wire.body import unpack_body
from penstock.engine.wire.log_capture import LogLine
from penstock.metrics.values import MetricsDelta
from penstock.runtime.loop.records import TAG_NAMES, Column, Records, Tags

SINK_LEVEL = 0  # the level of bundles for the sink router
_BUNDLE_BYTES = 4 << 20
_MAX_OPEN_BYTES = 64 << 20  # of all incomplete bundles together


class Rows(msgspec.Struct, tag=0, array_like=True):
    """Elements for one input of an operator."""

    operator: int
    input: int
    stream: int  # watermark stream of the elements; -1 if the upstream operator's watermark applies
    from_source: bool  # elements of one chunk of a source; tags hold only (watermark, position)
    split: str  # of a chunk, else empty
    start: int  # of a chunk, the position in its split
    branch: int  # number of the path that leads to the operator
    timestamps: bytes
    tags: bytes
    body: bytes


class ChunkProgress(msgspec.Struct, tag=1, array_like=True):
    """The watermark at the end of a chunk of a split. All reading slots get it, even without elements of the chunk.

    The split is empty if a task read nothing. Then only `backlogged_splits` is meaningful.
    """

    stream: int
    split: str
    start: int
    watermark: int
    count: int
    explicit_watermarks: list[int]
    backlogged_splits: list[str]
    transient: bool


class Control(msgspec.Struct, tag=2, array_like=True):
    """Sent by the control source: the run, a manual clock, and the known and ended splits."""

    run: str
    clock: int | None
    known: dict[int, list[str]]  # by source
    ended: dict[int, list[str]]
    end: bool


class Relay(msgspec.Struct, tag=3, array_like=True):
    """Sent by an upstream operator: its clocks after the batch."""

    operator: int
    batch: int
    previous_batch: int
    now: int
    watermark: int
    idle: bool
    ended: bool
    run: str
    explicit_watermarks: list[int]
    reachable: int  # the watermark that the operator reaches if only the clock advances (ingestion time)


class SinkRows(msgspec.Struct, tag=4, array_like=True):
    """Elements for a sink."""

    sink: int
    subtask: int
    count: int
    timestamps: bytes
    tags: bytes
    body: bytes


class SavepointPartHandle(msgspec.Struct, array_like=True):
    """The part of a savepoint of one slot. A separate process next to the worker writes it."""

    savepoint: str
    name: str  # of the file
    host: str = ""
    pid: int = 0
    started: str = ""  # start time of the process, in the format of the system
    error: str = ""  # why it could not be written


class SlotReport(msgspec.Struct, tag=5, array_like=True):
    """What a slot reports to the driver at the end of a batch."""

    level: int
    slot: int
    batch: int
    processing_time: int
    next_wakeup: int | None  # when a batch is needed even without new data
    watermarks: dict[str, int]
    records: dict[str, int]  # elements received, by operator
    late: dict[str, int]  # late elements that were dropped, by operator
    broadcast_hashes: dict[str, int]  # by operator, equal in all slots
    ended: bool
    aligned_progress: list[ChunkProgress] = []  # of aligned streams whose watermark generators run in hosts
    state_bytes: int = 0  # of all keys and values
    delta_bytes: int = 0
    seconds: dict[str, float] = {}  # by part of the work
    metrics: MetricsDelta = {}  # of user functions
    logs: list[LogLine] = []
    dead_letters: dict[str, tuple[int, int]] = {}  # by operator: produced, and how many of them no step reads
    flows: dict[str, tuple[int, int]] = {}  # elements in and out, by operator and chained step
    started_at: float = 0.0  # seconds since 1970
    worker: str = ""  # name of the process
    operator_seconds: dict[str, float] = {}  # by operator and chained step
    # By operator: changed state entries, and their bytes if the level has several operators.
    state_changes: dict[str, tuple[int, int]] = {}
    hot_keys: dict[str, list[tuple[str, float]]] = {}  # by operator: keys of many elements, with their fraction
    # By source: the split with the lowest watermark, its watermark, and the highest watermark of all splits.
    slowest_splits: dict[str, tuple[str, int, int]] = {}
    savepoint_part: SavepointPartHandle | None = None  # if a savepoint was requested for this batch
    state_log_bytes: int = 0  # deltas that are not compacted yet
    cpu_seconds: float = 0.0  # in which the task computed
    cpu_wait: float = 0.0  # seconds in which the task was ready to compute, and all CPUs were in use


class SourceTaskReport(msgspec.Struct, tag=6, array_like=True):
    """What a source task reports to the driver: records, metrics, logs and times of the source and its chain."""

    source_number: int
    records: int
    seconds: float = 0.0
    subtask: int = 0
    metrics: MetricsDelta = {}
    logs: list[LogLine] = []
    dead_letters: dict[str, tuple[int, int]] = {}  # as in SlotReport
    flows: dict[str, tuple[int, int]] = {}  # of chained steps, as in SlotReport
    skipped: int = 0  # records that do not decode and were dropped
    started_at: float = 0.0  # seconds since 1970
    read_seconds: float = 0.0  # seconds in the source itself
    operator_seconds: dict[str, float] = {}  # by chained step
    worker: str = ""  # name of the process
    aligned_progress: list[ChunkProgress] = []  # of aligned streams


class Columns(msgspec.Struct, tag=7, array_like=True):
    """Elements, or combined elements, for an operator that processes columns. Fields as in `Rows`."""

    operator: int
    stream: int
    from_source: bool
    split: str
    start: int
    branch: int
    body: bytes


class SavepointRequest(msgspec.Struct, tag=8, array_like=True):
    """Sent by the control source: the state after this batch becomes a savepoint."""

    id: str
    folder: str


Frame = Rows | ChunkProgress | Control | Relay | SinkRows | SlotReport | SourceTaskReport | Columns | SavepointRequest

_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(list[Frame])


def decode_bundle(blob: bytes) -> list[Frame]:
    return _decoder.decode(blob)


Bundle = tuple[int, int, bytes]  # slot (batch mode: address), level, blob


class Bundles:
    """Collects frames by destination and encodes them as bundles of some megabytes."""

    def __init__(self) -> None:
        self._frames: dict[tuple[int, int], list[Frame]] = {}
        self._sizes: dict[tuple[int, int], int] = {}
        self._full: list[Bundle] = []
        self._open = 0

    def add(self, level: int, slot: int, frame: Frame, size: int = 0) -> None:
        """Adds a frame for a slot of a level. `size` is its approximate size in bytes."""
        to = (level, slot)
        self._frames.setdefault(to, []).append(frame)
        self._sizes[to] = self._sizes.get(to, 0) + size
        self._open += size
        if self._sizes[to] >= _BUNDLE_BYTES:
            self._close(to)
        elif self._open >= _MAX_OPEN_BYTES:
            self._close_all()

    def clear(self) -> None:
        """Discards all frames."""
        self._frames, self._sizes, self._full, self._open = {}, {}, [], 0

    def _close(self, to: tuple[int, int]) -> None:
        frames = self._frames.pop(to)
        self._open -= self._sizes.pop(to)
        level, slot = to
        self._full.append((slot, level, _encoder.encode(frames)))

    def take_full(self) -> Iterator[Bundle]:
        """Yields the complete bundles."""
        full, self._full = self._full, []
        yield from full

    def _close_all(self) -> None:
        for to in list(self._frames):
            self._close(to)

    def take_all(self) -> Iterator[Bundle]:
        """Yields all bundles, including incomplete ones."""
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
    """Decodes the elements of a frame. Watermarks of source elements are at least `at_least`, that of their split."""
    keys, values = unpack_body(frame.body)
    timestamps = unpack_column(frame.timestamps)
    if frame.from_source:
        watermark, position = np.frombuffer(frame.tags, np.int64).reshape(2, -1)
        tags = Tags.of_source(np.maximum(watermark, at_least), origin, position)
    else:
        tags = unpack_tags(frame.tags)
    return Records(values, keys, None, timestamps, tags.on_branch(frame.branch))
