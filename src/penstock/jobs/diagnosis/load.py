"""How elements are spread over tasks, and whether more come in than the job can take."""

from __future__ import annotations

from statistics import median

from penstock.jobs.diagnosis.evidence import CONSTANT, Evidence
from penstock.jobs.diagnosis.finding import Finding, falls_behind, span_of
from penstock.jobs.diagnosis.functions import per_element

HOT_KEY = 0.3  # the share of an operator's elements that one key has
SKEWED = 1.25  # the most elements of a task, by the mean: with a hot key,
VERY_SKEWED = 2.0  # and without one
SKEW_SHARE = 0.15  # of a checkpoint's time: a skew of what takes less does no harm


def skewed_keys(e: Evidence) -> list[Finding]:
    """A few keys, or one, have most of an operator's elements."""
    found = []
    for last, parts in e.operators():
        busy = [(c, o) for c, o in parts if o.level and o.records]
        if len(busy) < CONSTANT * len(e.completed):
            continue
        skew, share = median(o.skew for _, o in busy), sum(o.slowest for _, o in busy) / e.seconds
        keys: dict[str, float] = {}
        for _, operator in busy:
            for key, part in operator.hot:
                keys[key] = keys.get(key, 0.0) + part / len(busy)
        hot = sorted(((part, key) for key, part in keys.items() if part >= HOT_KEY / 2), reverse=True)[:3]
        if share < SKEW_SHARE or skew < (SKEWED if hot and hot[0][0] >= HOT_KEY else VERY_SKEWED):
            continue
        named = ", ".join(f"{key} ({part:.0%})" for part, key in hot)
        waste = 1 - 1 / skew
        told = [
            f"the busiest task of '{last.name}' gets {skew:.1f} times the mean; the others wait for it",
            f"hot keys, with their share of its elements: {named}"
            if hot
            else "no single key is hot: there are few keys",
            *falls_behind(e),
        ]
        advice = [
            "Work out partial results first: key by (key, a small random number), combine, then key by the key alone.",
            "Named aggregates in windows (sum_of, count(), ...) are combined before the shuffle by themselves.",
            "If the hot key means 'unknown' or None, filter it out or spread it.",
        ]
        title = f"The keys of '{last.name}' are skewed" + (f": {hot[0][1]} has {hot[0][0]:.0%}" if hot else "")
        since = e.since(lambda c, uid=last.uid: any(o.uid == uid and o.skew >= SKEWED for o in c.operators))  # type: ignore[misc]
        found.append(Finding("skewed-keys", title, since, told, advice, max(share * waste, SKEW_SHARE)))
    return found


def backpressure(e: Evidence) -> list[Finding]:
    """More comes in than the job can do, and nothing stands out."""
    behind = e.behind()
    if behind is None:
        return []
    busiest = max(e.operators(), key=lambda item: sum(o.slowest for _, o in item[1]), default=None)
    told = [
        *falls_behind(e),
        f"{e.share(lambda c: c.work):.0%} of the time is work on elements: no other cause stands out",
    ]
    if busiest is not None:
        last, parts = busiest
        told.append(
            f"'{last.name}' takes most of it: {sum(o.slowest for _, o in parts) / e.seconds:.0%}, "
            f"{span_of(per_element([o for _, o in parts]))} for an element"
        )
    advice = [
        "Raise the parallelism, if there are cores: 'penstock rescale JOB --parallelism N'.",
        "Do less for an element: filter before key_by, declare types, use named aggregates in windows.",
    ]
    since = e.since(lambda c: any(bool(s.lag) or s.full for s in c.sources))
    return [
        Finding("backpressure", f"More comes in from '{behind.name}' than the job can take", since, told, advice, 1.0)
    ]
