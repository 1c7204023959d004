"""The host of a level inside Spark: one call per slot and batch."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import msgspec
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle
from pyspark.sql.types import Row

from penstock.engine.frames import SINKS, Bundles, Save, decode_bundle
from penstock.engine.host import LevelHost
from penstock.engine.slot_meta import SlotMeta
from penstock.savepoints.part import SlotPlace
from penstock.spark import worker
from penstock.spark.failure import carrying
from penstock.spark.restore import read_initial
from penstock.spark.slot_snapshot import SlotSnapshot
from penstock.spark.slots import labels, slots
from penstock.spark.statelog import FoldPolicy, StateLog

ROW_SCHEMA = "slot int, level int, blob binary"
_meta_decoder = msgspec.msgpack.Decoder(SlotMeta)
_meta_encode = msgspec.msgpack.encode


class HostSettings(msgspec.Struct, frozen=True):
    """What a host needs beside the program."""

    local_folder: str
    size_limit: int
    policy: FoldPolicy
    materialized: str
    initial: str
    run_folder: str


class SparkMap:
    """Spark's MapState as the log's store."""

    def __init__(self, state: Any) -> None:
        self._state = state

    def get(self, key: str) -> bytes | None:
        value = self._state.getValue((key,))
        return None if value is None else bytes(value[0])

    def put(self, key: str, value: bytes) -> None:
        self._state.updateValue((key,), (value,))

    def remove(self, key: str) -> None:
        self._state.removeKey((key,))


class SlotProcessor(StatefulProcessor):
    """Runs a level's host for each slot that Spark hands to it."""

    def __init__(self, key: str, program: bytes, level: int, parallelism: int, settings: HostSettings) -> None:
        self._key = key
        self._program = program
        self._level = level
        self._parallelism = parallelism
        self._settings = settings

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._map = SparkMap(handle.getMapState("log", "k string", "v binary"))

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: Any) -> Iterator[Row]:
        with carrying():
            yield from self._handle(key, rows)

    def _handle(self, key: Any, rows: Iterator[Row]) -> Iterator[Row]:
        clock, began = [time.perf_counter()], time.time()
        slot = slots(self._parallelism)[key[0]]
        bundles, timestamp = [], 0
        save: Save | None = None
        for row in rows:
            if row.level == -self._level:
                save = next((f for f in decode_bundle(bytes(row.blob)) if isinstance(f, Save)), None)
            else:
                bundles.append((row.level, bytes(row.blob)))
            timestamp = row.t
        folder = f"{self._settings.local_folder}/{self._level}-{slot}"
        copy = worker.copy_of(self._key, folder, self._settings.size_limit)
        log = StateLog(self._map, copy, self._settings.policy)
        clock.append(time.perf_counter())
        initial = None if log.has_header() else read_initial(self._settings.initial, self._level, slot)
        view = log.begin(None if initial is None else initial.entries(self._program))
        snapshot = None if save is None else SlotSnapshot(save, copy.file, self._settings.size_limit)
        clock.append(time.perf_counter())
        try:
            header = log.header
            if header is not None:
                meta = _meta_decoder.decode(header.meta)
            else:
                meta = SlotMeta() if initial is None else initial.meta
            token = b"" if header is None else header.token
            with worker.heard_logs(self._settings.run_folder):
                host = worker.host_of(
                    self._key, self._program, self._level, slot, view, meta, token, self._settings.materialized
                )
                with worker.no_garbage_collection():
                    out = host.run(bundles, timestamp)
            clock.append(time.perf_counter())
            changes = host.store.take_changes()
            committed = log.commit(changes, _meta_encode(host.meta))
            if snapshot is not None and host.report is not None:
                above, tokens = log.above_copy(changes, committed)
                host.report.part = snapshot.hand_over(_place(host), host.meta, above, tokens, self._settings.run_folder)
        finally:
            log.end()
            if snapshot is not None:
                snapshot.close()
        worker.keep_host(self._key, host, committed.token)
        copy.touch()
        copy.keep_tables(host.meta.tables)
        label = labels(self._parallelism)
        for to, level, blob in out:
            yield Row(slot=label[to], level=level, blob=blob)
        report = host.report
        if report is not None:
            report.state_bytes = committed.base_bytes + committed.log_bytes
            report.delta_bytes = log.written
            report.began, report.worker = began, worker.name()
            clock.append(time.perf_counter())
            steps = zip(("read", "catch up", "run", "commit"), clock, clock[1:], strict=False)
            report.seconds = {name: round(after - before, 4) for name, before, after in steps}
            last = Bundles()
            last.add(SINKS, slot, report)
            for to, level, blob in last.take_all():
                yield Row(slot=label[to], level=level, blob=blob)
        log.settle()

    def close(self) -> None:
        """Workers keep what they opened."""


def _place(host: LevelHost) -> SlotPlace:
    program = host.program
    widths = {o.uid: o.parallelism for o in program.operators_at(host.level)}
    return SlotPlace(host.level, host.slot, widths, program.max_parallelism)
