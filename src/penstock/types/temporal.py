"""Types of dates and times. None of them depends on the time zone of the machine."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from typing import Any

from penstock.time import Instant
from penstock.types.basic import BasicType, BasicTypeInfo
from penstock.types.information import Misfit, TypeInformation, kinds_of, shown

_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
_MICROSECOND = datetime.timedelta(microseconds=1)


class InstantTypeInfo(BasicTypeInfo):
    """Points on the time line; takes a datetime that knows its time zone too.

    >>> InstantTypeInfo().convert(datetime.datetime(1970, 1, 1, 0, 1, tzinfo=datetime.UTC))
    Instant<60, 0>
    """

    def __init__(self) -> None:
        super().__init__(BasicType.INSTANT)

    def fits(self, values: Sequence[Any]) -> bool:
        return kinds_of(values) <= {Instant}

    def convert(self, value: Any) -> Instant:
        if isinstance(value, Instant):
            return value
        if isinstance(value, datetime.datetime) and value.tzinfo is not None:
            since = value - _EPOCH
            return Instant(since.days * 86_400 + since.seconds, since.microseconds * 1000)
        raise Misfit(f"{shown(value)}, and INSTANT takes an Instant or a datetime with a time zone")

    def need_conversion(self) -> bool:
        return True

    def to_internal_type(self, obj: Any) -> Any:
        """Microseconds since 1970; what is less than a millisecond is lost, as in PyFlink."""
        return None if obj is None else obj.to_epoch_milli() * 1000

    def from_internal_type(self, obj: Any) -> Any:
        return None if obj is None else Instant.of_epoch_milli(obj // 1000)


class DateTypeInfo(TypeInformation):
    """Dates; of a datetime, its date.

    >>> DateTypeInfo().convert(datetime.datetime(2024, 5, 1, 12))
    datetime.date(2024, 5, 1)
    """

    name = "SQL_DATE"
    nullable = True

    def __repr__(self) -> str:
        return "DateTypeInfo"

    def fits(self, values: Sequence[Any]) -> bool:
        return kinds_of(values) <= {datetime.date}

    def convert(self, value: Any) -> datetime.date:
        if isinstance(value, datetime.datetime):
            return value.date()
        if isinstance(value, datetime.date):
            return value
        raise Misfit(f"{shown(value)}, and SQL_DATE takes a date")

    def need_conversion(self) -> bool:
        return True

    def to_internal_type(self, obj: Any) -> Any:
        """Days since 1970."""
        return None if obj is None else obj.toordinal() - _EPOCH.toordinal()

    def from_internal_type(self, obj: Any) -> Any:
        return None if obj is None else datetime.date.fromordinal(obj + _EPOCH.toordinal())


class TimeTypeInfo(TypeInformation):
    """Times of day, without a time zone; a time with one becomes UTC's.

    >>> TimeTypeInfo().convert(datetime.time(1, 2, 3, 4))
    datetime.time(1, 2, 3, 4)
    """

    name = "SQL_TIME"
    nullable = True

    def __repr__(self) -> str:
        return "TimeTypeInfo"

    def fits(self, values: Sequence[Any]) -> bool:
        return kinds_of(values) <= {datetime.time} and all(v is None or v.tzinfo is None for v in values)

    def convert(self, value: Any) -> datetime.time:
        if not isinstance(value, datetime.time):
            raise Misfit(f"{shown(value)}, and SQL_TIME takes a time")
        offset = value.utcoffset()
        if offset is None:
            return value.replace(tzinfo=None)
        day = datetime.datetime.combine(datetime.date(2000, 1, 2), value.replace(tzinfo=None))
        return (day - offset).time()

    def need_conversion(self) -> bool:
        return True

    def to_internal_type(self, obj: Any) -> Any:
        """Microseconds since midnight."""
        if obj is None:
            return None
        at = self.convert(obj)
        return ((at.hour * 60 + at.minute) * 60 + at.second) * 1_000_000 + at.microsecond

    def from_internal_type(self, obj: Any) -> Any:
        return None if obj is None else (datetime.datetime.min + datetime.timedelta(microseconds=obj)).time()


class TimestampTypeInfo(TypeInformation):
    """Dates with times, without a time zone, to the microsecond; a datetime with a time zone becomes UTC's.

    >>> zone = datetime.timezone(datetime.timedelta(hours=2))
    >>> TimestampTypeInfo().convert(datetime.datetime(2024, 5, 1, 12, tzinfo=zone))
    datetime.datetime(2024, 5, 1, 10, 0)
    """

    name = "SQL_TIMESTAMP"
    nullable = True

    def __repr__(self) -> str:
        return "TimestampTypeInfo"

    def fits(self, values: Sequence[Any]) -> bool:
        return kinds_of(values) <= {datetime.datetime} and all(v is None or v.tzinfo is None for v in values)

    def convert(self, value: Any) -> datetime.datetime:
        if not isinstance(value, datetime.datetime):
            raise Misfit(f"{shown(value)}, and SQL_TIMESTAMP takes a datetime")
        return value if value.tzinfo is None else value.astimezone(datetime.UTC).replace(tzinfo=None)

    def need_conversion(self) -> bool:
        return True

    def to_internal_type(self, obj: Any) -> Any:
        """Microseconds since 1970 in UTC. (PyFlink takes a datetime without a time zone for the machine's.)"""
        return None if obj is None else (self.convert(obj).replace(tzinfo=datetime.UTC) - _EPOCH) // _MICROSECOND

    def from_internal_type(self, obj: Any) -> Any:
        return None if obj is None else (_EPOCH + obj * _MICROSECOND).replace(tzinfo=None)


class SqlTimeTypeInfo:
    """Flink's other names of the types of dates and times."""

    DATE = DateTypeInfo
    TIME = TimeTypeInfo
    TIMESTAMP = TimestampTypeInfo
