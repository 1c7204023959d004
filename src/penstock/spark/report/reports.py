"""The reports of a run's batches: the last ones whole, all of them as totals.

A job may run for years, so reports stand in segments, and old segments are removed. A batch counts once, however often it is
run: after a restart it may be reported again.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from penstock.jobs.whole_file import write_whole

Report = dict[str, Any]  # what the router says of a batch
REPORTS_PER_SEGMENT = 5000
SUMMED = ("read", "records", "outputs", "late", "dead", "unread", "skipped")  # counts by source, operator or sink


class Reports:
    """The reports in a folder; one process adds, others read."""

    def __init__(self, folder: Path, per_segment: int = REPORTS_PER_SEGMENT) -> None:
        self._folder = folder
        self._per_segment = per_segment

    def add(self, report: Report) -> None:
        """Takes in the report of one more batch; one that was reported before is not counted again."""
        totals = self.totals()
        if report["batch"] <= totals["last"]:
            return
        segment = totals["batches"] // self._per_segment
        with open(self._segment(segment), "a", encoding="utf-8") as file:
            file.write(json.dumps(report) + "\n")
        with contextlib.suppress(FileNotFoundError):
            self._segment(segment - 2).unlink()
        totals["last"] = report["batch"]
        totals["batches"] += 1
        for name in SUMMED:
            for key, count in report.get(name, {}).items():
                counted = totals.setdefault(name, {})
                counted[key] = counted.get(key, 0) + count
        write_whole(self._folder / "totals", json.dumps(totals).encode())

    def totals(self) -> dict[str, Any]:
        """The sums of all batches so far; `batches` is their number, `last` the last one's id."""
        try:
            totals: dict[str, Any] = json.loads((self._folder / "totals").read_text())
        except OSError:
            return {"batches": 0, "last": -1, **{name: {} for name in SUMMED}}
        return totals

    def latest(self) -> list[Report]:
        """The last reports, at least those of one segment."""
        return ReportReader(self._folder).new()

    def _segment(self, number: int) -> Path:
        return segment_in(self._folder, number)


def segment_in(folder: Path, number: int) -> Path:
    return folder / f"reports-{number:06d}"


class ReportReader:
    """The reports of a run folder, each once, as they come."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._segment = -1  # the one that is being read
        self._position = 0

    def new(self) -> list[Report]:
        """The reports that came since the last call, unless their segments are gone already."""
        return [json.loads(line) for line in self._lines()]

    def _lines(self) -> Iterator[bytes]:
        for number in sorted(int(f.name.rpartition("-")[2]) for f in self._folder.glob("reports-*")):
            if number < self._segment:
                continue
            if number > self._segment:
                self._segment, self._position = number, 0
            try:
                with open(segment_in(self._folder, number), "rb") as file:
                    file.seek(self._position)
                    data = file.read()
            except FileNotFoundError:
                continue
            whole = data[: data.rfind(b"\n") + 1]  # the last line may be half written
            self._position += len(whole)
            yield from whole.splitlines()
