"""Workers that stand still or are much slower than others; checkpoints that fail."""

from __future__ import annotations

from statistics import fmean, median

from penstock.jobs.checkpoints import Checkpoint, TaskFigures
from penstock.jobs.diagnosis.evidence import CONSTANT, Evidence
from penstock.jobs.diagnosis.finding import LARGE_SHARE, Finding, span_of, task_name

STALLED = 10.0  # seconds in progress,
STALLED_FACTOR = 4.0  # and so many times the slowest of the last ones: something stands still
SLOW_WORKER = 3.0  # times what the other tasks of a level need for an element


def stalled_worker(e: Evidence) -> list[Finding]:
    """A checkpoint waits for a few tasks, while the others are done; or one worker is always much slower."""
    c = e.current
    if c is None or not c.waits_for:
        return _slow_worker(e)
    usual = max((d.seconds for d in e.completed), default=0.0)
    elapsed = e.now - c.triggered
    if elapsed < max(STALLED, STALLED_FACTOR * usual):
        return _slow_worker(e)
    names = ", ".join(task_name(u.level, u.slot) for u in c.waits_for[:5])
    hosts = ", ".join(sorted({u.host for u in c.waits_for}))
    workers = sorted({w for u in c.waits_for if (w := _last_worker(e, u.level, u.slot))})
    last = f"; its last worker was {', '.join(workers)}" if workers else ""
    return [
        Finding(
            "stalled-worker",
            f"A worker stands still: checkpoint {c.id} waits for {names}",
            c.triggered,
            [
                f"checkpoint {c.id} is in progress for {elapsed:.0f} s; the last ones took at most {span_of(usual)}",
                f"{c.acknowledged_tasks} of {c.all_tasks} tasks are done; {names} on {hosts} "
                f"{'is' if len(c.waits_for) == 1 else 'are'} not{last}",
            ],
            [
                "Look at that process (py-spy dump --pid PID shows where a function waits; top, whether it is stopped or swapped).",
                "Give calls of services a timeout. A worker that cannot be helped may be killed: its task runs again elsewhere.",
            ],
            1.0,
        )
    ]


def _slow_worker(e: Evidence) -> list[Finding]:
    """One process that needs much longer for an element than the others of its level, again and again."""
    slow: dict[str, list[tuple[Checkpoint, float]]] = {}
    for c in e.completed:
        for tasks in c.levels():
            worst, factor = _outlier(tasks)
            if worst is not None and worst.worker and factor >= SLOW_WORKER and worst.run >= LARGE_SHARE * c.seconds:
                slow.setdefault(worst.worker, []).append((c, factor))
    found = max(slow.items(), key=lambda item: len(item[1]), default=None)
    if found is None or not e.enough or len(found[1]) < CONSTANT * len(e.completed):
        return []
    worker, cases = found
    return [
        Finding(
            "stalled-worker",
            f"Worker {worker} is much slower than the others",
            cases[0][0].triggered,
            [
                f"in {len(cases)} of {len(e.completed)} checkpoints it needed {median(f for _, f in cases):.1f} times as long "
                "for an element as the other tasks of its level"
            ],
            ["Look at its machine: another load, a disk that fails, memory that is swapped. Or restart that executor."],
            0.9,
        )
    ]


def _outlier(tasks: list[TaskFigures]) -> tuple[TaskFigures | None, float]:
    busy = [t for t in tasks if t.records]
    if len(busy) < 2:
        return None, 0.0
    worst = max(busy, key=lambda t: t.run / t.records)
    others = fmean(t.run / t.records for t in busy if t is not worst)
    return worst, worst.run / worst.records / others if others else 0.0


def _last_worker(e: Evidence, level: int, slot: int) -> str:
    tasks = [t for c in reversed(e.completed) for t in c.tasks if (t.level, t.slot) == (level, slot)]
    return tasks[0].worker if tasks else ""


def failing(e: Evidence) -> list[Finding]:
    """Checkpoints that fail."""
    if not e.failed:
        return []
    last = e.failed[-1]
    return [
        Finding(
            "failing-checkpoints",
            f"Checkpoints fail: {len(e.failed)} of the last {len(e.failed) + len(e.completed)}",
            e.failed[0].triggered,
            [f"checkpoint {last.id}: {last.reason.splitlines()[0] if last.reason else 'no reason was told'}"],
            ["'penstock logs JOB' shows all of the error. What was committed before is safe; the batch runs again."],
            1.0,
        )
    ]
