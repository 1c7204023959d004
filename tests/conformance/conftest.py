"""Reports at the end how many cases were not run, with the reasons."""

from __future__ import annotations

from collections import Counter
from typing import Any

_NOT_RUNNABLE = "not runnable: "


def pytest_terminal_summary(terminalreporter: Any) -> None:
    reasons: Counter[str] = Counter()
    for report in terminalreporter.stats.get("skipped", ()):
        message = report.longrepr[2] if isinstance(report.longrepr, tuple) else ""
        if _NOT_RUNNABLE in message and "tests/conformance" in report.nodeid:
            reasons[message.split(_NOT_RUNNABLE, 1)[1]] += 1
    if reasons:
        terminalreporter.section("cases that cannot be run yet")
        for reason, count in sorted(reasons.items()):
            terminalreporter.write_line(f"{count:5}  {reason}")
        terminalreporter.write_line(f"{sum(reasons.values()):5}  in total; none of them counts as passed")
