"""The reports of a run: read once, counted once, and not kept for ever. Needs no JVM."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from penstock.spark.reports import ReportReader, Reports, segment_in


def report(batch: int, read: int = 1, **more: Any) -> dict[str, Any]:
    return {"batch": batch, "read": {"0": read}, "records": {"count-1": read}, "outputs": {}, "late": {}, **more}


def numbers(reports: list[dict[str, Any]]) -> list[int]:
    return [r["batch"] for r in reports]


def test_reports_are_read_once_and_whole(tmp_path: Path) -> None:
    reader = ReportReader(tmp_path)
    assert reader.new() == []
    segment_in(tmp_path, 0).write_text('{"batch": 0}\n{"ba')
    assert reader.new() == [{"batch": 0}]
    with open(segment_in(tmp_path, 0), "a", encoding="utf-8") as file:
        file.write('tch": 1}\n')
    assert reader.new() == [{"batch": 1}]
    assert reader.new() == []


def test_old_reports_go_and_totals_stay(tmp_path: Path) -> None:
    reports = Reports(tmp_path, per_segment=10)
    for batch in range(95):
        reports.add(report(batch, read=batch))
    assert numbers(reports.latest()) == list(range(80, 95))
    assert len(list(tmp_path.iterdir())) == 3  # two segments and the totals
    totals = reports.totals()
    assert (totals["batches"], totals["last"]) == (95, 94)
    assert totals["read"] == {"0": sum(range(95))}
    assert totals["records"] == {"count-1": sum(range(95))}


def test_a_reader_follows_from_segment_to_segment(tmp_path: Path) -> None:
    reports, reader, seen = Reports(tmp_path, per_segment=3), ReportReader(tmp_path), []
    for batch in range(20):
        reports.add(report(batch))
        if batch % 2:
            seen += numbers(reader.new())
    assert seen == list(range(20))


def test_a_batch_that_runs_again_counts_once(tmp_path: Path) -> None:
    reports = Reports(tmp_path)
    for batch in (7, 8, 8, 9, 8):
        reports.add(report(batch, read=10, late={"window-1": 1}))
    assert numbers(reports.latest()) == [7, 8, 9]
    assert reports.totals()["read"] == {"0": 30}
    assert reports.totals()["late"] == {"window-1": 3}
