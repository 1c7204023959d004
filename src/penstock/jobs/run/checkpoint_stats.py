"""Builds the statistics of a checkpoint from the reports of the tasks of a committed batch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean

from penstock.engine.program.program import Program
from penstock.engine.slots.hot_keys import HotKeys
from penstock.engine.wire.frames import SlotReport, SourceTaskReport
from penstock.jobs.registry.checkpoint_stats import CheckpointStats, OperatorStats, SinkStats, SourceStats, TaskStats
from penstock.metrics.labels import operator_labels

Flows = Mapping[str, tuple[int, int]]  # elements in and out, by uid
_FULL = 0.98  # of the limit; with more records, a batch counts as full
_MAX_HOT_KEYS = 3


class SinkTimes:
    """Times and files of the sinks in one batch, by the number of the sink."""

    def __init__(self) -> None:
        self.writing: dict[int, float] = {}  # seconds of the slowest task
        self.committing: dict[int, float] = {}  # seconds
        self.files: dict[int, tuple[int, int]] = {}  # number and bytes

    def add_task(self, seconds: Mapping[int, float]) -> None:
        for number, task_seconds in seconds.items():
            self.writing[number] = max(self.writing.get(number, 0.0), task_seconds)


def build_checkpoint_stats(
    batch: int,
    program: Program,
    source_reports: Sequence[SourceTaskReport],
    slot_reports: Sequence[SlotReport],
    flows: Flows,
    sinks: SinkTimes,
    lags: Mapping[int, int | None],
    limits: Mapping[int, int | None],
) -> CheckpointStats:
    """Builds the statistics of a batch, without the timings of Spark, which are known later."""
    names = operator_labels({uid: name for _, uid, name in program.components()})
    tasks = [*map(_source_task, source_reports), *map(_slot_task, slot_reports)]
    return CheckpointStats(
        batch,
        acknowledged_tasks=len(tasks),
        all_tasks=len(tasks),
        tasks=tasks,
        operators=_operators(names, source_reports, slot_reports, flows),
        sources=_sources(program, names, source_reports, slot_reports, lags, limits),
        sinks=_sinks(program, names, flows, sinks),
    )


def _source_task(report: SourceTaskReport) -> TaskStats:
    seconds = round(report.seconds, 4)
    return TaskStats(0, report.subtask, report.started_at, report.records, run=seconds, worker=report.worker)


def _slot_task(report: SlotReport) -> TaskStats:
    seconds = report.seconds
    return TaskStats(
        report.level,
        report.slot,
        report.started_at,
        sum(report.records.values()),
        round(seconds.get("read", 0.0) + seconds.get("catch up", 0.0), 4),
        seconds.get("run", 0.0),
        seconds.get("commit", 0.0),
        report.state_bytes,
        report.delta_bytes,
        report.worker,
        report.state_log_bytes,
        round(report.cpu_seconds, 4),
        round(report.cpu_wait, 4),
    )


def _operators(
    names: Mapping[str, str],
    source_reports: Sequence[SourceTaskReport],
    slot_reports: Sequence[SlotReport],
    flows: Flows,
) -> list[OperatorStats]:
    """The operators that processed elements in this batch."""
    stats: dict[str, OperatorStats] = {}
    records_by_task: dict[str, list[int]] = {}
    tasks = [
        *((0, report.operator_seconds, report.flows) for report in source_reports),
        *((report.level, report.operator_seconds, report.flows) for report in slot_reports),
    ]
    for level, operator_seconds, task_flows in tasks:
        for uid, seconds in operator_seconds.items():
            operator = stats.setdefault(uid, OperatorStats(uid, names.get(uid, uid), level))
            operator.seconds = round(operator.seconds + seconds, 4)
            operator.slowest = max(operator.slowest, round(seconds, 4))
            records_by_task.setdefault(uid, []).append(task_flows.get(uid, (0, 0))[0])
    _add_state_changes(stats, slot_reports)
    for uid, operator in stats.items():
        operator.records, operator.out = flows.get(uid, (0, 0))
        mean = fmean(records_by_task[uid])
        operator.skew = round(max(records_by_task[uid]) / mean, 2) if mean else 1.0
        operator.hot = _hot_keys(uid, slot_reports, operator.records)
    return list(stats.values())


def _add_state_changes(stats: Mapping[str, OperatorStats], slot_reports: Sequence[SlotReport]) -> None:
    """Adds changed entries and watermarks. If a level has one operator, all bytes written belong to it."""
    for report in slot_reports:
        for uid, (entries, size) in report.state_changes.items():
            if (operator := stats.get(uid)) is not None:
                operator.entries += entries
                operator.written_bytes += size if len(report.operator_seconds) > 1 and size else report.delta_bytes
        for uid, watermark in report.watermarks.items():
            if uid in stats:
                stats[uid].watermark = watermark


def _hot_keys(uid: str, slot_reports: Sequence[SlotReport], records: int) -> HotKeys:
    """The most frequent keys of all slots, with their share of all elements."""
    if not records:
        return []
    keys = [
        (key, round(share * report.records.get(uid, 0) / records, 3))
        for report in slot_reports
        for key, share in report.hot_keys.get(uid, ())
    ]
    return sorted(keys, key=lambda hot: -hot[1])[:_MAX_HOT_KEYS]


def _sources(
    program: Program,
    names: Mapping[str, str],
    source_reports: Sequence[SourceTaskReport],
    slot_reports: Sequence[SlotReport],
    lags: Mapping[int, int | None],
    limits: Mapping[int, int | None],
) -> list[SourceStats]:
    slowest = {uid: split for r in slot_reports for uid, split in r.slowest_splits.items()}
    stats = []
    for source in program.sources:
        reports = [r for r in source_reports if r.source_number == source.number]
        records, limit = sum(r.records for r in reports), limits.get(source.number)
        part = SourceStats(
            source.uid,
            names.get(source.uid, source.name),
            records,
            max((r.read_seconds for r in reports), default=0.0),
            lags.get(source.number),
            bool(limit and records >= limit * _FULL),
            source.source.bounded,
        )
        if source.uid in slowest:
            part.split, part.mark, part.highest = slowest[source.uid]
        stats.append(part)
    return stats


def _sinks(program: Program, names: Mapping[str, str], flows: Flows, times: SinkTimes) -> list[SinkStats]:
    return [
        SinkStats(
            uid,
            names.get(uid, uid),
            flows.get(uid, (0, 0))[0],
            round(times.writing.get(number, 0.0), 4),
            round(times.committing.get(number, 0.0), 4),
            *times.files.get(number, (0, 0)),
        )
        for number, uid in enumerate(program.sink_uids)
    ]
