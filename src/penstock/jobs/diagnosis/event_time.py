"""Sources that hold event time back."""

from __future__ import annotations

from penstock.jobs.checkpoints import Checkpoint
from penstock.jobs.diagnosis.evidence import Evidence
from penstock.jobs.diagnosis.finding import Finding, span_of
from penstock.time import MAX_WATERMARK, MIN_WATERMARK

HELD_BACK = 10.0  # seconds that a watermark stands still while others go on


def held_watermark(e: Evidence) -> list[Finding]:
    """A source or split without new elements, which holds back the event time of all behind it."""
    found = []
    newest = e.completed[-1]
    for last, parts in e.sources_of_run():
        if last.mark is None or last.mark >= MAX_WATERMARK:
            continue
        still = [c for c, s in parts if s.mark == last.mark and s.split == last.split]
        held = newest.ended - still[0].triggered
        before, after = _highest(still[0]), _highest(newest)
        waits = [o.name for o in newest.operators if o.watermark is not None and o.watermark <= last.mark]
        if len(still) < 2 or held < HELD_BACK or after <= before or after <= last.mark or not waits:
            continue
        where = (
            f"split {last.split} of source '{last.name}'"
            if last.split not in ("", "0", "*")
            else f"source '{last.name}'"
        )
        ahead = (
            "it has never given a watermark"
            if last.mark <= MIN_WATERMARK
            else f"others are {span_of((after - last.mark) / 1000)} ahead"
        )
        found.append(
            Finding(
                "idle-source",
                f"An idle source holds event time back: {where}",
                still[0].triggered,
                [
                    f"the watermark of {where} has stood still for {held:.0f} s, while that of others went on; {ahead}",
                    f"waiting for it: {', '.join(repr(name) for name in waits[:5])}",
                ],
                [
                    "Let it count as idle: WatermarkStrategy.with_idleness(Duration.of_seconds(30)).",
                    "If it should not be silent, look at what writes to it.",
                ],
            )
        )
    return found


def _highest(c: Checkpoint) -> int:
    return max((s.highest for s in c.sources if s.highest is not None), default=MIN_WATERMARK)
