"""Compares what happened with what a case expects."""

from __future__ import annotations

from typing import Any

from penstock.time import MAX_WATERMARK, MIN_WATERMARK
from tests.conformance.case import Case
from tests.conformance.job import MAIN, Happened, side

Entry = dict[str, Any]


def check(case: Case, happened: list[Happened]) -> None:
    """Elements, their timestamps, watermarks between them, and side outputs; nothing later than the case says."""
    compare(case, case.entries, _with_watermarks(case, happened))
    for tag, expected in case.side_outputs.items():
        compare(case, expected, _entries(happened, side(tag)))


def compare(case: Case, expected: list[Entry], found: list[Entry]) -> None:
    arranged, wanted = _arranged(case, found), _arranged(case, expected)
    shown = [_as_asked(entry, of) for entry, of in zip(arranged, wanted, strict=False)] + arranged[len(wanted) :]
    assert shown == [_plain(entry) for entry in wanted]
    for entry, of in zip(arranged, wanted, strict=True):
        if "after_inputs" in of:
            assert entry["inputs"] <= of["after_inputs"], f"{of} came after {entry['inputs']} inputs"


def _entries(happened: list[Happened], sink: str) -> list[Entry]:
    return [{"value": v, "ts": ts, "inputs": batch.inputs} for batch in happened for v, ts in batch.outputs[sink]]


def _with_watermarks(case: Case, happened: list[Happened]) -> list[Entry]:
    """The main output as Flink's test operators show it: a watermark stands behind what it made the operator emit."""
    expected = {entry["watermark"] for entry in case.entries if "watermark" in entry}
    entries: list[Entry] = []
    before = MIN_WATERMARK
    for batch in happened:
        entries += _entries([batch], MAIN)
        if batch.watermark > before and expected and (batch.watermark < MAX_WATERMARK or MAX_WATERMARK in expected):
            entries.append({"watermark": batch.watermark, "inputs": batch.inputs})
        before = batch.watermark
    return entries


def _arranged(case: Case, entries: list[Entry]) -> list[Entry]:
    """Entries in their order, as far as the case fixes it."""
    if case.order in ("exact", "as listed"):
        return entries
    if "within a watermark step" in case.order:
        arranged: list[Entry] = []
        step: list[Entry] = []
        for entry in entries:
            if "watermark" in entry:
                arranged += [*sorted(step, key=_sort_key), entry]
                step = []
            else:
                step.append(entry)
        return arranged + sorted(step, key=_sort_key)
    return sorted((e for e in entries if "watermark" not in e), key=_sort_key)


def _sort_key(entry: Entry) -> str:
    return repr(_json(entry["value"]))


def _as_asked(entry: Entry, of: Entry) -> Entry:
    """What was found, in the fields that the case gives: no `ts` there leaves the timestamp open."""
    return {key: _json(value) for key, value in entry.items() if key in of or key in ("value", "watermark")}


def _plain(entry: Entry) -> Entry:
    return {key: value for key, value in entry.items() if key in ("value", "ts", "watermark")}


def _json(value: Any) -> Any:
    """A value as JSON would bring it back."""
    if isinstance(value, (list, tuple)):
        return [_json(v) for v in value]
    if isinstance(value, dict):
        return {str(k): _json(v) for k, v in value.items()}
    return value
