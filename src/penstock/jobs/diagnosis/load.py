"""Rules for skewed keys and for jobs that receive more than they can process."""

from __future__ import annotations

from statistics import median

from penstock.jobs.diagnosis.evidence import MOSTLY, Evidence
from penstock.jobs.diagnosis.finding import Finding, lag_evidence
from penstock.jobs.diagnosis.functions import seconds_per_element
from penstock.jobs.registry.checkpoint_stats import OperatorStats
from penstock.units import format_latency

HOT_KEY = 0.3  # the share of elements from which on a key counts as hot
SKEWED = 1.25  # elements of the busiest task, divided by the mean: the limit with a hot key,
VERY_SKEWED = 2.0  # and the limit without one
SKEW_SHARE = 0.15  # the share of the time that the operator must need for skew to matter


def skewed_keys(e: Evidence) -> list[Finding]:
    """One or a few keys have most of the elements of an operator."""
    findings = []
    for last, stats in e.operators():
        busy = [(c, o) for c, o in stats if o.level and o.records]
        if len(busy) < MOSTLY * len(e.completed):
            continue
        skew, share = median(o.skew for _, o in busy), sum(o.slowest for _, o in busy) / e.seconds
        hot = _hot_keys([o for _, o in busy])
        if share < SKEW_SHARE or skew < (SKEWED if hot and hot[0][0] >= HOT_KEY else VERY_SKEWED):
            continue
        names = ", ".join(f"{key} ({part:.0%})" for part, key in hot)
        waste = 1 - 1 / skew
        evidence = [
            f"the busiest task of '{last.name}' receives {skew:.1f} times the mean, and the others wait for it",
            f"hot keys, with their share of the elements: {names}"
            if hot
            else "no single key is hot, but there are few keys",
            *lag_evidence(e),
        ]
        advice = [
            "Compute partial results first: key by (key, a small random number), combine, then key by the key alone.",
            "Named aggregates in windows (sum_of, count(), ...) are combined before the shuffle automatically.",
            "If the hot key means 'unknown' or None, filter it out or spread it.",
        ]
        title = f"The keys of '{last.name}' are skewed" + (f": {hot[0][1]} has {hot[0][0]:.0%}" if hot else "")
        since = e.since(lambda c, uid=last.uid: any(o.uid == uid and o.skew >= SKEWED for o in c.operators))  # type: ignore[misc]
        findings.append(Finding("skewed-keys", title, since, evidence, advice, max(share * waste, SKEW_SHARE)))
    return findings


def _hot_keys(stats: list[OperatorStats]) -> list[tuple[float, str]]:
    """The most frequent keys with their mean share of the elements, at most three."""
    shares: dict[str, float] = {}
    for operator in stats:
        for key, share in operator.hot:
            shares[key] = shares.get(key, 0.0) + share / len(stats)
    return sorted(((share, key) for key, share in shares.items() if share >= HOT_KEY / 2), reverse=True)[:3]


def backpressure(e: Evidence) -> list[Finding]:
    """The job receives more than it can process, and no single cause explains it."""
    source = e.lagging_source()
    if source is None:
        return []
    busiest = max(e.operators(), key=lambda item: sum(o.slowest for _, o in item[1]), default=None)
    evidence = [
        *lag_evidence(e),
        f"{e.share(lambda c: c.work):.0%} of the time is spent on elements, and there is no other cause",
    ]
    if busiest is not None:
        last, stats = busiest
        evidence.append(
            f"'{last.name}' takes most of it: {sum(o.slowest for _, o in stats) / e.seconds:.0%}, "
            f"{format_latency(seconds_per_element([o for _, o in stats]))} for an element"
        )
    advice = [
        "Increase the parallelism if there are free cores: 'penstock rescale JOB --parallelism N'.",
        "Do less work per element: filter before key_by, declare types, use named aggregates in windows.",
    ]
    since = e.since(lambda c: any(bool(s.lag) or s.full for s in c.sources))
    title = f"More records arrive from '{source.name}' than the job can process"
    return [Finding("backpressure", title, since, evidence, advice, 1.0)]
