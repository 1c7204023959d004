"""Instants as local times and back, by the rules of Java: the earlier instant of two, and gaps are jumped over."""

from __future__ import annotations

import datetime
import functools
import re
import zoneinfo

import pyarrow as pa
import pyarrow.compute as pc

from penstock.runtime.relational.expressions.frame import Value

_EPOCH = datetime.datetime(1970, 1, 1)
_FIXED = re.compile(r"(?:UTC|GMT|UT)?([+-])(\d{1,2})(?::?(\d{2}))?(?::?(\d{2}))?")


@functools.cache
def zone_of(name: str) -> datetime.tzinfo | None:
    """Returns the time zone of a name such as Europe/Berlin, UTC or GMT+08:00; None if there is none.

    >>> zone_of("GMT+2").utcoffset(None)
    datetime.timedelta(seconds=7200)
    """
    if name in ("Z", "UTC", "GMT", "UT"):
        return datetime.UTC
    fixed = _FIXED.fullmatch(name)
    if fixed is not None:
        sign = -1 if fixed[1] == "-" else 1
        offset = datetime.timedelta(hours=int(fixed[2]), minutes=int(fixed[3] or 0), seconds=int(fixed[4] or 0))
        return datetime.timezone(sign * offset) if offset <= datetime.timedelta(hours=18) else None
    try:
        return zoneinfo.ZoneInfo(name)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
        return None


def arrow_zone(name: str) -> str:
    """Returns the name of a time zone as Arrow takes it."""
    zone = zone_of(name)
    if isinstance(zone, datetime.timezone):
        seconds = int(zone.utcoffset(None).total_seconds())
        return f"{'-' if seconds < 0 else '+'}{abs(seconds) // 3600:02d}:{abs(seconds) % 3600 // 60:02d}"
    return name


def to_local(column: Value, zone: str) -> Value:
    """Returns instants as local timestamps of a zone."""
    if zone_of(zone) is datetime.UTC:
        return pc.cast(column, pa.timestamp(column.type.unit))
    return pc.local_timestamp(pc.cast(column, pa.timestamp(column.type.unit, arrow_zone(zone))))


def to_instant(column: Value, zone: str) -> Value:
    """Returns local timestamps of a zone as instants."""
    wanted = pa.timestamp(column.type.unit, "UTC")
    found = zone_of(zone)
    if found is datetime.UTC or isinstance(found, datetime.timezone):
        seconds = 0 if found is datetime.UTC else int(found.utcoffset(None).total_seconds())
        shift = seconds * {"ms": 1000, "us": 1_000_000, "ns": 1_000_000_000}[column.type.unit]
        return pc.cast(pc.subtract(pc.cast(column, pa.int64()), shift), wanted)
    try:
        return pc.cast(pc.assume_timezone(column, zone, ambiguous="earliest", nonexistent="raise"), wanted)
    except (pa.ArrowInvalid, ValueError):  # some of the times do not exist
        unit = {"ms": 1_000_000, "us": 1000, "ns": 1}[column.type.unit]
        values = [column] if isinstance(column, pa.Scalar) else list(column)
        whole = [
            None if not v.is_valid else local_to_instant(v.cast(pa.int64()).as_py() * unit, zone) // unit
            for v in values
        ]
        result = pa.array(whole, pa.int64()).cast(wanted)
        return result[0] if isinstance(column, pa.Scalar) else result


def local_to_instant(nanos: int, zone: str, later: bool = False) -> int:
    """Returns the instant of one local time, the later of two if asked for; both are nanoseconds since 1970.

    >>> local_to_instant(0, "Asia/Tokyo") // 3_600_000_000_000
    -9
    """
    seconds, rest = divmod(nanos, 1_000_000_000)
    offset = _offset(seconds, zone)
    if later:  # an offset that is valid after the change, if the time occurs twice
        following = _offset(seconds - offset + 86_400, zone)
        if following < offset and _offset(seconds - following + offset, zone) == following:
            again = (seconds - following) * 1_000_000_000
            if instant_to_local(again, zone) == seconds * 1_000_000_000:
                offset = following
    return (seconds - offset) * 1_000_000_000 + rest


def instant_to_local(nanos: int, zone: str) -> int:
    """Returns the local time of one instant; both are nanoseconds since 1970."""
    seconds, rest = divmod(nanos, 1_000_000_000)
    found = zone_of(zone) or datetime.UTC
    moment = (_EPOCH + datetime.timedelta(seconds=seconds)).replace(tzinfo=datetime.UTC).astimezone(found)
    offset = moment.utcoffset()
    assert offset is not None
    return (seconds + int(offset.total_seconds())) * 1_000_000_000 + rest


def _offset(local_seconds: int, zone: str) -> int:
    found = zone_of(zone) or datetime.UTC
    offset = (_EPOCH + datetime.timedelta(seconds=local_seconds)).replace(tzinfo=found).utcoffset()
    assert offset is not None
    return int(offset.total_seconds())
