"""The moment of a version of a table: 'scan.timestamp'."""

from __future__ import annotations

from datetime import UTC, datetime

from penstock.runtime.relational.functions.zones import zone_of


def moment_in_utc(text: str, zone: str) -> str:
    """Returns a moment as Spark reads it in every time zone. A text without an offset is in the time zone of the session.

    >>> moment_in_utc("2026-01-02 00:30:00", "Asia/Tokyo")
    '2026-01-01 15:30:00.000000Z'
    """
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=zone_of(zone))
    return moment.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S.%fZ")
