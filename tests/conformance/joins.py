"""What cases of two joined streams have in common."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from penstock.windows import WindowAssigner
from tests.conformance import windows
from tests.conformance.case import Case


def with_values(case: Case) -> Case:
    """Elements that are told by their timestamp only are their timestamp; input without a watermark just ends."""
    entries = [{"value": e["ts"], **e} if "ts" in e else e for e in case.input]
    if not any("watermark" in e or "processing_time" in e or "end_of_input" in e for e in entries):
        entries.append({"end_of_input": True})
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
    """The windows that a case tells of, in words or by fields."""
    told = case.params.get("assigner") or case.params.get("window")
    return windows.assigner_of(told) if isinstance(told, dict) else windows.assigner_in(str(told))


def with_settings(windowed: Any, case: Case) -> Any:
    """Sets the trigger, the evictor and the lateness that a case tells of."""
    params = case.params
    if (trigger := params.get("trigger")) is not None:
        told = windows.trigger_of(trigger) if isinstance(trigger, dict) else windows.trigger_in(str(trigger))
        windowed = windowed if told is None else windowed.trigger(told)
    if (evictor := windows.evictor_of(params.get("evictor"))) is not None:
        windowed = windowed.evictor(evictor)
    lateness = params.get("lateness", params.get("allowed_lateness", params.get("allowed_lateness_ms")))
    if lateness is None:
        return windowed
    return windowed.allowed_lateness(lateness if isinstance(lateness, int) else windows.lengths_in(str(lateness))[0])
