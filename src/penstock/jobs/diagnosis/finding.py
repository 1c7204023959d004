"""A problem of a job that a diagnosis found."""

from __future__ import annotations

import msgspec

from penstock.jobs.diagnosis.evidence import Evidence

LARGE_SHARE = 0.4  # the share of the duration of a checkpoint from which on a part is reported


class Finding(msgspec.Struct, frozen=True):
    """One problem, with its evidence and what to do."""

    cause: str  # a short name that does not change between versions
    title: str
    since: float  # seconds since 1970
    evidence: list[str]
    advice: list[str]
    share: float = 0.0  # the share of the time that the problem explains


def lag_evidence(e: Evidence) -> list[str]:
    """A line on the source that lags behind, if there is one."""
    source = e.lagging_source()
    if source is None:
        return []
    lags = [s.lag for c in e.completed for s in c.sources if s.uid == source.uid and s.lag is not None]
    if not lags:
        return [f"source '{source.name}' always has more records than a batch reads"]
    return [f"source '{source.name}' lags behind: {lags[0]:,} unread records before, {lags[-1]:,} now"]


def task_name(level: int, slot: int) -> str:
    return f"slot {slot} of level {level}" if level else f"source task {slot}"
