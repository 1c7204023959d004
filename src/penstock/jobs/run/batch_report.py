"""Builds the report of a batch from the reports of its tasks."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

from penstock.engine.host.reports import add_flows, sum_dead_letters
from penstock.engine.program.program import Program
from penstock.engine.wire.frames import SlotReport, SourceTaskReport
from penstock.jobs.registry.batch_report import BatchReport, RecordCounts
from penstock.jobs.run.run_totals import add_counts


def build_batch_report(
    batch: int,
    program: Program,
    source_reports: Sequence[SourceTaskReport],
    slot_reports: Sequence[SlotReport],
    records_written: dict[int, int],
    sink_wakeups: Sequence[int],
) -> BatchReport:
    """Builds the report of a batch. `records_written` is by the number of a sink; sinks need a batch at `sink_wakeups`."""
    dead_letters = _dead_letters(source_reports, slot_reports)
    wakeups = [*sink_wakeups, *(r.next_wakeup for r in slot_reports if r.next_wakeup is not None)]
    return BatchReport(
        batch,
        ended_at=round(time.time(), 3),
        processing_time=max((r.processing_time for r in slot_reports), default=0),
        next_wakeup=min(wakeups, default=None),
        watermarks={uid: watermark for r in slot_reports for uid, watermark in r.watermarks.items()},
        records=_sum_counts([r.records for r in slot_reports]),
        late=_sum_counts([r.late for r in slot_reports]),
        flows=_flows(program, source_reports, slot_reports, records_written),
        dead_letters={uid: count for uid, (count, _) in dead_letters.items()},
        unread_dead_letters={uid: unread for uid, (_, unread) in dead_letters.items() if unread},
        skipped=_sum_counts([{program.sources[r.source_number].uid: r.skipped} for r in source_reports if r.skipped]),
        records_read=_records_read(source_reports),
        records_written=records_written,
        state_bytes=sum(r.state_bytes for r in slot_reports),
        state_log_bytes=sum(r.state_log_bytes for r in slot_reports),
        delta_bytes=sum(r.delta_bytes for r in slot_reports),
        seconds=_seconds(source_reports, slot_reports),
    )


def _sum_counts(tables: Sequence[Mapping[str, int]]) -> dict[str, int]:
    total: dict[str, int] = {}
    for counts in tables:
        add_counts(total, counts)
    return total


def _records_read(source_reports: Sequence[SourceTaskReport]) -> dict[int, int]:
    total: dict[int, int] = {}
    for report in source_reports:
        add_counts(total, {report.source_number: report.records})
    return total


def _dead_letters(
    source_reports: Sequence[SourceTaskReport], slot_reports: Sequence[SlotReport]
) -> dict[str, tuple[int, int]]:
    tables = [*(r.dead_letters for r in source_reports), *(r.dead_letters for r in slot_reports)]
    return sum_dead_letters((uid, *counts) for table in tables for uid, counts in table.items())


def _flows(
    program: Program,
    source_reports: Sequence[SourceTaskReport],
    slot_reports: Sequence[SlotReport],
    records_written: Mapping[int, int],
) -> dict[str, RecordCounts]:
    """Elements in and out of all sources, steps, operators and sinks, by uid."""
    total: dict[str, tuple[int, int]] = {}
    for source_report in source_reports:
        add_flows(total, source_report.flows)
        add_flows(total, {program.sources[source_report.source_number].uid: (0, source_report.records)})
    add_flows(total, {program.sink_uids[number]: (count, 0) for number, count in records_written.items()})
    for slot_report in slot_reports:
        add_flows(total, slot_report.flows)
    return {uid: RecordCounts(*counts) for uid, counts in total.items()}


def _seconds(source_reports: Sequence[SourceTaskReport], slot_reports: Sequence[SlotReport]) -> dict[str, float]:
    """Seconds of all tasks together, by what they were spent on."""
    total = {"map": round(sum(r.seconds for r in source_reports), 4)}
    for report in slot_reports:
        for step, seconds in report.seconds.items():
            name = f"level {report.level} {step}"
            total[name] = round(total.get(name, 0) + seconds, 4)
    return total
