"""Converts the input of a case to batches. Every entry is one batch, so that its effect can be checked."""

from __future__ import annotations

from typing import Any

from penstock.connectors import At, Mark
from tests.conformance.case import Case, NotRunnableError
from tests.conformance.job import Batch


def batches_of(case: Case) -> list[Batch]:
    """Returns one batch per entry. A restore belongs to the next batch."""
    batches: list[Batch] = []
    restored = False
    for number, entry in enumerate(case.input, 1):
        if entry.get("checkpoint_restore"):
            restored = True
            continue
        batch = _batch(entry)
        batch.inputs, batch.restored = number, restored
        restored = False
        batches.append(batch)
    return batches


def _batch(entry: dict[str, Any]) -> Batch:
    if "processing_time" in entry:
        return Batch(clock=entry["processing_time"])
    if entry.get("end_of_input"):
        return Batch(end=True)
    at = int(entry.get("input", 1)) - 1
    if "watermark" in entry:
        return Batch({at: [Mark(entry["watermark"])]})
    if "value" in entry:
        value = entry["value"]
        return Batch({at: [value if entry.get("ts") is None else At(value, entry["ts"])]})
    raise NotRunnableError(f"an input entry with the fields {sorted(entry)} is not known")
