"""The control source: announces the run, known and ended splits, savepoints, and the end of bounded jobs to all slots.

Spark logs its offset before a batch runs, so a replayed batch gets the same announcement. `engine/slots/control.py` decides what
is announced.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, SupportsTriggerAvailableNow

from penstock.engine.slots.control import ControlOffset, ControlRules, Situation, is_due, read_offset
from penstock.engine.wire.frames import SINK_LEVEL, Bundle, Bundles, SavepointRequest
from penstock.spark.checkpoint.storage_failure import check_reachable
from penstock.spark.query.processor import ROW_SCHEMA
from penstock.spark.query.sources import to_arrow
from penstock.spark.report.run_folder import RunFolder
from penstock.spark.session.error_transport import wrap_errors
from penstock.spark.session.pickling import unpickle_program

_PROCESS = "control"


class ControlReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Decides before each batch whether there is something to announce."""

    def __init__(self, folder: RunFolder) -> None:
        self._folder: RunFolder | None = folder
        _key, data = folder.read_program()
        program = unpickle_program(data)
        self._facts = folder.read_facts()
        self._parallelism = program.parallelism
        self._depth = program.depth
        self._levels = program.control_levels() or ([0] if program.depth == 0 else [])
        self._sources = [s.source for s in program.sources]
        self._rules = ControlRules(self._sources, self._facts.run_id, self._facts.keep_open)
        self._finished = False
        self._is_registered = False  # as a helper process

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_folder": None, "_facts": None, "_sources": [], "_rules": None}

    def initialOffset(self) -> dict[str, Any]:
        return read_offset(self._facts.control_offset or {}).to_json()

    def getDefaultReadLimit(self) -> ReadLimit:
        return ReadAllAvailable()

    def prepareForTriggerAvailableNow(self) -> None:
        """Nothing to prepare: this source decides when the job ends."""

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:
        with wrap_errors():
            self._register()
            check_reachable(self._facts.checkpoint)
            offset = read_offset(start)
            new = None if offset.is_final else self._rules.next(offset, self._situation())
            if new is None and self._rules.has_finished(offset):
                self._finish(offset)
            return start if new is None else new.to_json()

    def _register(self) -> None:
        """Registers this process. Spark creates readers in other processes too, which plan nothing."""
        assert self._folder is not None
        if not self._is_registered:
            self._is_registered = True
            self._folder.processes.begin(_PROCESS, "starts the batches of the job")

    def stop(self) -> None:
        if self._is_registered and self._folder is not None:
            self._folder.processes.end(_PROCESS)

    def _finish(self, offset: ControlOffset) -> None:
        """Stops the job: the batch that announced the end is committed by now."""
        assert self._folder is not None
        if self._finished:
            return
        savepoint = self._folder.requested_savepoint()
        if savepoint is not None and savepoint.id == offset.savepoint_id:
            return  # its files are still being written
        self._folder.mark_finished()
        self._finished = True

    def _situation(self) -> Situation:
        assert self._folder is not None
        statuses = {number: self._folder.read_split_status(number) for number in range(len(self._sources))}
        return Situation(
            {number: status for number, status in statuses.items() if status is not None},
            self._folder.stop_request(),
            self._folder.requested_savepoint(),
            self._is_batch_due,
        )

    def _is_batch_due(self) -> bool:
        """Whether a timer, an idle timeout or the heartbeat needs a batch now."""
        assert self._folder is not None
        report = self._folder.last_report()
        if report is None or (self._facts.paced and self._folder.is_pausing()):
            return False
        return is_due(report.next_wakeup, report.processing_time, self._facts.heartbeat, int(time.time() * 1000))

    # -- announcing

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        assert self._folder is not None
        self._folder.mark_control_task()
        return [InputPartition((end, self._savepoint_frame(read_offset(start), read_offset(end))))]

    def _savepoint_frame(self, start: ControlOffset, end: ControlOffset) -> SavepointRequest | None:
        """The savepoint to take in a batch. No process waits for one that was announced by an earlier run."""
        assert self._folder is not None
        requested = self._folder.requested_savepoint()
        if requested is None or start.savepoint_id == requested.id or end.savepoint_id != requested.id:
            return None
        return SavepointRequest(requested.id, requested.folder)

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        offset, save = partition.value
        yield from to_arrow(self._bundles(read_offset(offset), save), self._parallelism)

    def _bundles(self, offset: ControlOffset, save: SavepointRequest | None = None) -> Iterator[Bundle]:
        control = offset.frame()
        out = Bundles()
        for level in self._levels:
            for slot in range(self._parallelism if level else 1):
                out.add(level, slot, control)
        if save is not None:
            for level in range(1, self._depth + 1):
                for slot in range(self._parallelism):
                    out.add(level, slot, save)
            out.add(SINK_LEVEL, 0, save)
        return out.take_all()

    def commit(self, end: dict[str, Any]) -> None:
        """Nothing to do: Spark stores the offsets."""


class PenstockControl(DataSource):
    """The data source of the control announcements. Option: `folder` of the run."""

    @classmethod
    def name(cls) -> str:
        return "penstock_control"

    def schema(self) -> str:
        return ROW_SCHEMA

    def streamReader(self, schema: Any) -> DataSourceStreamReader:
        return ControlReader(RunFolder(self.options["folder"]))
