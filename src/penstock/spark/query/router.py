"""The one sink of the query: routes elements to the job's sinks, and reports to the control source."""

from __future__ import annotations

import pickle
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import msgspec
import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql.datasource import (
    DataSource,
    DataSourceArrowWriter,
    DataSourceStreamArrowWriter,
    DataSourceStreamWriter,
    DataSourceWriter,
    WriterCommitMessage,
)

from penstock.connectors.sink import SinkWriter, WriteTask
from penstock.engine.body import unpack_body
from penstock.engine.frames import Counted, Output, Report, Save, decode_bundle, unpack_column, unpack_tags
from penstock.engine.program import Program
from penstock.engine.reports import add_flows, compare_broadcast, count_letters
from penstock.engine.sink_calls import calling_sink
from penstock.spark import worker
from penstock.spark.acknowledged import SinkWork, acknowledged
from penstock.spark.failure import carrying
from penstock.spark.handover import hand_over
from penstock.spark.pickling import pickle_elements
from penstock.spark.processor import ROW_SCHEMA
from penstock.spark.run_folder import RunFolder, SavedBatch


@dataclass
class Written(WriterCommitMessage):
    """What a task prepared, and what the slots and sources reported to it."""

    prepared: dict[int, bytes] = field(default_factory=dict)  # pickled: Spark's own pickles lose fields of Structs
    reports: list[bytes] = field(default_factory=list)
    told: list[bytes] = field(default_factory=list)  # what the tasks of sources reported
    counted: dict[int, int] = field(default_factory=dict)
    outputs: dict[int, int] = field(default_factory=dict)
    dead: list[tuple[str, int, int]] = field(default_factory=list)
    flows: dict[str, tuple[int, int]] = field(default_factory=dict)
    skipped: dict[int, int] = field(default_factory=dict)  # by source
    mapping: float = 0.0
    save: str = ""  # the savepoint that the batch was asked for
    writing: dict[int, float] = field(default_factory=dict)  # seconds by sink

    def prepared_for(self, sink: int) -> list[Any]:
        """Nothing, or what the task prepared for a sink."""
        return [pickle.loads(self.prepared[sink])] if sink in self.prepared else []

    def spent(self, sink: int, began: float) -> None:
        self.writing[sink] = self.writing.get(sink, 0.0) + time.perf_counter() - began


