"""Rule for too many small files."""

from __future__ import annotations

from statistics import median

from penstock.jobs.diagnosis.evidence import Evidence
from penstock.jobs.diagnosis.finding import Finding
from penstock.units import format_size

SMALL_FILE = 64_000.0  # bytes
MANY_FILES = 20  # per checkpoint


def small_files(e: Evidence) -> list[Finding]:
    """Many small files in each checkpoint, of a sink or of the checkpoint itself."""
    findings = []
    for last, stats in e.sinks():
        files, size = median(s.files for _, s in stats), sum(s.bytes for _, s in stats)
        mean = size / max(1, sum(s.files for _, s in stats))
        if files >= MANY_FILES and mean < SMALL_FILE:
            per_day = files * 86_400 / max(1e-3, e.seconds / len(e.completed), e.completed[-1].interval)
            evidence = [
                f"'{last.name}' writes {files:.0f} files of {format_size(mean, compact=True)} per checkpoint, which is "
                f"{per_day:,.0f} files a day"
            ]
            advice = [
                "Use fewer buckets, a longer execution.trigger.interval, or a rolling policy with larger parts.",
                "enable_compact of FileSink merges small files before they become visible.",
            ]
            since = e.since(lambda c: any(s.files >= MANY_FILES for s in c.sinks))
            title = f"Sink '{last.name}' writes too many small files"
            findings.append(Finding("small-files", title, since, evidence, advice))
    files, written = e.median(lambda c: c.measured.files), e.median(lambda c: c.written_bytes)
    if files >= 5 * MANY_FILES and written / files < SMALL_FILE:
        evidence = [
            f"a checkpoint has {files:.0f} files for {format_size(written, compact=True)} of changed state, one for each slot "
            "of each level"
        ]
        advice = [
            "Reduce the parallelism, because so little state does not need so many slots. Or increase execution.trigger.interval."
        ]
        title = "The checkpoint has too many small files"
        findings.append(Finding("small-files", title, e.since(lambda c: True), evidence, advice))
    return findings
