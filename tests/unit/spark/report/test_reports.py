"""Batch reports of a run are read once and counted once, and old ones are removed. Needs no JVM."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from penstock.jobs.registry.batch_report import BatchReport
from penstock.spark.report.reports import ReportReader, Reports, segment_file


def report(batch: int, read: int = 1, **more: Any) -> BatchReport:
    return BatchReport(batch, records_read={0: read}, records={"count-1": read}, **more)


def batch_numbers(reports: list[BatchReport]) -> list[int]:
    return [r.batch for r in reports]


def test_reports_are_read_once_and_only_when_complete(tmp_path: Path) -> None:
    reader = ReportReader(tmp_path)
    assert reader.read_new() == []
    segment_file(tmp_path, 0).write_text('{"batch": 0}\n{"ba')
    assert reader.read_new() == [BatchReport(0)]
    with open(segment_file(tmp_path, 0), "a", encoding="utf-8") as file:
        file.write('tch": 1}\n')
    assert reader.read_new() == [BatchReport(1)]
    assert reader.read_new() == []


def test_old_reports_are_removed_and_totals_stay(tmp_path: Path) -> None:
    reports = Reports(tmp_path, per_segment=10)
    for batch in range(95):
        reports.add(report(batch, read=batch))
    assert batch_numbers(reports.latest()) == list(range(80, 95))
    assert len(list(tmp_path.iterdir())) == 3  # two segments and the totals
    totals = reports.totals()
    assert (totals.batches, totals.last_batch) == (95, 94)
    assert totals.records_read == {0: sum(range(95))}
    assert totals.records == {"count-1": sum(range(95))}


def test_a_reader_continues_with_the_next_segment(tmp_path: Path) -> None:
    reports, reader, seen = Reports(tmp_path, per_segment=3), ReportReader(tmp_path), []
    for batch in range(20):
        reports.add(report(batch))
        if batch % 2:
            seen += batch_numbers(reader.read_new())
    assert seen == list(range(20))


def test_a_batch_that_runs_again_counts_once(tmp_path: Path) -> None:
    reports = Reports(tmp_path)
    for batch in (7, 8, 8, 9, 8):
        reports.add(report(batch, read=10, late={"window-1": 1}))
    assert batch_numbers(reports.latest()) == [7, 8, 9]
    assert reports.totals().records_read == {0: 30}
    assert reports.totals().late == {"window-1": 3}