class RouterWriter(DataSourceStreamArrowWriter):
    """Writes in tasks, commits on the driver."""

    def __init__(self, folder: RunFolder) -> None:
        self._folder = str(folder.path)
        self._key, self._data = folder.program()
        facts = folder.facts()
        self._lineage: str = facts["lineage"]
        self._unfinished: tuple[int, int] | None = facts["unfinished"]
        self._repeating: bool = facts["repeating"]

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        with carrying():
            return self._write(iterator)

    def _write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        context = TaskContext.get()
        assert context is not None
        batch = int(context.getLocalProperty("streaming.sql.batchId") or 0)
        program = worker.program_of(self._key, self._data)
        task = self._task(batch, context, program)
        writers: dict[int, SinkWriter] = {}
        message = Written()
        try:
            for rows in iterator:
                for blob in rows.column("blob"):
                    for frame in decode_bundle(blob.as_buffer()):
                        if isinstance(frame, Output):
                            self._output(frame, program, writers, task, message)
                        elif isinstance(frame, Report):
                            message.reports.append(msgspec.json.encode(frame))
                        elif isinstance(frame, Save):
                            message.save = frame.id
                        elif isinstance(frame, Counted):
                            message.counted[frame.source] = message.counted.get(frame.source, 0) + frame.count
                            if frame.skipped:
                                message.skipped[frame.source] = message.skipped.get(frame.source, 0) + frame.skipped
                            message.mapping += frame.seconds
                            message.told.append(msgspec.json.encode(frame))
                            add_flows(message.flows, frame.flows)
                            message.dead += [(uid, *counts) for uid, counts in frame.dead.items()]
            for number, writer in writers.items():
                began = time.perf_counter()
                with calling_sink(program, number, batch, writer):
                    prepared = writer.prepare()
                message.spent(number, began)
                if prepared is not None:
                    message.prepared[number] = pickle_elements(prepared)
        except BaseException:
            for writer in writers.values():
                writer.abort()
            raise
        return message

    def _task(self, batch: int, context: TaskContext, program: Program) -> WriteTask:
        attempt = f"{context.stageId()}.{context.taskAttemptId()}"
        before, since = self._unfinished or (None, None)
        return WriteTask(
            batch,
            context.partitionId(),
            attempt,
            self._lineage,
            partitions=program.parallelism,
            begun_before=since if before == batch else None,
            repeated=self._repeating,
            whole_job=program.batch,
        )

    @staticmethod
    def _output(
        frame: Output, program: Program, writers: dict[int, SinkWriter], task: WriteTask, message: Written
    ) -> None:
        message.outputs[frame.sink] = message.outputs.get(frame.sink, 0) + frame.count
        sink = program.sinks[frame.sink]
        if not sink.wants_values:
            return
        began, writer = time.perf_counter(), writers.get(frame.sink)
        if writer is None:
            with calling_sink(program, frame.sink, task.batch):
                writer = writers[frame.sink] = sink.writer(replace(task, sink=program.sink_uids[frame.sink]))
        tags = unpack_tags(frame.tags) if frame.tags else None
        values, timestamps = unpack_body(frame.body)[1], unpack_column(frame.timestamps)
        with calling_sink(program, frame.sink, task.batch, writer):
            writer.write(values, timestamps, tags)
        message.spent(frame.sink, began)

    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:
        with carrying():
            self._commit(messages, batchId)

    def _commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:
        written = [m for m in messages if isinstance(m, Written)]
        reports = [msgspec.json.decode(r, type=Report) for m in written for r in m.reports]
        compare_broadcast(reports)
        program = worker.program_of(self._key, self._data)
        folder = RunFolder(self._folder)
        letters = {}
        due: list[int] = []
        work = SinkWork()
        for message in written:
            work.wrote(message.writing)
        for number, sink in enumerate(program.sinks):
            prepared = [p for m in written for p in m.prepared_for(number)]
            work.files[number] = sink.files_in(prepared)
            began = time.perf_counter()
            if sink.commits_in_program:
                hand_over(self._folder, self._key, batchId, number, prepared)
                work.committing[number] = time.perf_counter() - began
                continue
            with calling_sink(program, number, batchId):
                letters[number] = sink.commit(batchId, prepared) or []
                if (at := sink.due()) is not None:
                    due.append(at)
            work.committing[number] = time.perf_counter() - began
        folder.post(batchId, letters)
        if saving := next((m.save for m in written if m.save), ""):
            folder.tell_saved(_saved(saving, batchId, reports, program))
        behind_sources = [msgspec.json.decode(t, type=Counted) for m in written for t in m.told]
        folder.add_metrics(
            batchId, [(c.subtask, c.metrics) for c in behind_sources] + [(r.slot, r.metrics) for r in reports]
        )
        folder.tell_logs([line for c in behind_sources for line in c.logs] + [line for r in reports for line in r.logs])
        summary = _summary(batchId, written, reports, program, due)
        lags = {s.number: folder.lag(s.number) for s in program.sources}
        limits = _limits(program, folder.limit())
        if not program.batch:
            folder.tell_checkpoint(
                acknowledged(batchId, program, behind_sources, reports, summary["flows"], work, lags, limits)
            )
        folder.tell_report(summary)

    def abort(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:
        written = [m for m in messages if isinstance(m, Written)]
        for number, sink in enumerate(worker.program_of(self._key, self._data).sinks):
            sink.abort(batchId, [p for m in written for p in m.prepared_for(number)])


def _saved(savepoint: str, batch: int, reports: list[Report], program: Program) -> SavedBatch:
    memories = {}
    for number, sink in enumerate(program.sinks):
        with calling_sink(program, number, batch):
            memories[number] = sink.memory()
    parts = [report.part for report in reports if report.part is not None]
    return SavedBatch(
        savepoint, batch, parts, {number: memory for number, memory in memories.items() if memory is not None}
    )


def _summary(
    batch: int, written: list[Written], reports: list[Report], program: Program, due: list[int]
) -> dict[str, Any]:
    """All reports of a batch as one; `due`: when sinks want another one."""
    wakes = [*due, *(r.wake for r in reports if r.wake is not None)]
    records: dict[str, int] = {}
    late: dict[str, int] = {}
    for report in reports:
        for uid, count in report.records.items():
            records[uid] = records.get(uid, 0) + count
        for uid, count in report.late.items():
            late[uid] = late.get(uid, 0) + count
    told = [*(d for m in written for d in m.dead), *((uid, *c) for r in reports for uid, c in r.dead.items())]
    dead = count_letters(told)
    return {
        "batch": batch,
        "ended": round(time.time(), 3),
        "now": max((r.now for r in reports), default=0),
        "wake": min(wakes, default=None),
        "watermarks": {uid: w for r in reports for uid, w in r.watermarks.items()},
        "marks": {uid: splits for r in reports for uid, splits in r.marks.items()},
        "records": records,
        "late": late,
        "flows": _flows(written, reports, program),
        "dead": {uid: made for uid, (made, _) in dead.items()},
        "unread": {uid: unread for uid, (_, unread) in dead.items() if unread},
        "skipped": _skipped(written, program),
        "read": {str(s): sum(m.counted.get(s, 0) for m in written) for s in {s for m in written for s in m.counted}},
        "outputs": {str(s): sum(m.outputs.get(s, 0) for m in written) for s in {s for m in written for s in m.outputs}},
        "state_bytes": sum(r.state_bytes for r in reports),
        "delta_bytes": sum(r.delta_bytes for r in reports),
        "seconds": {"map": round(sum(m.mapping for m in written), 4), **_spent(reports)},
    }


def _limits(program: Program, asked: int | None) -> dict[int, int | None]:
    """The most records of each source in a batch; none: it does not count them."""
    admitted = {s.number: s.source.records_per_batch for s in program.sources}
    return {number: limit if limit is None else asked or limit for number, limit in admitted.items()}


def _skipped(written: list[Written], program: Program) -> dict[str, int]:
    """Records that do not decode and were dropped, by the uid of their source."""
    skipped: dict[str, int] = {}
    for message in written:
        for number, count in message.skipped.items():
            uid = program.sources[number].uid
            skipped[uid] = skipped.get(uid, 0) + count
    return skipped


def _flows(written: list[Written], reports: list[Report], program: Program) -> dict[str, tuple[int, int]]:
    """Elements in and out of everything that has a name: sources, steps, operators, sinks."""
    flows: dict[str, tuple[int, int]] = {}
    for message in written:
        add_flows(flows, message.flows)
        add_flows(flows, {program.sources[n].uid: (0, count) for n, count in message.counted.items()})
        add_flows(flows, {program.sink_uids[n]: (count, 0) for n, count in message.outputs.items()})
    for report in reports:
        add_flows(flows, report.flows)
    return flows


def _spent(reports: list[Report]) -> dict[str, float]:
    """Seconds of all slots together, by what they were spent on."""
    spent: dict[str, float] = {}
    for report in reports:
        for name, seconds in report.seconds.items():
            name = f"level {report.level} {name}"
            spent[name] = round(spent.get(name, 0) + seconds, 4)
    return spent


class BatchRouterWriter(DataSourceArrowWriter):
    """The same for a batch job: all of it is one batch."""

    def __init__(self, folder: RunFolder) -> None:
        self._router = RouterWriter(folder)

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        return self._router.write(iterator)

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        self._router.commit(messages, 0)

    def abort(self, messages: list[WriterCommitMessage | None]) -> None:
        self._router.abort(messages, 0)


class PenstockRouter(DataSource):
    """Option: `folder` of the run."""

    @classmethod
    def name(cls) -> str:
        return "penstock_router"

    def schema(self) -> str:
        return ROW_SCHEMA

    def writer(self, schema: Any, overwrite: bool) -> DataSourceWriter:
        return BatchRouterWriter(RunFolder(self.options["folder"]))

    def streamWriter(self, schema: Any, overwrite: bool) -> DataSourceStreamWriter:
        return RouterWriter(RunFolder(self.options["folder"]))
