"""The control source: announces the run, known and ended splits, savepoints, and the end of bounded jobs to all slots.

Spark logs its offset before a batch runs, so a replayed batch gets the same announcement. The offset moves only when there is
something to announce or a timer is due (time-rules 2.3, 2.8, 7.2).
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, SupportsTriggerAvailableNow

from penstock.connectors.scripted import ScriptedSource, Step
from penstock.engine.wire.frames import SINK_LEVEL, Bundle, Bundles, Control, SavepointRequest
from penstock.spark.checkpoint.storage_failure import check_reachable
from penstock.spark.query.processor import ROW_SCHEMA
from penstock.spark.query.sources import to_arrow
from penstock.spark.report.run_facts import RequestedSavepoint, SplitStatus, StopRequest
from penstock.spark.report.run_folder import RunFolder
from penstock.spark.session.error_transport import wrap_errors
from penstock.spark.session.pickling import unpickle_program

_PROCESS = "control"
SplitsBySource = dict[int, list[str]]


class ControlOffset(
    msgspec.Struct,
    frozen=True,
    rename={"number": "n", "run_id": "run", "is_final": "end", "savepoint_id": "saved"},
):
    """The offset of the control source: what the batch that ends at it announces.

    Offsets are stored in the checkpoint and in savepoints, under the renamed field names.
    """

    number: int = 0
    run_id: str = ""
    clock: int | None = None  # the manual clock of a scripted job, in milliseconds
    known: SplitsBySource = {}
    ended: SplitsBySource = {}
    is_final: bool = False  # all input has ended: the final watermark is sent
    savepoint_id: str | msgspec.UnsetType = msgspec.UNSET  # of the last savepoint that was announced

    def advance(self, **changes: Any) -> ControlOffset:
        """Returns the next offset."""
        return msgspec.structs.replace(self, number=self.number + 1, **changes)

    def to_json(self) -> dict[str, Any]:
        offset: dict[str, Any] = msgspec.to_builtins(self, str_keys=True)
        return offset


def read_offset(stored: dict[str, Any]) -> ControlOffset:
    return msgspec.convert(stored, ControlOffset, strict=False)  # JSON has the numbers of sources as strings


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
        self._script = next((s.steps for s in self._sources if isinstance(s, ScriptedSource) and s.lockstep), None)
        self._finished = False
        self._is_registered = False  # as a helper process

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_folder": None, "_facts": None, "_sources": [], "_script": None}

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
            if offset.is_final:
                self._finish(offset)
                return start
            new = self._next_scripted(offset) if self._script is not None else self._next(offset)
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

    # -- scripted jobs

    def _next_scripted(self, offset: ControlOffset) -> ControlOffset | None:
        """Returns the offset of the next step of the script. Each step is a batch."""
        assert self._script is not None
        assert self._folder is not None
        savepoint = _new_savepoint(self._folder.requested_savepoint(), offset)
        if offset.number >= len(self._script):
            if savepoint:
                return offset.advance(**savepoint)
            if self._facts.keep_open:
                self._finish(offset)
                return None
            return offset.advance(is_final=True)
        step: Step = self._script[offset.number]
        return offset.advance(
            run_id=self._scripted_run(step, offset),
            clock=step.clock if step.clock is not None else offset.clock or 0,
            known={i: list(s.known) for i, s in enumerate(self._sources) if isinstance(s, ScriptedSource)},
            ended={i: list(step.ended) for i in range(len(self._sources))} if step.ended else {},
            is_final=step.end,
            **savepoint,
        )

    def _scripted_run(self, step: Step, offset: ControlOffset) -> str:
        """A script names runs by numbers; a number is valid until a later step has another one."""
        if step.run is not None:
            return str(step.run)
        return offset.run_id if offset.run_id.isdigit() else self._facts.run_id

    # -- other jobs

    def _next(self, offset: ControlOffset) -> ControlOffset | None:
        """Returns the next offset, or None if no batch is needed for control."""
        assert self._folder is not None
        stop, requested = self._folder.stop_request(), self._folder.requested_savepoint()
        if _is_stopping(stop, requested, offset):
            return None
        known, ended = self._read_splits(offset)
        is_final = _is_draining(stop, requested) or self._has_ended(known, ended)
        savepoint = _new_savepoint(requested, offset)
        has_news = offset.run_id != self._facts.run_id or known != offset.known or ended != offset.ended or is_final
        if not (has_news or savepoint or self._is_batch_due()):
            return None
        return offset.advance(run_id=self._facts.run_id, known=known, ended=ended, is_final=is_final, **savepoint)

    def _read_splits(self, offset: ControlOffset) -> tuple[SplitsBySource, SplitsBySource]:
        """Known and ended splits: those announced before, and those that sources have reported since."""
        assert self._folder is not None
        known, ended = dict(offset.known), dict(offset.ended)
        for number, source in enumerate(self._sources):
            status = self._folder.read_split_status(number) or SplitStatus(source.first_splits())
            _add_splits(known, number, status.known)
            _add_splits(ended, number, status.ended)
        return known, ended

    def _has_ended(self, known: SplitsBySource, ended: SplitsBySource) -> bool:
        """Whether all sources end at some time, and all their splits have ended."""
        return all(
            (source.bounded or source.stops) and set(known.get(number, ())) <= set(ended.get(number, ()))
            for number, source in enumerate(self._sources)
        )

    def _is_batch_due(self) -> bool:
        """Whether a timer, an idle timeout or the heartbeat needs a batch now."""
        assert self._folder is not None
        report = self._folder.last_report()
        if report is None or (self._facts.paced and self._folder.is_pausing()):
            return False
        now, heartbeat = int(time.time() * 1000), self._facts.heartbeat
        if report.next_wakeup is not None and report.next_wakeup <= now:
            return True
        return bool(heartbeat) and report.processing_time + heartbeat <= now

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
        control = Control(offset.run_id, offset.clock, offset.known, offset.ended, offset.is_final)
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


def _is_stopping(stop: StopRequest | None, savepoint: RequestedSavepoint | None, offset: ControlOffset) -> bool:
    """Whether no further batch may start: the job stops, or the batch of its last savepoint was announced."""
    if stop is not None and not stop.drain:
        return True
    return savepoint is not None and bool(savepoint.end) and savepoint.id == offset.savepoint_id


def _is_draining(stop: StopRequest | None, savepoint: RequestedSavepoint | None) -> bool:
    return (stop is not None and stop.drain) or (savepoint is not None and savepoint.end == "drain")


def _new_savepoint(savepoint: RequestedSavepoint | None, offset: ControlOffset) -> dict[str, str]:
    """The change of the offset that announces a savepoint; empty if none was requested since the last batch."""
    if savepoint is None or savepoint.id == offset.savepoint_id:
        return {}
    return {"savepoint_id": savepoint.id}


def _add_splits(table: SplitsBySource, source: int, splits: list[str]) -> None:
    if splits:
        table[source] = sorted({*table.get(source, ()), *splits})


class PenstockControl(DataSource):
    """The data source of the control announcements. Option: `folder` of the run."""

    @classmethod
    def name(cls) -> str:
        return "penstock_control"

    def schema(self) -> str:
        return ROW_SCHEMA

    def streamReader(self, schema: Any) -> DataSourceStreamReader:
        return ControlReader(RunFolder(self.options["folder"]))
