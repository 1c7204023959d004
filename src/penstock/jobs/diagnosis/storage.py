"""Rules for the cost of state: slow storage, too much state, and checkpoints that are too frequent."""

from __future__ import annotations

from penstock.jobs.diagnosis.evidence import Evidence
from penstock.jobs.diagnosis.finding import Finding, lag_evidence
from penstock.jobs.diagnosis.machine import overloaded_machine, wait_share
from penstock.jobs.registry.checkpoint_stats import CheckpointStats
from penstock.units import format_latency, format_size

SLOW_LOGS = 0.5  # seconds for the two small files that Spark writes per batch
SLOW_STORE = 5e6  # bytes per second below which storage counts as slow
MUCH_WRITTEN = 2e6  # bytes of state per checkpoint
STORE_SHARE = 0.3  # the share of the duration of a checkpoint that state and logs need
HIGH_OVERHEAD = 0.5  # the share of the duration that does not depend on the number of elements


def lost_storage(e: Evidence) -> list[Finding]:
    """The job reports that it waits for its checkpoint storage."""
    if not e.waits:
        return []
    advice = [
        "Repair the storage: free space, permissions, network. The job then continues automatically, and no data is lost.",
        "execution.checkpointing.store.timeout limits how long it waits.",
    ]
    since = e.failed[-1].triggered if e.failed else e.now
    title = "The job waits for its checkpoint storage"
    return [Finding("lost-storage", title, since, [f"it {e.waits}"], advice, 1.0)]


def slow_storage(e: Evidence) -> list[Finding]:
    """The checkpoint storage needs long for little data.

    On a machine with too few CPUs, the time includes waiting for a CPU, which is not counted.
    """
    share, written = e.share(lambda c: c.measured.logging + c.storing), e.median(lambda c: c.written_bytes)
    logs, store = e.median(lambda c: c.measured.logging), e.median(_store_commit)
    in_storage = 1 - wait_share(e)
    rate = written / max(e.median(lambda c: c.storing) * in_storage, 1e-6)
    slow_logs = logs * in_storage >= SLOW_LOGS
    slow_store = store * in_storage >= SLOW_LOGS and rate < SLOW_STORE
    if share < STORE_SHARE or not (slow_logs or slow_store):
        return []
    return [
        Finding(
            "slow-storage",
            "The checkpoint storage is slow",
            e.since(lambda c: c.measured.logging >= SLOW_LOGS or _store_commit(c) >= SLOW_LOGS),
            [
                f"two files of a few hundred bytes, Spark's logs of a batch, take {format_latency(logs)}",
                f"the commit of the state store takes {format_latency(store)} for {format_size(written, compact=True)}",
                f"that is {share:.0%} of the time",
                *lag_evidence(e),
            ],
            [
                "Move execution.checkpointing.dir to a faster or nearer file system.",
                "Make fewer checkpoints: a longer execution.trigger.interval, or execution.checkpointing.max-share.",
            ],
            share,
        )
    ]


def _store_commit(c: CheckpointStats) -> float:
    return sum(c.measured.storing)


def too_much_state(e: Evidence) -> list[Finding]:
    """Much state changes in each checkpoint, and writing it takes a large part of the time."""
    share, written = e.share(lambda c: c.storing), e.median(lambda c: c.written_bytes)
    if share < STORE_SHARE or written < MUCH_WRITTEN or slow_storage(e):
        return []
    storing = format_latency(e.median(lambda c: c.storing))
    evidence = [
        _written_evidence(e, written),
        f"reading and writing state takes {storing} per checkpoint, {share:.0%} of the time",
        _growth_evidence(e),
        *lag_evidence(e),
    ]
    advice = [
        "Keep less state: a time to live (StateTtlConfig), timers that clear state, smaller values.",
        "Keep collections in list or map state, which write only the changed entries. Value state writes the complete value.",
        "'penstock state stats JOB' shows the largest keys.",
    ]
    since = e.since(lambda c: c.storing >= STORE_SHARE * c.seconds)
    return [Finding("too-much-state", "The job writes too much state", since, evidence, advice, share)]


def _written_evidence(e: Evidence, written: float) -> str:
    text = f"each checkpoint writes {format_size(written, compact=True)} of state"
    if records := e.median(lambda c: c.records):
        text += f", {format_size(written / records, compact=True)} for an element read"
    largest = max((last for last, _ in e.operators()), key=lambda operator: operator.written_bytes, default=None)
    return f"{text}; most of it by '{largest.name}'" if largest is not None and largest.written_bytes else text


def _growth_evidence(e: Evidence) -> str:
    first, last = e.completed[0], e.completed[-1]
    growth = (last.state_bytes - first.state_bytes) / max(last.ended - first.triggered, 1.0)
    text = f"the state has {format_size(last.state_bytes, compact=True)}"
    return f"{text} and grows by {format_size(growth * 60, compact=True)} per minute" if growth > 0 else text


def short_interval(e: Evidence) -> list[Finding]:
    """Batches are so small or so frequent that most of the time is fixed overhead."""
    share = e.share(lambda c: c.overhead)
    interval = e.completed[-1].interval
    exceeded = interval > 0 and e.mostly(lambda c: c.seconds > c.interval)
    lagging = e.lagging_source()
    if share < HIGH_OVERHEAD or not (exceeded or lagging):
        return []
    if overloaded_machine(e) or slow_storage(e) or too_much_state(e):
        return []  # another rule explains why checkpoints are expensive
    overhead, duration = format_latency(e.median(lambda c: c.overhead)), format_latency(e.median(lambda c: c.seconds))
    work = format_latency(e.median(lambda c: c.work))
    evidence = [
        f"{share:.0%} of the time is fixed overhead of a checkpoint: {overhead} of {duration}",
        f"a checkpoint has {e.median(lambda c: c.records):,.0f} elements, which take {work}",
        *([f"the interval is {format_latency(interval)}, and a checkpoint takes longer than that"] if exceeded else []),
        *lag_evidence(e),
    ]
    advice = [
        "Increase execution.trigger.interval, or let the job adapt it: execution.checkpointing.max-share (for example 0.3).",
        *(["Read more per batch: records_per_batch of the source, or 'penstock limit JOB'."] if lagging else []),
    ]
    since = e.since(lambda c: c.overhead > c.work)
    return [Finding("short-interval", "Checkpoints are too frequent", since, evidence, advice, share)]
