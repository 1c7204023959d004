"""Files that are too many and too small."""

from __future__ import annotations

from statistics import median

from penstock.jobs.diagnosis.evidence import Evidence
from penstock.jobs.diagnosis.finding import Finding, size_of

SMALL_FILE = 64_000.0  # bytes
MANY_FILES = 20  # a checkpoint


def small_files(e: Evidence) -> list[Finding]:
    """Many small files with every checkpoint."""
    found = []
    for last, parts in e.sinks():
        files, size = median(s.files for _, s in parts), sum(s.bytes for _, s in parts)
        mean = size / max(1, sum(s.files for _, s in parts))
        if files >= MANY_FILES and mean < SMALL_FILE:
            a_day = files * 86_400 / max(1e-3, e.seconds / len(e.completed), e.completed[-1].interval)
            told = [
                f"'{last.name}' writes {files:.0f} files of {size_of(mean)} with every checkpoint: {a_day:,.0f} a day at this rate"
            ]
            advice = [
                "Fewer buckets; a longer execution.trigger.interval; a rolling policy with larger parts.",
                "FileSink's enable_compact puts small files together before they become visible.",
            ]
            since = e.since(lambda c: any(s.files >= MANY_FILES for s in c.sinks))
            found.append(Finding("small-files", f"Sink '{last.name}' writes too many small files", since, told, advice))
    files, written = e.median(lambda c: c.measured.files), e.median(lambda c: c.written_bytes)
    if files >= 5 * MANY_FILES and written / files < SMALL_FILE:
        told = [
            f"a checkpoint has {files:.0f} files for {size_of(written)} of changed state: one for each slot of each level"
        ]
        advice = [
            "Lower the parallelism: so little state does not need so many slots. Or lengthen execution.trigger.interval."
        ]
        found.append(
            Finding("small-files", "The checkpoint has too many small files", e.since(lambda c: True), told, advice)
        )
    return found
