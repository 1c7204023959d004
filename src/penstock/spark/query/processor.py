"""Runs the host of a level in a stateful processor of Spark, which is called once per slot and batch."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import msgspec
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle
from pyspark.sql.types import Row

from penstock.engine.host.host import LevelHost
from penstock.engine.slots.clocks import batch_time
from penstock.engine.slots.slot_metadata import SlotMetadata
from penstock.engine.wire.frames import SINK_LEVEL, Bundles, Frame, SavepointRequest, decode_bundle
from penstock.jobs.registry.cpu_time import thread_cpu_time
from penstock.savepoints.slot_part import SlotAssignment
from penstock.spark.query import state_connection, worker
from penstock.spark.savepoint.initial_state import read_initial_state
from penstock.spark.savepoint.snapshot_handoff import SnapshotHandoff
from penstock.spark.session.error_transport import wrap_errors
from penstock.spark.session.slots import slot_labels, slots_by_label
from penstock.spark.state.compaction import CompactionPolicy
from penstock.spark.state.local_folders import folder_on_executor
from penstock.spark.state.state_log import StateLog

ROW_SCHEMA = "slot int, level int, blob binary"
_meta_decoder = msgspec.msgpack.Decoder(SlotMetadata)
_meta_encode = msgspec.msgpack.encode


class HostSettings(msgspec.Struct, frozen=True):
    """What a host needs besides the program."""

    local_folder: str  # of the working copies of the job
    size_limit: int  # of a working copy, in bytes
    policy: CompactionPolicy
    materialized: str  # folder of materialized inputs
    initial: str  # folder of the initial state of a restored job
    run_folder: str


class SparkMap:
    """The MapState of Spark as the store of a state log."""

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
    """Runs the host of a level for each slot that Spark assigns to it."""

    def __init__(self, key: str, program: bytes, level: int, parallelism: int, settings: HostSettings) -> None:
        self._key = key
        self._program = program
        self._level = level
        self._parallelism = parallelism
        self._settings = settings

    def init(self, handle: StatefulProcessorHandle) -> None:
        state_connection.connection.keep_open(handle._statefulProcessorApiClient)
        self._map = SparkMap(handle.getMapState("log", "k string", "v binary"))

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: Any) -> Iterator[Row]:
        with wrap_errors():
            yield from self._handle(key, rows)

    def _handle(self, key: Any, rows: Iterator[Row]) -> Iterator[Row]:
        times, started_at, cpu = [time.perf_counter()], time.time(), thread_cpu_time()
        slot = slots_by_label(self._parallelism)[key[0]]
        frames, other_levels, timestamp = self._read_rows(rows)
        save = next((f for f in frames if isinstance(f, SavepointRequest)), None)
        folder = f"{folder_on_executor(self._settings.local_folder)}/{self._level}-{slot}"
        copy = worker.get_working_copy(self._key, folder, self._settings.size_limit)
        log = StateLog(self._map, copy, self._settings.policy)
        times.append(time.perf_counter())
        initial = None if log.has_header() else read_initial_state(self._settings.initial, self._level, slot)
        view = log.begin(None if initial is None else initial.entries(self._program, batch_time(frames, timestamp)))
        snapshot = None if save is None else SnapshotHandoff(save, copy.file, self._settings.size_limit)
        times.append(time.perf_counter())
        try:
            header = log.header
            if header is not None:
                meta = _meta_decoder.decode(header.meta)
            else:
                meta = SlotMetadata() if initial is None else initial.meta
            token = b"" if header is None else header.token
            with worker.forward_logs(self._settings.run_folder):
                host = worker.get_host(
                    self._key, self._program, self._level, slot, view, meta, token, self._settings.materialized
                )
                with worker.pause_garbage_collection():
                    out = host.run(frames, timestamp)
            times.append(time.perf_counter())
            changes = host.store.take_changes()
            committed = log.commit(changes, _meta_encode(host.meta))
            if snapshot is not None and host.report is not None:
                changes_above, tokens = log.changes_above_copy(changes, committed)
                host.report.savepoint_part = snapshot.hand_over(
                    _slot_assignment(host), host.meta, changes_above, tokens, self._settings.run_folder
                )
        finally:
            log.end()
            if snapshot is not None:
                snapshot.close()
        worker.cache_host(self._key, host, committed.token)
        copy.mark_used()
        copy.write_tables(host.meta.tables)
        label = slot_labels(self._parallelism)
        for level, blob in other_levels:
            yield Row(slot=label[slot], level=level, blob=blob)
        for to, level, blob in out:
            yield Row(slot=label[to], level=level, blob=blob)
        report = host.report
        if report is not None:
            report.state_bytes, report.state_log_bytes = log.live_bytes, committed.log_bytes
            report.delta_bytes = log.written
            report.cpu_seconds, report.cpu_wait = thread_cpu_time().since(cpu)
            report.started_at, report.worker = started_at, worker.worker_name()
            times.append(time.perf_counter())
            report.seconds = _seconds_by_step(times)
            last = Bundles()
            last.add(SINK_LEVEL, slot, report)
            for to, level, blob in last.take_all():
                yield Row(slot=label[to], level=level, blob=blob)
        log.update_copy()

    def _read_rows(self, rows: Iterator[Row]) -> tuple[list[Frame], list[tuple[int, bytes]], int]:
        """Returns the frames for this level, the bundles of other levels, and the time of the batch in milliseconds."""
        frames: list[Frame] = []
        other_levels: list[tuple[int, bytes]] = []
        timestamp = 0
        for row in rows:
            if row.level == self._level:
                frames += decode_bundle(bytes(row.blob))
            else:
                other_levels.append((row.level, bytes(row.blob)))
            timestamp = row.t
        return frames, other_levels, timestamp

    def close(self) -> None:
        """Nothing to close: workers keep what they have opened."""


def _seconds_by_step(times: list[float]) -> dict[str, float]:
    steps = zip(("read", "catch up", "run", "commit"), times, times[1:], strict=False)
    return {name: round(end - start, 4) for name, start, end in steps}


def _slot_assignment(host: LevelHost) -> SlotAssignment:
    program = host.program
    widths = {o.uid: o.parallelism for o in program.operators_at(host.level)}
    return SlotAssignment(host.level, host.slot, widths, program.max_parallelism)
