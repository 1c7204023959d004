"""Parts of the vocabulary that are excluded because of known defects. Remove an exclusion when its defect is repaired."""

from __future__ import annotations

from tests.system.invariance.payloads import PAYLOADS

# Issue 17, item 4: a declared state type is applied only when the batch ends.
EXCLUDED_PAYLOADS = {"berlin", "instant", "float32 inexact", "dict as row", "naive", "list of tuples"}
# Issue 17, item 7: ingestion time waits for silent splits and for the next record.
EXCLUDED_WATERMARKS = {"ingestion"}


def allowed_payloads() -> list[str]:
    return [name for name in PAYLOADS if name not in EXCLUDED_PAYLOADS]


def allowed_watermarks() -> list[str]:
    names = ["monotonous", "bounded", "explicit", "punctuated", "ingestion"]
    return [name for name in names if name not in EXCLUDED_WATERMARKS]
