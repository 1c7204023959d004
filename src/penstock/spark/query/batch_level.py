"""A level of a batch job: a task runs one slot's host over the slot's rows, which Spark has sorted by share."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from penstock.engine.batch_host import BatchHost
from penstock.engine.frames import SINKS, Bundle, Bundles
from penstock.engine.materials import FileMaterials
from penstock.engine.slot_meta import SlotMeta
from penstock.runtime.store import MemoryBase, Store
from penstock.spark import worker
from penstock.spark.batch_source import to_rows
from penstock.spark.failure import carrying
from penstock.spark.pickling import unpickle_program
from penstock.spark.slots import slots

_LEVEL = 1 << 20  # more than there are slots: what different levels emit is ordered by level


class BatchLevel:
    """What Spark calls for each partition, which is a slot."""

    def __init__(self, program: bytes, level: int, materialized: str, run_folder: str) -> None:
        self._program = program
        self._level = level
        self._materialized = materialized
        self._run_folder = run_folder

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        with carrying(), worker.heard_logs(self._run_folder), worker.no_garbage_collection():
            rows = _Rows(batches, self._level)
            first = rows.peek()
            if first is None:
                yield from rows.take_passing()
                return
            program = unpickle_program(self._program)
            assert program.shares is not None
            slot = slots(program.parallelism)[first]
            materials = FileMaterials(self._materialized)
            host = BatchHost(program, self._level, slot, Store(MemoryBase()), SlotMeta(), materials)
            try:
                for out in to_rows(_bundles(host, rows), program.shares, self._level * _LEVEL + slot):
                    yield from rows.take_passing()
                    yield out
            finally:
                host.close()
            yield from rows.take_passing()


def _bundles(host: BatchHost, rows: _Rows) -> Iterator[Bundle]:
    yield from host.run_whole(rows, 0)  # control tells the time
    if host.report is not None:
        last = Bundles()
        last.add(SINKS, host.slot, host.report)
        yield from last.take_all()


class _Rows:
    """The rows of one level as (share, blob); those of other levels are put aside to be passed on."""

    def __init__(self, batches: Iterator[pa.RecordBatch], level: int) -> None:
        self._batches = batches
        self._level = level
        self._passing: list[pa.RecordBatch] = []
        self._next: list[tuple[int, int, bytes]] = []

    def peek(self) -> int | None:
        """The label of the slot; None when there is no row of the level."""
        while not self._next and self._read():
            pass
        return self._next[0][0] if self._next else None

    def _read(self) -> bool:
        batch = next(self._batches, None)
        if batch is None:
            return False
        mine = [i for i, level in enumerate(batch.column("level").to_pylist()) if level == self._level]
        if len(mine) < batch.num_rows:
            others = sorted(set(range(batch.num_rows)) - set(mine))
            self._passing.append(batch.take(pa.array(others, pa.int32())))
        slot, share, blob = (batch.column(name) for name in ("slot", "share", "blob"))
        self._next += [(slot[i].as_py(), share[i].as_py(), blob[i].as_py()) for i in mine]
        return True

    def __iter__(self) -> Iterator[tuple[int, bytes]]:
        while self.peek() is not None:
            ready, self._next = self._next, []
            for _, share, blob in ready:
                yield share, blob

    def take_passing(self) -> Iterator[pa.RecordBatch]:
        passing, self._passing = self._passing, []
        yield from passing
