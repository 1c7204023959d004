"""Rules for workers that are stalled or slow, and for checkpoints that fail."""

from __future__ import annotations

from statistics import fmean, median

from penstock.jobs.diagnosis.evidence import MOSTLY, Evidence
from penstock.jobs.diagnosis.finding import LARGE_SHARE, Finding, task_name
from penstock.jobs.diagnosis.machine import overloaded_in_progress
from penstock.jobs.registry.checkpoint_stats import CheckpointStats, TaskStats
from penstock.units import format_latency

STALLED = 10.0  # seconds in progress,
STALLED_FACTOR = 4.0  # and so many times the slowest of the last checkpoints
SLOW_WORKER = 3.0  # times what the other tasks of a level need for an element


def stalled_worker(e: Evidence) -> list[Finding]:
    """A checkpoint waits for a few tasks while the others are done, or one worker is always much slower."""
    c = e.current
    if c is None or not c.waits_for or overloaded_in_progress(e):
        return _slow_worker(e)
    slowest = max((d.seconds for d in e.completed), default=0.0)
    elapsed = e.now - c.triggered
    if elapsed < max(STALLED, STALLED_FACTOR * slowest):
        return _slow_worker(e)
    tasks = ", ".join(task_name(u.level, u.slot) for u in c.waits_for[:5])
    hosts = ", ".join(sorted({u.host for u in c.waits_for}))
    workers = sorted({w for u in c.waits_for if (w := _last_worker(e, u.level, u.slot))})
    last = f"; its last worker was {', '.join(workers)}" if workers else ""
    return [
        Finding(
            "stalled-worker",
            f"A worker is stalled: checkpoint {c.id} waits for {tasks}",
            c.triggered,
            [
                f"checkpoint {c.id} has been in progress for {elapsed:.0f} s; the last ones took at most {format_latency(slowest)}",
                f"{c.acknowledged_tasks} of {c.all_tasks} tasks are done; {tasks} on {hosts} "
                f"{'is' if len(c.waits_for) == 1 else 'are'} not{last}",
            ],
            [
                "Check that process: 'py-spy dump --pid PID' shows where a function waits, 'top' whether it is stopped or swapped.",
                "Set a timeout for calls of services. You can kill a stalled worker: its task then runs again elsewhere.",
            ],
            1.0,
        )
    ]


def _slow_worker(e: Evidence) -> list[Finding]:
    """One worker needs much longer for an element than the other tasks of its level, in nearly all checkpoints."""
    slow: dict[str, list[tuple[CheckpointStats, float]]] = {}
    for c in e.completed:
        for tasks in c.levels():
            slowest, factor = _slowest_task(tasks)
            if slowest is None or not slowest.worker:
                continue
            if factor >= SLOW_WORKER and slowest.run >= LARGE_SHARE * c.seconds:
                slow.setdefault(slowest.worker, []).append((c, factor))
    worker, cases = max(slow.items(), key=lambda item: len(item[1]), default=("", []))
    if not worker or not e.enough or len(cases) < MOSTLY * len(e.completed):
        return []
    return [
        Finding(
            "stalled-worker",
            f"Worker {worker} is much slower than the others",
            cases[0][0].triggered,
            [
                f"in {len(cases)} of {len(e.completed)} checkpoints it needed {median(f for _, f in cases):.1f} times as long "
                "for an element as the other tasks of its level"
            ],
            ["Check its machine: other load, a failing disk, swapping. Or restart that executor."],
            0.9,
        )
    ]


def _slowest_task(tasks: list[TaskStats]) -> tuple[TaskStats | None, float]:
    """The task that needs longest for an element, and how many times as long as the mean of the others."""
    busy = [t for t in tasks if t.records]
    if len(busy) < 2:
        return None, 0.0
    slowest = max(busy, key=lambda t: t.run / t.records)
    others = fmean(t.run / t.records for t in busy if t is not slowest)
    return slowest, slowest.run / slowest.records / others if others else 0.0


def _last_worker(e: Evidence, level: int, slot: int) -> str:
    tasks = [t for c in reversed(e.completed) for t in c.tasks if (t.level, t.slot) == (level, slot)]
    return tasks[0].worker if tasks else ""


def failing(e: Evidence) -> list[Finding]:
    """Checkpoints that failed recently."""
    if not e.failed:
        return []
    last = e.failed[-1]
    return [
        Finding(
            "failing-checkpoints",
            f"Checkpoints fail: {len(e.failed)} of the last {len(e.failed) + len(e.completed)}",
            e.failed[0].triggered,
            [f"checkpoint {last.id}: {last.reason.splitlines()[0] if last.reason else 'no reason is known'}"],
            [
                "'penstock logs JOB' shows the complete error. Committed batches are safe, and the failed batch runs again."
            ],
            1.0,
        )
    ]
