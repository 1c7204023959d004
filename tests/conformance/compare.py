"""Compares the results of a job with the expectations of a case."""

from __future__ import annotations

from typing import Any

from penstock.time import MAX_WATERMARK, MIN_WATERMARK
from tests.conformance.case import Case
from tests.conformance.job import MAIN, BatchResult, side

Entry = dict[str, Any]


def check(case: Case, results: list[BatchResult]) -> None:
    """Checks elements, timestamps, watermarks and side outputs, and that nothing is emitted later than expected."""
    compare(case, case.entries, _with_watermarks(case, results))
    for tag, expected in case.side_outputs.items():
        compare(case, expected, _entries(results, side(tag)))


def compare(case: Case, expected: list[Entry], found: list[Entry]) -> None:
    actual, wanted = _ordered(case, found), _ordered(case, expected)
    fields = [_expected_fields(entry, e) for entry, e in zip(actual, wanted, strict=False)] + actual[len(wanted) :]
    assert fields == [_plain(entry) for entry in wanted]
    for entry, e in zip(actual, wanted, strict=True):
        if "after_inputs" in e:
            assert entry["inputs"] <= e["after_inputs"], f"{e} came after {entry['inputs']} inputs"


def _entries(results: list[BatchResult], sink: str) -> list[Entry]:
    return [{"value": v, "ts": ts, "inputs": batch.inputs} for batch in results for v, ts in batch.outputs[sink]]


def _with_watermarks(case: Case, results: list[BatchResult]) -> list[Entry]:
    """Returns the main output as in Flink's test harness, where a watermark follows the elements that it caused."""
    expected = {entry["watermark"] for entry in case.entries if "watermark" in entry}
    entries: list[Entry] = []
    before = MIN_WATERMARK
    for batch in results:
        entries += _entries([batch], MAIN)
        if batch.watermark > before and expected and (batch.watermark < MAX_WATERMARK or MAX_WATERMARK in expected):
            entries.append({"watermark": batch.watermark, "inputs": batch.inputs})
        before = batch.watermark
    return entries


def _ordered(case: Case, entries: list[Entry]) -> list[Entry]:
    """Returns the entries in an order that can be compared, as the case specifies."""
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


def _expected_fields(entry: Entry, of: Entry) -> Entry:
    """Returns the fields of an entry that the case specifies. Without `ts`, the timestamp is not checked."""
    return {key: _json(value) for key, value in entry.items() if key in of or key in ("value", "watermark")}


def _plain(entry: Entry) -> Entry:
    return {key: value for key, value in entry.items() if key in ("value", "ts", "watermark")}


def _json(value: Any) -> Any:
    """Returns a value as after a JSON round trip."""
    if isinstance(value, (list, tuple)):
        return [_json(v) for v in value]
    if isinstance(value, dict):
        return {str(k): _json(v) for k, v in value.items()}
    return value
