"""Parts of the vocabulary that are excluded because of known defects. Remove an exclusion when its defect is repaired."""

from __future__ import annotations

from tests.system.invariance.payloads import PAYLOADS

EXCLUDED_PAYLOADS: set[str] = set()
# Not a defect: the timestamps and watermarks of ingestion time are those of the batch clock (time-rules 7.2).
EXCLUDED_WATERMARKS = {"ingestion"}


def allowed_payloads() -> list[str]:
    return [name for name in PAYLOADS if name not in EXCLUDED_PAYLOADS]


def allowed_watermarks() -> list[str]:
    names = ["monotonous", "bounded", "explicit", "punctuated", "ingestion"]
    return [name for name in names if name not in EXCLUDED_WATERMARKS]
