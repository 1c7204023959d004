"""The batch reports of a run: the last reports in full, and the totals of all batches.

A job may run for years, so reports are stored in segments, and old segments are removed. A batch is counted once, although a
restart may report it again.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import msgspec

from penstock.atomic_file import write_atomic
from penstock.jobs.registry.batch_report import BatchReport
from penstock.jobs.run.run_totals import RunTotals

REPORTS_PER_SEGMENT = 5000

_encode_line = msgspec.json.Encoder().encode  # one line per report: a partly written report is recognised
_decode_line = msgspec.json.Decoder(BatchReport).decode


class Reports:
    """The batch reports in a run folder. One process adds reports, others read them."""

    def __init__(self, folder: Path, per_segment: int = REPORTS_PER_SEGMENT) -> None:
        self._folder = folder
        self._per_segment = per_segment

    def add(self, report: BatchReport) -> None:
        """Stores the report of one more batch. A batch that was reported before is ignored."""
        totals = self.totals()
        if report.batch <= totals.last_batch:
            return
        segment = totals.batches // self._per_segment
        with open(self._segment(segment), "ab") as file:
            file.write(_encode_line(report) + b"\n")
        with contextlib.suppress(FileNotFoundError):
            self._segment(segment - 2).unlink()
        totals.add(report)
        write_atomic(self._folder / "totals", msgspec.msgpack.encode(totals), durable=False)

    def totals(self) -> RunTotals:
        """Returns the sums of all batches so far."""
        try:
            return msgspec.msgpack.decode((self._folder / "totals").read_bytes(), type=RunTotals)
        except OSError:
            return RunTotals()

    def latest(self) -> list[BatchReport]:
        """Returns the last reports, at least those of one segment."""
        return ReportReader(self._folder).read_new()

    def _segment(self, number: int) -> Path:
        return segment_file(self._folder, number)


def segment_file(folder: Path, number: int) -> Path:
    return folder / f"reports-{number:06d}"


class ReportReader:
    """Reads the reports of a run folder, each once, while another process adds more."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._segment = -1  # the segment that is being read
        self._position = 0

    def read_new(self) -> list[BatchReport]:
        """Returns the reports added since the last call, without those whose segments were removed meanwhile."""
        return [_decode_line(line) for line in self._read_lines()]

    def _read_lines(self) -> Iterator[bytes]:
        for number in sorted(int(f.name.rpartition("-")[2]) for f in self._folder.glob("reports-*")):
            if number < self._segment:
                continue
            if number > self._segment:
                self._segment, self._position = number, 0
            try:
                with open(segment_file(self._folder, number), "rb") as file:
                    file.seek(self._position)
                    data = file.read()
            except FileNotFoundError:
                continue
            lines = data[: data.rfind(b"\n") + 1]  # the last line may be partly written
            self._position += len(lines)
            yield from lines.splitlines()
