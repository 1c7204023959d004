"""Commits the sinks of a batch on the driver and reports the batch."""

from __future__ import annotations

import pickle
import time
from dataclasses import dataclass, field
from typing import Any

import msgspec
from pyspark.sql.datasource import WriterCommitMessage

from penstock.engine.host.reports import check_broadcast_state
from penstock.engine.program.program import Program
from penstock.engine.program.sink_calls import sink_call
from penstock.engine.slots.alignment import advance_alignment, is_aligned
from penstock.engine.wire.frames import SlotReport, SourceTaskReport
from penstock.jobs.run.batch_report import build_batch_report
from penstock.jobs.run.checkpoint_stats import SinkTimes, build_checkpoint_stats
from penstock.jobs.run.run_totals import add_counts
from penstock.spark.query.driver_commits import request_commit
from penstock.spark.report.run_folder import RunFolder, SavepointBatch


@dataclass
class TaskOutput(WriterCommitMessage):
    """What a router task sends to the driver: prepared commits of sinks, and the reports of sources and slots.

    Values are encoded here because the pickles that Spark makes lose fields of msgspec Structs.
    """

    prepared: dict[int, bytes] = field(default_factory=dict)  # by the number of a sink
    slot_reports: list[bytes] = field(default_factory=list)
    source_reports: list[bytes] = field(default_factory=list)
    records_written: dict[int, int] = field(default_factory=dict)  # by the number of a sink
    write_seconds: dict[int, float] = field(default_factory=dict)  # by the number of a sink
    savepoint_id: str = ""  # of the savepoint that the batch has to take

    def prepared_commits(self, sink: int) -> list[Any]:
        """Returns what the task has prepared for a sink, as a list of one element or none."""
        return [pickle.loads(self.prepared[sink])] if sink in self.prepared else []

    def add_write_time(self, sink: int, started: float) -> None:
        self.write_seconds[sink] = self.write_seconds.get(sink, 0.0) + time.perf_counter() - started


class BatchCommit:
    """Commits the sinks of one batch on the driver, and reports the batch."""

    def __init__(self, run_folder: str, key: str, program: Program, batch: int) -> None:
        self._run_folder = run_folder
        self._folder = RunFolder(run_folder)
        self._key = key
        self._program = program
        self._batch = batch
        self._sink_times = SinkTimes()
        self._sink_wakeups: list[int] = []

    def run(self, outputs: list[TaskOutput]) -> None:
        slot_reports = [msgspec.msgpack.decode(r, type=SlotReport) for o in outputs for r in o.slot_reports]
        source_reports = [msgspec.msgpack.decode(r, type=SourceTaskReport) for o in outputs for r in o.source_reports]
        check_broadcast_state(slot_reports)
        self._commit_sinks(outputs)
        if savepoint_id := next((o.savepoint_id for o in outputs if o.savepoint_id), ""):
            self._folder.write_savepoint_batch(self._savepoint_batch(savepoint_id, slot_reports))
        self._report_functions(source_reports, slot_reports)
        if is_aligned(self._program):
            self._advance_alignment([*source_reports, *slot_reports])
        self._report_batch(outputs, source_reports, slot_reports)

    def _commit_sinks(self, outputs: list[TaskOutput]) -> None:
        for output in outputs:
            self._sink_times.add_task(output.write_seconds)
        driver_outputs = {}
        for number, sink in enumerate(self._program.sinks):
            prepared = [p for o in outputs for p in o.prepared_commits(number)]
            self._sink_times.files[number] = sink.files_in(prepared)
            started = time.perf_counter()
            if sink.commits_in_program:
                request_commit(self._run_folder, self._key, self._batch, number, prepared)
            else:
                with sink_call(self._program, number, self._batch):
                    driver_outputs[number] = sink.commit(self._batch, prepared) or []
                    if (wakeup := sink.due()) is not None:
                        self._sink_wakeups.append(wakeup)
            self._sink_times.committing[number] = time.perf_counter() - started
        self._folder.write_driver_outputs(self._batch, driver_outputs)

    def _savepoint_batch(self, savepoint_id: str, slot_reports: list[SlotReport]) -> SavepointBatch:
        memories, requested = {}, self._folder.requested_savepoint()
        for number, sink in enumerate(self._program.sinks):
            with sink_call(self._program, number, self._batch):
                memory = sink.memory() if requested is None else sink.memory_in(requested.folder)
            if memory is not None:
                memories[number] = memory
        parts = [report.savepoint_part for report in slot_reports if report.savepoint_part is not None]
        return SavepointBatch(savepoint_id, self._batch, parts, memories)

    def _report_functions(self, source_reports: list[SourceTaskReport], slot_reports: list[SlotReport]) -> None:
        """Forwards the metrics and log lines of user functions."""
        metrics = [*((r.subtask, r.metrics) for r in source_reports), *((r.slot, r.metrics) for r in slot_reports)]
        self._folder.add_metrics(self._batch, metrics)
        reports: list[SourceTaskReport | SlotReport] = [*source_reports, *slot_reports]
        self._folder.write_logs([line for report in reports for line in report.logs])

    def _advance_alignment(self, reports: list[SourceTaskReport | SlotReport]) -> None:
        folder, now = self._folder, time.time()
        tables, previous = folder.read_alignment(), folder.last_report()
        passed = 0.0 if previous is None else max(0.0, now - previous.ended_at)
        progress = [p for report in reports for p in report.aligned_progress]
        advance_alignment(self._program, tables, progress, int(now * 1000), int(passed * 1000))
        folder.write_alignment(tables)

    def _report_batch(
        self, outputs: list[TaskOutput], source_reports: list[SourceTaskReport], slot_reports: list[SlotReport]
    ) -> None:
        program, folder = self._program, self._folder
        records_written: dict[int, int] = {}
        for output in outputs:
            add_counts(records_written, output.records_written)
        report = build_batch_report(
            self._batch, program, source_reports, slot_reports, records_written, self._sink_wakeups
        )
        if not program.batch_mode:
            lags = {s.number: folder.read_lag(s.number) for s in program.sources}
            limits = _record_limits(program, folder.record_limit())
            folder.write_checkpoint_stats(
                build_checkpoint_stats(
                    self._batch, program, source_reports, slot_reports, report.flows, self._sink_times, lags, limits
                )
            )
        folder.write_report(report)


def _record_limits(program: Program, requested: int | None) -> dict[int, int | None]:
    """The most records per batch of each source; None for a source without a limit."""
    limits = {s.number: s.source.records_per_batch for s in program.sources}
    return {
        number: limit if limit is None else requested or program.max_records or limit
        for number, limit in limits.items()
    }
