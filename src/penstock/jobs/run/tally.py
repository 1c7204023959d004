"""Sums up batch reports to the progress of a run."""

from __future__ import annotations

import time
from collections.abc import Mapping

from penstock.jobs.registry.batch_report import BatchReport, RecordCounts
from penstock.jobs.registry.progress import SINK, SOURCE, BatchProgress, OperatorProgress, Progress

_RECENT = 20  # batches
_WINDOW = 10.0  # seconds over which rates are computed


class Tally:
    """Computes the progress of a run from its batch reports.

    >>> tally = Tally([OperatorProgress("s", "numbers", "source"), OperatorProgress("print", "print", "sink")], now=4.0)
    >>> report = BatchReport(0, flows={"s": RecordCounts(0, 6), "print": RecordCounts(4, 0)})
    >>> tally.add(report, now=6.0)
    >>> tally.progress.read, tally.progress.written, tally.progress.operators[0].out_rate
    (6, 4, 3.0)
    """

    def __init__(self, operators: list[OperatorProgress], now: float | None = None) -> None:
        self.progress = Progress(operators=operators)
        self._history = [(_default_now(now), [(0, 0) for _ in operators])]

    def add(self, report: BatchReport, now: float | None = None) -> None:
        """Adds the report of one more batch."""
        progress, ended = self.progress, _default_now(now)
        read, written = self._count(report)
        late = sum(report.late.values())
        progress.batches += report.batches
        progress.read += read
        progress.written += written
        progress.late += late
        progress.dead += sum(report.dead_letters.values())
        progress.skipped += sum(report.skipped.values())
        progress.state_bytes, progress.state_log_bytes = report.state_bytes, report.state_log_bytes
        progress.watermark = min((w for o in progress.operators if (w := o.watermark) is not None), default=None)
        progress.recent.append(
            BatchProgress(
                report.batch,
                ended,
                read,
                written,
                late,
                report.state_bytes,
                state_log_bytes=report.state_log_bytes,
            )
        )
        del progress.recent[:-_RECENT]
        self._history.append((ended, [(o.records_in, o.records_out) for o in progress.operators]))
        self.refresh(ended)

    def _count(self, report: BatchReport) -> tuple[int, int]:
        read = written = 0
        for operator in self.progress.operators:
            new_in, new_out = report.flows.get(operator.uid, RecordCounts())
            operator.records_in += new_in
            operator.records_out += new_out
            operator.late += report.late.get(operator.uid, 0)
            operator.dead += report.dead_letters.get(operator.uid, 0)
            operator.skipped += report.skipped.get(operator.uid, 0)
            operator.watermark = report.watermarks.get(operator.uid, operator.watermark)
            read += new_out if operator.kind == SOURCE else 0
            written += new_in if operator.kind == SINK else 0
        return read, written

    def set_batch_millis(self, millis: Mapping[int, int]) -> None:
        """Sets the durations of batches, by number."""
        for batch in self.progress.recent:
            batch.millis = millis.get(batch.batch, batch.millis)

    def refresh(self, now: float | None = None) -> None:
        """Computes the rates again. Without new batches they fall to zero."""
        now = _default_now(now)
        history = self._history
        while len(history) > 2 and history[1][0] <= now - _WINDOW:
            del history[0]
        (first, before), (last, after) = history[0], history[-1]
        # A batch that takes longer than the window has a rate too, until the next one ends.
        until = last if now - last < _WINDOW else now
        seconds = max(until - first, 0.001)
        for operator, (old_in, old_out), (new_in, new_out) in zip(self.progress.operators, before, after, strict=True):
            operator.in_rate = round((new_in - old_in) / seconds, 1)
            operator.out_rate = round((new_out - old_out) / seconds, 1)
        self.progress.read_rate = round(sum(o.out_rate for o in self.progress.operators if o.kind == SOURCE), 1)


def _default_now(now: float | None) -> float:
    return time.time() if now is None else now
