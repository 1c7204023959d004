"""Common code of cases with two joined streams."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from penstock.windows import WindowAssigner
from tests.conformance import windows
from tests.conformance.case import Case


def with_values(case: Case) -> Case:
    """Completes the input. Elements without a value get their timestamp as value; input without watermarks ends."""
    entries = [{"value": e["ts"], **e} if "ts" in e else e for e in case.input]
    if not any("watermark" in e or "processing_time" in e or "end_of_input" in e for e in entries):
        entries.append({"end_of_input": True})
    return replace(case, fields={**case.fields, "input": entries})


def sources_of(case: Case) -> int:
    """Returns the number of sources: two, or one for a self-join."""
    return 1 if "self" in f"{case.params.get('join', '')} {case.params.get('streams', '')}".split() else 2


def assigner_of(case: Case) -> WindowAssigner[Any, Any]:
    """Returns the window assigner of a case, which is specified as text or as fields."""
    spec = case.params.get("assigner") or case.params.get("window")
    return windows.assigner_of(spec) if isinstance(spec, dict) else windows.assigner_in(str(spec))


def with_settings(windowed: Any, case: Case) -> Any:
    """Sets the trigger, the evictor and the lateness of a case."""
    params = case.params
    if (trigger := params.get("trigger")) is not None:
        spec = windows.trigger_of(trigger) if isinstance(trigger, dict) else windows.trigger_in(str(trigger))
        windowed = windowed if spec is None else windowed.trigger(spec)
    if (evictor := windows.evictor_of(params.get("evictor"))) is not None:
        windowed = windowed.evictor(evictor)
    lateness = params.get("lateness", params.get("allowed_lateness", params.get("allowed_lateness_ms")))
    if lateness is None:
        return windowed
    return windowed.allowed_lateness(lateness if isinstance(lateness, int) else windows.lengths_in(str(lateness))[0])
