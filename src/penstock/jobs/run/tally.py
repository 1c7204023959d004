"""Adds up the reports that the router leaves of each batch."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from penstock.jobs.progress import SINK, SOURCE, BatchFigures, OperatorFigures, Progress

Report = dict[str, Any]  # what the router says of a batch

_RECENT = 20
_WINDOW = 10.0  # seconds that rates are taken over


class Tally:
    """Makes the progress of a run.

    >>> tally = Tally([OperatorFigures("s", "numbers", "source"), OperatorFigures("print", "print", "sink")], now=4.0)
    >>> report = {"batch": 0, "flows": {"s": [0, 6], "print": [4, 0]}, "watermarks": {}, "late": {}, "state_bytes": 0}
    >>> tally.add(report, now=6.0)
    >>> tally.progress.read, tally.progress.written, tally.progress.operators[0].out_rate
    (6, 4, 3.0)
    """

    def __init__(self, operators: list[OperatorFigures], now: float | None = None) -> None:
        self.progress = Progress(operators=operators)
        self._history = [(_or_now(now), [(0, 0) for _ in operators])]

    def add(self, report: Report, now: float | None = None) -> None:
        """Takes in the report of one more batch."""
        progress, ended = self.progress, _or_now(now)
        read, written = self._count(report)
        late = sum(report["late"].values())
        progress.batches += 1
        progress.read += read
        progress.written += written
        progress.late += late
        progress.dead += sum(report.get("dead", {}).values())
        progress.skipped += sum(report.get("skipped", {}).values())
        progress.state_bytes = report["state_bytes"]
        progress.watermark = min((w for o in progress.operators if (w := o.watermark) is not None), default=None)
        progress.recent.append(BatchFigures(report["batch"], ended, read, written, late, progress.state_bytes))
        del progress.recent[:-_RECENT]
        self._history.append((ended, [(o.records_in, o.records_out) for o in progress.operators]))
        self.refresh(ended)

    def _count(self, report: Report) -> tuple[int, int]:
        read = written = 0
        for operator in self.progress.operators:
            new_in, new_out = report["flows"].get(operator.uid, (0, 0))
            operator.records_in += new_in
            operator.records_out += new_out
            operator.late += report["late"].get(operator.uid, 0)
            operator.dead += report.get("dead", {}).get(operator.uid, 0)
            operator.skipped += report.get("skipped", {}).get(operator.uid, 0)
            operator.watermark = report["watermarks"].get(operator.uid, operator.watermark)
            read += new_out if operator.kind == SOURCE else 0
            written += new_in if operator.kind == SINK else 0
        return read, written

    def measured(self, millis: Mapping[int, int]) -> None:
        """How long batches took, by number."""
        for batch in self.progress.recent:
            batch.millis = millis.get(batch.batch, batch.millis)

    def refresh(self, now: float | None = None) -> None:
        """Takes the rates anew: when nothing comes any more they go down to zero."""
        now = _or_now(now)
        history = self._history
        while len(history) > 2 and history[1][0] <= now - _WINDOW:
            del history[0]
        (first, before), (last, after) = history[0], history[-1]
        # A batch that takes longer than the window has a rate all the same: until the next one ends.
        until = last if now - last < _WINDOW else now
        seconds = max(until - first, 0.001)
        for operator, (old_in, old_out), (new_in, new_out) in zip(self.progress.operators, before, after, strict=True):
            operator.in_rate = round((new_in - old_in) / seconds, 1)
            operator.out_rate = round((new_out - old_out) / seconds, 1)
        self.progress.read_rate = round(sum(o.out_rate for o in self.progress.operators if o.kind == SOURCE), 1)


def _or_now(now: float | None) -> float:
    return time.time() if now is None else now
