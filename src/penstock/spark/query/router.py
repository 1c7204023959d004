"""The only sink of the query. It routes elements to the sinks of the job and reports each batch."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
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
from penstock.engine.program.program import Program
from penstock.engine.program.sink_calls import sink_call
from penstock.engine.wire.body import unpack_body
from penstock.engine.wire.frames import (
    SavepointRequest,
    SinkRows,
    SlotReport,
    SourceTaskReport,
    decode_bundle,
    unpack_column,
    unpack_tags,
)
from penstock.spark.query import worker
from penstock.spark.query.batch_commit import BatchCommit, TaskOutput
from penstock.spark.query.processor import ROW_SCHEMA
from penstock.spark.report.run_folder import RunFolder
from penstock.spark.session.error_transport import wrap_errors
from penstock.spark.session.pickling import pickle_elements


class RouterWriter(DataSourceStreamArrowWriter):
    """Writes to the sinks in tasks, and commits on the driver."""

    def __init__(self, folder: RunFolder) -> None:
        self._folder = str(folder.path)
        self._key, self._data = folder.read_program()
        facts = folder.read_facts()
        self._lineage = facts.lineage
        self._unfinished = facts.unfinished
        self._repeating = facts.repeating

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        with wrap_errors():
            return self._write(iterator)

    def _write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        context = TaskContext.get()
        assert context is not None
        batch = int(context.getLocalProperty("streaming.sql.batchId") or 0)
        program = worker.get_program(self._key, self._data)
        task = self._task(batch, context, program)
        writers: dict[int, SinkWriter] = {}
        output = TaskOutput()
        try:
            for rows in iterator:
                for blob in rows.column("blob"):
                    for frame in decode_bundle(blob.as_buffer()):
                        if isinstance(frame, SinkRows):
                            self._write_elements(frame, program, writers, task, output)
                        elif isinstance(frame, SlotReport):
                            output.slot_reports.append(msgspec.msgpack.encode(frame))
                        elif isinstance(frame, SourceTaskReport):
                            output.source_reports.append(msgspec.msgpack.encode(frame))
                        elif isinstance(frame, SavepointRequest):
                            output.savepoint_id = frame.id
            for number, writer in writers.items():
                self._prepare(number, writer, program, batch, output)
        except BaseException:
            for writer in writers.values():
                writer.abort()
            raise
        return output

    def _task(self, batch: int, context: TaskContext, program: Program) -> WriteTask:
        attempt = f"{context.stageId()}.{context.taskAttemptId()}"
        unfinished, began = self._unfinished or (None, None)
        return WriteTask(
            batch,
            context.partitionId(),
            attempt,
            self._lineage,
            partitions=program.parallelism,
            begun_before=began if unfinished == batch else None,
            repeated=self._repeating,
            whole_job=program.batch_mode,
        )

    @staticmethod
    def _write_elements(
        frame: SinkRows, program: Program, writers: dict[int, SinkWriter], task: WriteTask, output: TaskOutput
    ) -> None:
        output.records_written[frame.sink] = output.records_written.get(frame.sink, 0) + frame.count
        sink = program.sinks[frame.sink]
        if not sink.wants_values:
            return
        started, writer = time.perf_counter(), writers.get(frame.sink)
        if writer is None:
            with sink_call(program, frame.sink, task.batch):
                writer = writers[frame.sink] = sink.writer(replace(task, sink=program.sink_uids[frame.sink]))
        tags = unpack_tags(frame.tags) if frame.tags else None
        values, timestamps = unpack_body(frame.body)[1], unpack_column(frame.timestamps)
        with sink_call(program, frame.sink, task.batch, writer):
            writer.write(values, timestamps, tags)
        output.add_write_time(frame.sink, started)

    @staticmethod
    def _prepare(number: int, writer: SinkWriter, program: Program, batch: int, output: TaskOutput) -> None:
        started = time.perf_counter()
        with sink_call(program, number, batch, writer):
            prepared = writer.prepare()
        output.add_write_time(number, started)
        if prepared is not None:
            output.prepared[number] = pickle_elements(prepared)

    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:
        with wrap_errors():
            BatchCommit(self._folder, self._key, worker.get_program(self._key, self._data), batchId).run(
                [m for m in messages if isinstance(m, TaskOutput)]
            )

    def abort(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:
        outputs = [m for m in messages if isinstance(m, TaskOutput)]
        for number, sink in enumerate(worker.get_program(self._key, self._data).sinks):
            sink.abort(batchId, [p for o in outputs for p in o.prepared_commits(number)])


class BatchRouterWriter(DataSourceArrowWriter):
    """The router of a batch job, whose whole input is one batch."""

    def __init__(self, folder: RunFolder) -> None:
        self._router = RouterWriter(folder)

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        return self._router.write(iterator)

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        self._router.commit(messages, 0)

    def abort(self, messages: list[WriterCommitMessage | None]) -> None:
        self._router.abort(messages, 0)


class PenstockRouter(DataSource):
    """The data sink of a job. Option: `folder` of the run."""

    @classmethod
    def name(cls) -> str:
        return "penstock_router"

    def schema(self) -> str:
        return ROW_SCHEMA

    def writer(self, schema: Any, overwrite: bool) -> DataSourceWriter:
        return BatchRouterWriter(RunFolder(self.options["folder"]))

    def streamWriter(self, schema: Any, overwrite: bool) -> DataSourceStreamWriter:
        return RouterWriter(RunFolder(self.options["folder"]))
