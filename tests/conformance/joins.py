"""What cases of two joined streams have in common."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from penstock.windows import (
    EventTimeSessionWindows,
    ProcessingTimeSessionWindows,
    SlidingEventTimeWindows,
    SlidingProcessingTimeWindows,
    TumblingEventTimeWindows,
    TumblingProcessingTimeWindows,
    WindowAssigner,
)
from tests.conformance.case import Case, NotRunnableError

_MILLIS = {"ms": 1, "s": 1000, "min": 60_000, "h": 3_600_000}
_ASSIGNERS: dict[tuple[str, str], Any] = {
    ("tumbling", "event"): TumblingEventTimeWindows.of,
    ("tumbling", "processing"): TumblingProcessingTimeWindows.of,
    ("sliding", "event"): SlidingEventTimeWindows.of,
    ("sliding", "processing"): SlidingProcessingTimeWindows.of,
    ("session", "event"): EventTimeSessionWindows.with_gap,
    ("session", "processing"): ProcessingTimeSessionWindows.with_gap,
}


def with_values(case: Case) -> Case:
    """Elements that are told by their timestamp only are their timestamp."""
    entries = [{"value": e["ts"], **e} if "ts" in e else e for e in case.input]
    return replace(case, told={**case.told, "input": entries})


def as_entries(case: Case) -> Case:
    """Expected elements that are told by their value only, as entries."""
    sides = {tag: [_entry(e) for e in expected] for tag, expected in named_sides(case).items()}
    expected = [_entry(e) for e in case.expected]
    return replace(case, told={**case.told, "expected": expected, "expected_side_output": sides})


def _entry(told: Any) -> dict[str, Any]:
    return told if isinstance(told, dict) and ("value" in told or "watermark" in told) else {"value": told}


def named_sides(case: Case) -> dict[str, list[Any]]:
    """The side outputs of which the case says what they hold."""
    told: dict[str, list[Any] | None] = case.told.get("expected_side_output") or {}
    return {tag: expected for tag, expected in told.items() if expected is not None}


def sources_of(case: Case) -> int:
    """Two; one where a stream is joined with itself."""
    return 1 if "self" in f"{case.params.get('join', '')} {case.params.get('streams', '')}".split() else 2


def assigner_of(case: Case) -> WindowAssigner[Any, Any]:
    """The windows that a case tells of: their kind, their time, and lengths."""
    told = str(case.params.get("window", "")).lower()
    kind = next((k for k in ("tumbling", "sliding", "session") if k in told), None)
    time = "processing" if "processing" in told else "event"
    lengths = [int(n) * _MILLIS[unit] for n, unit in re.findall(r"(\d+) ?(ms|s|min|h)\b", told)]
    if kind is None or len(lengths) != (2 if kind == "sliding" else 1):
        raise NotRunnableError(f'the window "{told}" is not understood')
    assigner: WindowAssigner[Any, Any] = _ASSIGNERS[kind, time](*lengths)
    return assigner


def with_settings(windows: Any, case: Case) -> Any:
    """What else a case sets on its windows."""
    params = case.params
    unknown = {"trigger", "evictor"} & set(params)
    if unknown:
        raise NotRunnableError(f"the {' and the '.join(sorted(unknown))} of a join is not understood")
    lateness = params.get("allowed_lateness_ms", params.get("lateness"))
    return windows if lateness is None else windows.allowed_lateness(lateness)
