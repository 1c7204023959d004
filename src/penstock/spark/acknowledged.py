"""A committed batch as a checkpoint: what its tasks, operators, sources and sinks told, put together on the driver."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean

from penstock.engine.frames import Counted, Report
from penstock.engine.hot_keys import HotKeys
from penstock.engine.program import Program
from penstock.jobs.checkpoints import Checkpoint, OperatorPart, SinkPart, SourcePart, TaskFigures
from penstock.metrics.labels import labels

Flows = Mapping[str, tuple[int, int]]


class SinkWork:
    """What the sinks took in one batch."""

    def __init__(self) -> None:
        self.writing: dict[int, float] = {}  # of the slowest task
        self.committing: dict[int, float] = {}
        self.files: dict[int, tuple[int, int]] = {}  # how many, and their bytes

    def wrote(self, seconds: Mapping[int, float]) -> None:
        for number, spent in seconds.items():
            self.writing[number] = max(self.writing.get(number, 0.0), spent)


def acknowledged(
    batch: int,
    program: Program,
    read: Sequence[Counted],
    reports: Sequence[Report],
    flows: Flows,
    sinks: SinkWork,
    lags: Mapping[int, int | None],
    limits: Mapping[int, int | None],
) -> Checkpoint:
    """The checkpoint of a batch, as far as its tasks know it."""
    called = labels({uid: name for _, uid, name in program.parts()})
    tasks = [_source_task(c) for c in read] + [_slot_task(r) for r in reports]
    return Checkpoint(
        batch,
        acknowledged_tasks=len(tasks),
        all_tasks=len(tasks),
        tasks=tasks,
        operators=_operators(called, read, reports, flows),
        sources=_sources(program, called, read, reports, lags, limits),
        sinks=_sinks(program, called, flows, sinks),
    )


def _source_task(counted: Counted) -> TaskFigures:
    spent = round(counted.seconds, 4)
    return TaskFigures(0, counted.subtask, counted.began, counted.count, run=spent, worker=counted.worker)


def _slot_task(report: Report) -> TaskFigures:
    spent = report.seconds
    return TaskFigures(
        report.level,
        report.slot,
        report.began,
        sum(report.records.values()),
        round(spent.get("read", 0.0) + spent.get("catch up", 0.0), 4),
        spent.get("run", 0.0),
        spent.get("commit", 0.0),
        report.state_bytes,
        report.delta_bytes,
        report.worker,
    )


def _operators(
    called: Mapping[str, str], read: Sequence[Counted], reports: Sequence[Report], flows: Flows
) -> list[OperatorPart]:
    """Those that had work in this batch."""
    parts: dict[str, OperatorPart] = {}
    shares: dict[str, list[int]] = {}  # elements by slot
    works = [*((0, c.work, c.flows) for c in read), *((r.level, r.work, r.flows) for r in reports)]
    for level, work, entered in works:
        for uid, seconds in work.items():
            part = parts.setdefault(uid, OperatorPart(uid, called.get(uid, uid), level))
            part.seconds = round(part.seconds + seconds, 4)
            part.slowest = max(part.slowest, round(seconds, 4))
            shares.setdefault(uid, []).append(entered.get(uid, (0, 0))[0])
    for report in reports:
        for uid, (entries, size) in report.changed.items():
            if (changed := parts.get(uid)) is not None:
                changed.entries += entries
                changed.written_bytes += size if len(report.work) > 1 and size else report.delta_bytes
        for uid, watermark in report.watermarks.items():
            if uid in parts:
                parts[uid].watermark = watermark
    for uid, part in parts.items():
        part.records, part.out = flows.get(uid, (0, 0))
        mean = fmean(shares[uid])
        part.skew = round(max(shares[uid]) / mean, 2) if mean else 1.0
        part.hot = _hot(uid, reports, part.records)
    return list(parts.values())


def _hot(uid: str, reports: Sequence[Report], records: int) -> HotKeys:
    """The keys of all slots, by their share of all elements."""
    found = [
        (key, round(share * r.records.get(uid, 0) / records, 3))
        for r in reports
        for key, share in r.hot.get(uid, ())
        if records
    ]
    return sorted(found, key=lambda hot: -hot[1])[:3]


def _sources(
    program: Program,
    called: Mapping[str, str],
    read: Sequence[Counted],
    reports: Sequence[Report],
    lags: Mapping[int, int | None],
    limits: Mapping[int, int | None],
) -> list[SourcePart]:
    held = {uid: behind for r in reports for uid, behind in r.behind.items()}
    found = []
    for source in program.sources:
        mine = [c for c in read if c.source == source.number]
        records, limit = sum(c.count for c in mine), limits.get(source.number)
        part = SourcePart(
            source.uid,
            called.get(source.uid, source.name),
            records,
            max((c.reading for c in mine), default=0.0),
            lags.get(source.number),
            bool(limit and records >= limit * 0.98),
            source.source.bounded,
        )
        if source.uid in held:
            part.split, part.mark, part.highest = held[source.uid]
        found.append(part)
    return found


def _sinks(program: Program, called: Mapping[str, str], flows: Flows, work: SinkWork) -> list[SinkPart]:
    return [
        SinkPart(
            uid,
            called.get(uid, uid),
            flows.get(uid, (0, 0))[0],
            round(work.writing.get(number, 0.0), 4),
            round(work.committing.get(number, 0.0), 4),
            *work.files.get(number, (0, 0)),
        )
        for number, uid in enumerate(program.sink_uids)
    ]
