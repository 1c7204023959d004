"""Collects what the batches of a job report, for its result and for the registry."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Mapping
from typing import Any

import msgspec

from penstock.engine.host.reports import add_flows, warn_unread_dead_letters
from penstock.engine.program.program import Program
from penstock.jobs.registry.batch_report import BatchReport, RecordCounts
from penstock.jobs.registry.checkpoint_stats import CheckpointStats, SparkTimings
from penstock.jobs.run.batch_report import build_batch_report
from penstock.jobs.run.checkpoint_stats import SinkTimes, build_checkpoint_stats
from penstock.jobs.run.run_totals import RunTotals, add_counts
from penstock.local.executor import BatchResult
from penstock.metrics import JobMetrics
from penstock.metrics.values import MetricsDelta

_RECENT = 1000  # batches in the result of a job
_STATS_INTERVAL = 0.1  # seconds between two batches whose statistics are stored; there may be hundreds per second


class BatchReporter:
    """The reports of one job. The thread of the job adds batches, the thread of its run takes the reports."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._lock = threading.Lock()
        self.totals = RunTotals()
        self.metrics = JobMetrics()
        self.last: BatchReport | None = None
        self._recent: deque[tuple[BatchReport, float]] = deque(maxlen=_RECENT)  # with seconds
        self._pending: BatchReport | None = None  # the sum of all batches that were not taken yet
        self._checkpoints: list[CheckpointStats] = []
        self._timings: dict[int, SparkTimings] = {}
        self._millis: dict[int, int] = {}
        self._stats_at = 0.0
        self._warned: set[str] = set()

    def add(
        self,
        result: BatchResult,
        wakeups: list[int],
        *,
        began: float,
        committing: Mapping[int, float],
        log_bytes: int,
        lags: Mapping[int, int | None],
        limits: Mapping[int, int | None],
        always: bool = False,
    ) -> CheckpointStats | None:
        """Adds a committed batch. `began` is its start, in seconds since 1970.

        Returns its statistics, which are computed a few times per second, or `always`.
        """
        program, source_reports, slot_reports = self._program, result.source_reports, result.slot_reports
        if slot_reports:
            slot_reports[0].state_log_bytes = log_bytes  # one log has the changes of all slots
        report = build_batch_report(
            result.batch, program, source_reports, slot_reports, result.records_written, wakeups
        )
        report.processing_time = report.processing_time or result.timestamp
        seconds = time.time() - began
        metrics: list[tuple[int, MetricsDelta]] = [(r.subtask, r.metrics) for r in source_reports]
        with self._lock:
            self.last = report
            self.totals.add(report)
            self.metrics.add(metrics + [(r.slot, r.metrics) for r in slot_reports])
            self._recent.append((report, seconds))
            self._pending = report if self._pending is None else merge_reports(self._pending, report)
            self._millis[result.batch] = round(seconds * 1000)
            self._millis.pop(result.batch - _RECENT, None)
        now = time.monotonic()
        if program.batch_mode or (now - self._stats_at < _STATS_INTERVAL and not always):
            return None
        self._stats_at = now
        times = SinkTimes()
        times.add_task(result.write_seconds)
        times.committing = dict(committing)
        checkpoint = build_checkpoint_stats(
            result.batch, program, source_reports, slot_reports, report.flows, times, lags, limits
        )
        checkpoint.measured = SparkTimings(began, round(seconds, 4), tasks=round(seconds, 4))
        with self._lock:
            self._checkpoints.append(checkpoint)
            self._timings[result.batch] = checkpoint.measured
        return checkpoint

    def warn_unread_dead_letters(self) -> None:
        """Warns once per operator whose dead letters no stream reads."""
        if self.totals.unread_dead_letters:
            warn_unread_dead_letters(self.totals.unread_dead_letters, self._warned)

    def take_reports(self) -> list[BatchReport]:
        """Returns the sum of the batches since the last call, as one report."""
        with self._lock:
            pending, self._pending = self._pending, None
        return [] if pending is None else [pending]

    def take_checkpoints(self) -> list[CheckpointStats]:
        with self._lock:
            checkpoints, self._checkpoints = self._checkpoints, []
        return checkpoints

    def take_timings(self) -> dict[int, SparkTimings]:
        with self._lock:
            timings, self._timings = self._timings, {}
        return timings

    def batch_millis(self) -> dict[int, int]:
        with self._lock:
            return dict(self._millis)

    def latest(self) -> list[dict[str, Any]]:
        """Returns the reports of the last batches, for the result of the job."""
        with self._lock:
            recent = list(self._recent)
        return [{**r.to_dict(), "millis": {"triggerExecution": round(seconds * 1000)}} for r, seconds in recent]


def merge_reports(total: BatchReport, new: BatchReport) -> BatchReport:
    """Returns a report of several batches: the sums of their counts, and the clocks of the last one.

    >>> merged = merge_reports(BatchReport(3, records={"a": 1}), BatchReport(4, records={"a": 2}))
    >>> merged.batch, merged.batches, merged.records
    (4, 2, {'a': 3})
    """
    merged = msgspec.structs.replace(new, batches=total.batches + new.batches)
    for name in (
        "records",
        "late",
        "dead_letters",
        "unread_dead_letters",
        "skipped",
        "records_read",
        "records_written",
    ):
        counts = dict(getattr(total, name))
        add_counts(counts, getattr(new, name))
        setattr(merged, name, counts)
    flows: dict[str, tuple[int, int]] = {uid: (c.records_in, c.records_out) for uid, c in total.flows.items()}
    add_flows(flows, new.flows)
    merged.flows = {uid: RecordCounts(*counts) for uid, counts in flows.items()}
    merged.watermarks = {**total.watermarks, **new.watermarks}
    merged.delta_bytes = total.delta_bytes + new.delta_bytes
    return merged
