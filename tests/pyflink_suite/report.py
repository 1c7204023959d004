"""Counts the recorded results, by file and in total."""

from __future__ import annotations

import json
import statistics
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

CLASSES = ("passed", "gap", "not applicable", "skipped by Flink")


def classify(record: dict[str, Any], not_applicable: dict[str, str]) -> str:
    """Returns the class of a result. A test that looks into Flink's JVM is not applicable."""
    if record["outcome"] == "passed":
        return "passed"
    if record["outcome"] == "skipped":
        return "skipped by Flink"
    if record["kind"] == "JvmInternal" or record["test"].endswith(tuple(not_applicable)):
        return "not applicable"
    return "gap"


def print_report(results: Path, not_applicable: Path) -> None:
    """Prints a table of all test files, the tests that fail, and the total."""
    records = json.loads(results.read_text())
    reasons = json.loads(not_applicable.read_text())
    files: dict[str, Counter[str]] = defaultdict(Counter)
    seconds: dict[str, list[float]] = defaultdict(list)
    for record in records:
        record["class"] = classify(record, reasons)
        file = record["test"].split("::")[0]
        files[file][record["class"]] += 1
        if record["class"] in ("passed", "gap"):
            seconds[file].append(record["seconds"])
    print(f"{'file':76} {'passed':>7} {'gaps':>5} {'n/a':>5} {'skipped':>8} {'median s':>9}")
    for file, counts in sorted(files.items()):
        passed, gaps, other, skipped = (counts[name] for name in CLASSES)
        median = f"{statistics.median(seconds[file]):.2f}" if seconds[file] else "-"
        print(f"{file:76} {passed:7} {gaps:5} {other:5} {skipped:8} {median:>9}")
    for record in records:
        if record["class"] == "gap":
            print(
                f"gap: {record['test']}: {record['kind']}: {record['error'].splitlines()[0][:150] if record['error'] else ''}"
            )
    total = sum(files.values(), Counter())
    print(f"{len(records)} tests: {', '.join(f'{total[name]} {name}' for name in CLASSES)}")
    print(f"PyFlink's own tests: {total['passed']} of {total['passed'] + total['gap']} applicable pass")
