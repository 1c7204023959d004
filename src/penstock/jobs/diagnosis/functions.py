"""Rules for functions, sinks and sources that need long for an element."""

from __future__ import annotations

from penstock.jobs.diagnosis.evidence import Evidence
from penstock.jobs.diagnosis.finding import LARGE_SHARE, Finding, lag_evidence
from penstock.jobs.registry.checkpoint_stats import CheckpointStats, OperatorStats
from penstock.units import format_latency

SLOW_ELEMENT = 0.0005  # seconds per element from which on a function counts as slow


def slow_function(e: Evidence) -> list[Finding]:
    """A function that needs long for each element."""
    findings = []
    sinks = {s.uid for s, _ in e.sinks()}
    for last, stats in e.operators():
        seconds = sum(o.slowest for _, o in stats)
        share, each = min(1.0, seconds / e.seconds), seconds_per_element([o for _, o in stats])
        if share < LARGE_SHARE or each < SLOW_ELEMENT:
            continue
        evidence = [
            f"'{last.name}' takes {format_latency(each)} for an element, and {share:.0%} of the time of the last "
            f"{len(e.completed)} checkpoints",
            *lag_evidence(e),
        ]
        since = e.since(lambda c, uid=last.uid: _seconds_of(c, uid) >= LARGE_SHARE * c.seconds)  # type: ignore[misc]
        if last.uid in sinks:
            findings.append(_slow_sink(last.name, since, evidence, share))
            continue
        advice = [
            "If it waits for a service, use AsyncDataStream to send many requests at once, or cache answers in state.",
            "If it computes, profile it with 'penstock.testing', which runs the job in one process, or increase the parallelism.",
        ]
        title = f"The function of '{last.name}' is slow"
        findings.append(Finding("slow-function", title, since, evidence, advice, share))
    return findings


def seconds_per_element(stats: list[OperatorStats]) -> float:
    elements = sum(max(o.records, o.out) for o in stats)
    return sum(o.seconds for o in stats) / elements if elements else 0.0


def _seconds_of(c: CheckpointStats, uid: str) -> float:
    return sum(o.slowest for o in c.operators if o.uid == uid)


def slow_sink(e: Evidence) -> list[Finding]:
    """A sink that the job waits for."""
    findings = []
    for last, stats in e.sinks():
        writing, committing = sum(s.writing for _, s in stats), sum(s.committing for _, s in stats)
        share = min(1.0, (writing + committing) / e.seconds)
        if share < LARGE_SHARE:
            continue
        records = sum(s.records for _, s in stats)
        write_time, commit_time = format_latency(writing / len(stats)), format_latency(committing / len(stats))
        evidence = [
            f"writing to '{last.name}' takes {write_time} and its commit {commit_time} per checkpoint, {share:.0%} of the time",
            f"it receives {records / (writing + committing):,.0f} elements per second",
            *lag_evidence(e),
        ]
        findings.append(_slow_sink(last.name, e.since(lambda c: True), evidence, share))
    return findings


def _slow_sink(name: str, since: float, evidence: list[str], share: float) -> Finding:
    advice = [
        "Check the system that it writes to: its load, its locks, and the network.",
        "Write fewer and larger batches: a longer execution.trigger.interval, or a larger batch size of the sink.",
        "If the system accepts concurrent writers, increase the parallelism.",
    ]
    return Finding("slow-sink", f"Sink '{name}' is slow", since, evidence, advice, share)


def slow_source(e: Evidence) -> list[Finding]:
    """A source that needs long to read its records."""
    findings = []
    for last, stats in e.sources():
        reading, records = sum(s.reading for _, s in stats), sum(s.records for _, s in stats)
        share = min(1.0, reading / e.seconds)
        if share >= LARGE_SHARE and records and reading / records >= SLOW_ELEMENT:
            each = format_latency(reading / records)
            evidence = [f"reading '{last.name}' takes {each} for a record, {share:.0%} of the time"]
            advice = [
                "Check the system that it reads from, and the network. If there are more splits, more tasks read in parallel."
            ]
            title = f"Source '{last.name}' is slow"
            findings.append(Finding("slow-source", title, e.since(lambda c: True), evidence, advice, share))
    return findings
