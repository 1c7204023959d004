"""Rule for machines that have too little CPU time for the job. Everything is slow then, also access to storage."""

from __future__ import annotations

from penstock.jobs.diagnosis.evidence import Evidence
from penstock.jobs.diagnosis.finding import Finding, lag_evidence
from penstock.jobs.registry.checkpoint_stats import CheckpointStats
from penstock.jobs.registry.cpu_time import CpuTime
from penstock.units import format_latency

OVERLOADED = 0.5  # the share of the time in which tasks were ready to compute that they waited for a CPU
MIN_READY = 0.1  # seconds in which tasks were ready to compute; with less, the share says little
SLOW_BATCH = 1.0  # seconds; a batch that is shorter needs no explanation unless the job lags behind
IN_PROGRESS = 10.0  # seconds after which a checkpoint in progress is examined


def cpu_time(e: Evidence) -> CpuTime:
    """The CPU time of the tasks of all examined checkpoints."""
    tasks = [t for c in e.completed for t in c.tasks]
    return CpuTime(sum(t.cpu_seconds for t in tasks), sum(t.cpu_wait for t in tasks))


def wait_share(e: Evidence) -> float:
    """The share of the time in which tasks were ready to compute that they waited for a CPU; 0 if it is not known."""
    time = cpu_time(e)
    return time.wait_share if time.running + time.waiting >= MIN_READY else 0.0


def overloaded_machine(e: Evidence) -> list[Finding]:
    """Tasks wait for a CPU longer than they compute, and the job is slow."""
    is_slow = e.lagging_source() is not None or e.median(lambda c: c.seconds) >= SLOW_BATCH
    if wait_share(e) < OVERLOADED or not is_slow:
        return []
    time, duration = cpu_time(e), format_latency(e.median(lambda c: c.seconds))
    since = e.since(lambda c: _time_of(c).wait_share >= OVERLOADED)
    details = [f"a checkpoint takes {duration}; all its parts are affected, also storage and logs", *lag_evidence(e)]
    return [_finding(since, time, "tasks", details)]


def overloaded_in_progress(e: Evidence) -> list[Finding]:
    """The checkpoint in progress takes long, and Spark waits for a CPU longer than it computes."""
    c = e.current
    if c is None or e.now - c.triggered < IN_PROGRESS:
        return []
    time = CpuTime(c.cpu_seconds, c.cpu_wait)
    if time.wait_share < OVERLOADED or time.running + time.waiting < MIN_READY:
        return []
    details = [f"checkpoint {c.id} has been in progress for {e.now - c.triggered:.0f} s"]
    return [_finding(c.triggered, time, "threads of Spark", details)]


def _time_of(c: CheckpointStats) -> CpuTime:
    return CpuTime(sum(t.cpu_seconds for t in c.tasks), sum(t.cpu_wait for t in c.tasks))


def _finding(since: float, time: CpuTime, who: str, details: list[str]) -> Finding:
    return Finding(
        "overloaded-machine",
        "The machine has too little CPU time for the job",
        since,
        [
            f"{who} were ready to compute for {format_latency(time.running + time.waiting)}, and waited for a CPU for "
            f"{time.wait_share:.0%} of it",
            *details,
        ],
        [
            "Stop other programs on the machine; 'top' shows them. In a container, increase its CPU limit.",
            "Use a machine with more CPUs, or a parallelism that is not greater than the number of CPUs.",
        ],
        1.0,
    )
