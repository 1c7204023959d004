"""A level of a batch job. A task runs the host of one slot over the rows of the slot, which Spark has sorted by share."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from penstock.engine.host.batch_host import BatchHost
from penstock.engine.host.materialized import FileMaterializedStore
from penstock.engine.slots.slot_metadata import SlotMetadata
from penstock.engine.wire import log_capture
from penstock.engine.wire.frames import SINK_LEVEL, Bundle, Bundles
from penstock.runtime.state.store import MemoryView, Store
from penstock.spark.query import worker
from penstock.spark.query.batch_source import to_rows
from penstock.spark.session.error_transport import wrap_errors
from penstock.spark.session.pickling import load_program
from penstock.spark.session.slots import slots_by_label

_LEVEL = 1 << 20  # greater than the number of slots, so that output is ordered by level


class BatchLevel:
    """The function that Spark calls for each partition. A partition is a slot."""

    def __init__(self, program: bytes, level: int, materialized: str, run_folder: str) -> None:
        self._program = program
        self._level = level
        self._materialized = materialized
        self._run_folder = run_folder

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        with wrap_errors(), worker.forward_logs(self._run_folder), worker.pause_garbage_collection():
            rows = _LevelRows(batches, self._level)
            first = rows.peek()
            if first is None:
                yield from rows.take_other_levels()
                return
            program, _, setup = load_program(self._program)
            setup.activate()
            log_capture.set_levels(program.log_levels)
            assert program.batch_partitions is not None
            slot = slots_by_label(program.parallelism)[first]
            materials = FileMaterializedStore(self._materialized)
            host = BatchHost(program, self._level, slot, Store(MemoryView()), SlotMetadata(), materials)
            try:
                for out in to_rows(_bundles(host, rows), program.batch_partitions, self._level * _LEVEL + slot):
                    yield from rows.take_other_levels()
                    yield out
            finally:
                host.close()
            yield from rows.take_other_levels()


def _bundles(host: BatchHost, rows: _LevelRows) -> Iterator[Bundle]:
    yield from host.run_partitions(rows, 0)  # the control frame sets the time
    if host.report is not None:
        last = Bundles()
        last.add(SINK_LEVEL, host.slot, host.report)
        yield from last.take_all()


class _LevelRows:
    """The rows of one level as (share, blob). Rows of other levels are collected to be passed on."""

    def __init__(self, batches: Iterator[pa.RecordBatch], level: int) -> None:
        self._batches = batches
        self._level = level
        self._passing: list[pa.RecordBatch] = []
        self._next: list[tuple[int, int, bytes]] = []

    def peek(self) -> int | None:
        """Returns the label of the slot, or None if the level has no row."""
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

    def take_other_levels(self) -> Iterator[pa.RecordBatch]:
        passing, self._passing = self._passing, []
        yield from passing
