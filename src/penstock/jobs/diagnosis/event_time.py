"""Rule for sources that hold event time back."""

from __future__ import annotations

from penstock.jobs.diagnosis.evidence import Evidence
from penstock.jobs.diagnosis.finding import Finding
from penstock.jobs.registry.checkpoint_stats import CheckpointStats
from penstock.time import MAX_WATERMARK, MIN_WATERMARK
from penstock.units import format_latency

HELD_BACK = 10.0  # seconds without progress of a watermark while others advance


def held_watermark(e: Evidence) -> list[Finding]:
    """A source or split without new elements, which holds back the event time of all downstream operators."""
    findings = []
    newest = e.completed[-1]
    for last, stats in e.sources_of_run():
        if last.mark is None or last.mark >= MAX_WATERMARK:
            continue
        unchanged = [c for c, s in stats if s.mark == last.mark and s.split == last.split]
        seconds = newest.ended - unchanged[0].triggered
        before, after = _highest(unchanged[0]), _highest(newest)
        waiting = [o.name for o in newest.operators if o.watermark is not None and o.watermark <= last.mark]
        advanced = after > before and after > last.mark
        if len(unchanged) < 2 or seconds < HELD_BACK or not advanced or not waiting:
            continue
        source = f"source '{last.name}'"
        if last.split == "*" and last.highest is not None and last.highest > last.mark:
            findings.append(_unread_files(source, unchanged[0].triggered, seconds, waiting))
            continue
        if last.split not in ("", "0", "*"):
            source = f"split {last.split} of {source}"
        ahead = (
            "it has never had a watermark"
            if last.mark <= MIN_WATERMARK
            else f"others are {format_latency((after - last.mark) / 1000)} ahead"
        )
        findings.append(
            Finding(
                "idle-source",
                f"An idle source holds event time back: {source}",
                unchanged[0].triggered,
                [
                    f"the watermark of {source} has not advanced for {seconds:.0f} s, while others have; {ahead}",
                    f"operators that wait for it: {', '.join(repr(name) for name in waiting[:5])}",
                ],
                [
                    "Mark it as idle: WatermarkStrategy.with_idleness(Duration.of_seconds(30)).",
                    "If it should have records, check the system that writes to it.",
                ],
            )
        )
    return findings


def _unread_files(source: str, since: float, seconds: float, waiting: list[str]) -> Finding:
    return Finding(
        "unread-files",
        f"Unread files hold event time back: {source}",
        since,
        [
            f"the watermark of {source} has not advanced for {seconds:.0f} s, because it has found files that it has not read yet",
            f"operators that wait for it: {', '.join(repr(name) for name in waiting[:5])}",
        ],
        [
            "Wait until the last file is read. Windows of all files stay in state until then.",
            "If each file contains only events after those of the previous file, set files_in_time_order of the file source.",
        ],
    )


def _highest(c: CheckpointStats) -> int:
    return max((s.highest for s in c.sources if s.highest is not None), default=MIN_WATERMARK)
