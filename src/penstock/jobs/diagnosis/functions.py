"""Functions, sinks and sources that take long for an element."""

from __future__ import annotations

from penstock.jobs.checkpoints import Checkpoint, OperatorPart
from penstock.jobs.diagnosis.evidence import Evidence
from penstock.jobs.diagnosis.finding import LARGE_SHARE, Finding, falls_behind, span_of

SLOW_ELEMENT = 0.0005  # seconds that a function may take for an element before it counts as slow


def slow_function(e: Evidence) -> list[Finding]:
    """A function that takes long for each element."""
    found = []
    sinks = {s.uid for s, _ in e.sinks()}
    for last, parts in e.operators():
        seconds = sum(o.slowest for _, o in parts)
        share, each = min(1.0, seconds / e.seconds), per_element([o for _, o in parts])
        if share < LARGE_SHARE or each < SLOW_ELEMENT:
            continue
        told = [
            f"'{last.name}' takes {span_of(each)} for an element, and {share:.0%} of the time of the last "
            f"{len(e.completed)} checkpoints",
            *falls_behind(e),
        ]
        since = e.since(lambda c, uid=last.uid: _spent(c, uid) >= LARGE_SHARE * c.seconds)  # type: ignore[misc]
        if last.uid in sinks:
            found.append(_slow_sink(last.name, since, told, share))
            continue
        advice = [
            "If it waits for a service: ask with AsyncDataStream, many elements at once; or keep answers in state or a cache.",
            "If it computes: profile it with 'penstock.testing', which runs the job in one process; raise the parallelism.",
        ]
        found.append(Finding("slow-function", f"The function of '{last.name}' is slow", since, told, advice, share))
    return found


def per_element(parts: list[OperatorPart]) -> float:
    elements = sum(max(o.records, o.out) for o in parts)
    return sum(o.seconds for o in parts) / elements if elements else 0.0


def _spent(c: Checkpoint, uid: str) -> float:
    return sum(o.slowest for o in c.operators if o.uid == uid)


def slow_sink(e: Evidence) -> list[Finding]:
    """A sink that the job waits for."""
    found = []
    for last, parts in e.sinks():
        writing, committing = sum(s.writing for _, s in parts), sum(s.committing for _, s in parts)
        share = min(1.0, (writing + committing) / e.seconds)
        if share < LARGE_SHARE:
            continue
        records = sum(s.records for _, s in parts)
        told = [
            f"writing to '{last.name}' takes {span_of(writing / len(parts))} and its commit {span_of(committing / len(parts))} a "
            f"checkpoint: {share:.0%} of the time",
            f"{records / (writing + committing):,.0f} elements a second reach it",
            *falls_behind(e),
        ]
        found.append(_slow_sink(last.name, e.since(lambda c: True), told, share))
    return found


def _slow_sink(name: str, since: float, told: list[str], share: float) -> Finding:
    advice = [
        "Look at the system behind it: its load, its locks, the network between.",
        "Write larger groups and fewer of them: a longer execution.trigger.interval, larger batches of the sink's own.",
        "If it takes many writers at once, raise the parallelism.",
    ]
    return Finding("slow-sink", f"Sink '{name}' is slow", since, told, advice, share)


def slow_source(e: Evidence) -> list[Finding]:
    """A source that takes long to give what it has."""
    found = []
    for last, parts in e.sources():
        reading, records = sum(s.reading for _, s in parts), sum(s.records for _, s in parts)
        share = min(1.0, reading / e.seconds)
        if share >= LARGE_SHARE and records and reading / records >= SLOW_ELEMENT:
            told = [f"reading '{last.name}' takes {span_of(reading / records)} for a record, {share:.0%} of the time"]
            advice = [
                "Look at the system behind it and the network between. More splits are read by more tasks at once."
            ]
            found.append(
                Finding("slow-source", f"Source '{last.name}' is slow", e.since(lambda c: True), told, advice, share)
            )
    return found
