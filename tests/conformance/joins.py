"""What cases of two joined streams have in common."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tests.conformance.case import Case


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
