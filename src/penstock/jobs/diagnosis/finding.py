"""One thing that is wrong with a job, and how its numbers are written."""

from __future__ import annotations

import msgspec

from penstock.jobs.diagnosis.evidence import Evidence

LARGE_SHARE = 0.4  # of a checkpoint's time: what takes so much of it is worth a word


class Finding(msgspec.Struct, frozen=True):
    """One thing that is wrong."""

    cause: str  # a short name that stays the same
    title: str
    since: float  # seconds since 1970
    evidence: list[str]
    advice: list[str]
    share: float = 0.0  # of the time that it explains


def falls_behind(e: Evidence) -> list[str]:
    source = e.behind()
    if source is None:
        return []
    lags = [s.lag for c in e.completed for s in c.sources if s.uid == source.uid and s.lag is not None]
    if not lags:
        return [f"source '{source.name}' always has more than a batch takes"]
    return [f"source '{source.name}' is behind: {lags[0]:,} records waited, now {lags[-1]:,}"]


def task_name(level: int, slot: int) -> str:
    return f"slot {slot} of level {level}" if level else f"task {slot} of the sources"


def span_of(seconds: float) -> str:
    for unit, factor in (("s", 1.0), ("ms", 1e3), ("µs", 1e6)):
        if seconds * factor >= 1 or unit == "µs":
            return f"{seconds * factor:.3g} {unit}" if seconds * factor < 100 else f"{seconds * factor:,.0f} {unit}"
    return ""


def size_of(size: float) -> str:
    for unit in ("B", "KB", "MB"):
        if abs(size) < 1000:
            return f"{size:.3g} {unit}"
        size /= 1000
    return f"{size:.3g} GB"
