"""What it costs to keep state: a slow store, too much of it, checkpoints that come too often."""

from __future__ import annotations

from penstock.jobs.diagnosis.evidence import Evidence
from penstock.jobs.diagnosis.finding import Finding, falls_behind, size_of, span_of

SLOW_LOGS = 0.5  # seconds for the two small files that Spark writes for a batch
SLOW_STORE = 5e6  # bytes a second that a store should take at least
MUCH_WRITTEN = 2e6  # bytes of state a checkpoint
STORE_SHARE = 0.3  # of a checkpoint's time, for state and logs
HIGH_OVERHEAD = 0.5  # of the time from one checkpoint to the next


def lost_storage(e: Evidence) -> list[Finding]:
    """The job waits for its checkpoint's store, and says so."""
    if not e.waits:
        return []
    advice = [
        "Mend the store: room, rights, network. The job goes on by itself, and nothing is lost.",
        "execution.checkpointing.store.patience bounds how long it waits.",
    ]
    since = e.failed[-1].triggered if e.failed else e.now
    return [
        Finding("lost-storage", "The job waits for its checkpoint's storage", since, [f"it {e.waits}"], advice, 1.0)
    ]


def slow_storage(e: Evidence) -> list[Finding]:
    """The place where the checkpoint is takes long for little."""
    spent = lambda c: c.measured.logging + c.storing  # noqa: E731
    share, written = e.share(spent), e.median(lambda c: c.written_bytes)
    logs, store = e.median(lambda c: c.measured.logging), e.median(lambda c: sum(c.measured.storing))
    rate = written / max(e.median(lambda c: c.storing), 1e-6)
    slow_logs, slow_store = logs >= SLOW_LOGS, store >= SLOW_LOGS and rate < SLOW_STORE
    if share < STORE_SHARE or not (slow_logs or slow_store):
        return []
    return [
        Finding(
            "slow-storage",
            "The checkpoint's storage is slow",
            e.since(lambda c: c.measured.logging >= SLOW_LOGS or sum(c.measured.storing) >= SLOW_LOGS),
            [
                f"two files of some hundred bytes, Spark's logs of a batch, take {span_of(logs)}",
                f"the state store's commit takes {span_of(store)} for {size_of(written)}",
                f"that is {share:.0%} of the time",
                *falls_behind(e),
            ],
            [
                "Put execution.checkpointing.dir on a faster or nearer file system.",
                "Make fewer checkpoints: a longer execution.trigger.interval, or execution.checkpointing.max-share.",
            ],
            share,
        )
    ]


def too_much_state(e: Evidence) -> list[Finding]:
    """Much state changes with every checkpoint, and writing it takes a large part of the time."""
    share, written = e.share(lambda c: c.storing), e.median(lambda c: c.written_bytes)
    records = e.median(lambda c: c.records)
    if share < STORE_SHARE or written < MUCH_WRITTEN or slow_storage(e):
        return []
    writers = sorted(e.operators(), key=lambda item: -item[0].written_bytes)
    largest = f"most of it by '{writers[0][0].name}'" if writers and writers[0][0].written_bytes else ""
    first, last = e.completed[0], e.completed[-1]
    grows = (last.state_bytes - first.state_bytes) / max(last.ended - first.triggered, 1.0)
    told = [
        f"each checkpoint writes {size_of(written)} of state"
        + (f", {size_of(written / records)} for an element read" if records else "")
        + (f"; {largest}" if largest else ""),
        f"reading and writing state takes {span_of(e.median(lambda c: c.storing))} a checkpoint: {share:.0%} of the time",
        f"the state is {size_of(last.state_bytes)}"
        + (f" and grows by {size_of(grows * 60)} a minute" if grows > 0 else ""),
        *falls_behind(e),
    ]
    advice = [
        "Keep less: a time to live (StateTtlConfig), timers that clear what is done with, smaller values.",
        "Keep collections in list or map state: of those only the entries that changed are written, of a value all of it.",
        "'penstock state stats JOB' shows the largest keys.",
    ]
    since = e.since(lambda c: c.storing >= STORE_SHARE * c.seconds)
    return [Finding("too-much-state", "The job writes too much state", since, told, advice, share)]


def short_interval(e: Evidence) -> list[Finding]:
    """Batches so small, or so often, that most of the time goes to what every one of them costs."""
    share = e.share(lambda c: c.overhead)
    asked = e.completed[-1].interval
    chased = asked > 0 and e.often(lambda c: c.seconds > c.interval)
    behind = e.behind()
    if share < HIGH_OVERHEAD or not (chased or behind):
        return []
    if slow_storage(e) or too_much_state(e):
        return []  # what makes them dear is something else
    told = [
        f"{share:.0%} of the time goes to what a checkpoint costs whatever is in it: {span_of(e.median(lambda c: c.overhead))} of "
        f"{span_of(e.median(lambda c: c.seconds))}",
        f"a checkpoint has {e.median(lambda c: c.records):,.0f} elements, whose work takes {span_of(e.median(lambda c: c.work))}",
        *([f"one is asked for every {span_of(asked)}, and takes longer than that"] if chased else []),
        *falls_behind(e),
    ]
    advice = [
        "Lengthen execution.trigger.interval, or let the job do it: execution.checkpointing.max-share (say 0.3).",
        *(["Let a batch take more: records_per_batch of the source, or 'penstock limit JOB'."] if behind else []),
    ]
    return [
        Finding(
            "short-interval", "Checkpoints come too often", e.since(lambda c: c.overhead > c.work), told, advice, share
        )
    ]
