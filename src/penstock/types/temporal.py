"""Types of dates and times. None of them depends on the time zone of the machine."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from typing import Any, TypeVar

from penstock.time import Instant
from penstock.types.basic import BasicType, BasicTypeInfo
from penstock.types.information import Misfit, TypeInformation, describe_value, value_classes
from penstock.types.visitor import TypeVisitor

R = TypeVar("R")
_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
_MICROSECOND = datetime.timedelta(microseconds=1)


class InstantTypeInfo(BasicTypeInfo):
    """The type of `Instant`, a point on the time line. Converts a datetime that has a time zone.

    >>> InstantTypeInfo().convert(datetime.datetime(1970, 1, 1, 0, 1, tzinfo=datetime.UTC))
    Instant<60, 0>
    """

    def __init__(self) -> None:
        super().__init__(BasicType.INSTANT)

    def fits(self, values: Sequence[Any]) -> bool:
        return value_classes(values) <= {Instant}

    def convert(self, value: Any) -> Instant:
        if isinstance(value, Instant):
            return value
        if isinstance(value, datetime.datetime) and value.tzinfo is not None:
            since = value - _EPOCH
            return Instant(since.days * 86_400 + since.seconds, since.microseconds * 1000)
        raise Misfit(f"{describe_value(value)}, but INSTANT takes an Instant or a datetime with a time zone")

    def need_conversion(self) -> bool:
        return True

    def to_internal_type(self, obj: Any) -> Any:
        """Returns microseconds since 1970, truncated to milliseconds as in PyFlink."""
        return None if obj is None else obj.to_epoch_milli() * 1000

    def from_internal_type(self, obj: Any) -> Any:
        return None if obj is None else Instant.of_epoch_milli(obj // 1000)


class DateTypeInfo(TypeInformation):
    """The type of dates. Converts a datetime to its date.

    >>> DateTypeInfo().convert(datetime.datetime(2024, 5, 1, 12))
    datetime.date(2024, 5, 1)
    """

    name = "SQL_DATE"
    nullable = True

    def accept(self, visitor: TypeVisitor[R]) -> R:
        return visitor.visit_date(self)

    def __repr__(self) -> str:
        return "DateTypeInfo"

    def fits(self, values: Sequence[Any]) -> bool:
        return value_classes(values) <= {datetime.date}

    def convert(self, value: Any) -> datetime.date:
        if isinstance(value, datetime.datetime):
            return value.date()
        if isinstance(value, datetime.date):
            return value
        raise Misfit(f"{describe_value(value)}, but SQL_DATE takes a date")

    def need_conversion(self) -> bool:
        return True

    def to_internal_type(self, obj: Any) -> Any:
        """Returns days since 1970."""
        return None if obj is None else obj.toordinal() - _EPOCH.toordinal()

    def from_internal_type(self, obj: Any) -> Any:
        return None if obj is None else datetime.date.fromordinal(obj + _EPOCH.toordinal())


class TimeTypeInfo(TypeInformation):
    """The type of times of day without a time zone. A time with a time zone is converted to UTC.

    >>> TimeTypeInfo().convert(datetime.time(1, 2, 3, 4))
    datetime.time(1, 2, 3, 4)
    """

    name = "SQL_TIME"
    nullable = True

    def accept(self, visitor: TypeVisitor[R]) -> R:
        return visitor.visit_time(self)

    def __repr__(self) -> str:
        return "TimeTypeInfo"

    def fits(self, values: Sequence[Any]) -> bool:
        return value_classes(values) <= {datetime.time} and all(v is None or v.tzinfo is None for v in values)

    def convert(self, value: Any) -> datetime.time:
        if not isinstance(value, datetime.time):
            raise Misfit(f"{describe_value(value)}, but SQL_TIME takes a time")
        offset = value.utcoffset()
        if offset is None:
            return value.replace(tzinfo=None)
        day = datetime.datetime.combine(datetime.date(2000, 1, 2), value.replace(tzinfo=None))
        return (day - offset).time()

    def need_conversion(self) -> bool:
        return True

    def to_internal_type(self, obj: Any) -> Any:
        """Returns microseconds since midnight."""
        if obj is None:
            return None
        time = self.convert(obj)
        return ((time.hour * 60 + time.minute) * 60 + time.second) * 1_000_000 + time.microsecond

    def from_internal_type(self, obj: Any) -> Any:
        return None if obj is None else (datetime.datetime.min + datetime.timedelta(microseconds=obj)).time()


class TimestampTypeInfo(TypeInformation):
    """The type of dates with times, in microseconds, without a time zone. A datetime with a time zone is converted to UTC.

    >>> zone = datetime.timezone(datetime.timedelta(hours=2))
    >>> TimestampTypeInfo().convert(datetime.datetime(2024, 5, 1, 12, tzinfo=zone))
    datetime.datetime(2024, 5, 1, 10, 0)
    """

    name = "SQL_TIMESTAMP"
    nullable = True

    def accept(self, visitor: TypeVisitor[R]) -> R:
        return visitor.visit_timestamp(self)

    def __repr__(self) -> str:
        return "TimestampTypeInfo"

    def fits(self, values: Sequence[Any]) -> bool:
        return value_classes(values) <= {datetime.datetime} and all(v is None or v.tzinfo is None for v in values)

    def convert(self, value: Any) -> datetime.datetime:
        if not isinstance(value, datetime.datetime):
            raise Misfit(f"{describe_value(value)}, but SQL_TIMESTAMP takes a datetime")
        return value if value.tzinfo is None else value.astimezone(datetime.UTC).replace(tzinfo=None)

    def need_conversion(self) -> bool:
        return True

    def to_internal_type(self, obj: Any) -> Any:
        """Returns microseconds since 1970 in UTC. PyFlink instead uses the time zone of the machine."""
        return None if obj is None else (self.convert(obj).replace(tzinfo=datetime.UTC) - _EPOCH) // _MICROSECOND

    def from_internal_type(self, obj: Any) -> Any:
        return None if obj is None else (_EPOCH + obj * _MICROSECOND).replace(tzinfo=None)


class SqlTimeTypeInfo:
    """Flink's alternative names of the types of dates and times."""

    DATE = DateTypeInfo
    TIME = TimeTypeInfo
    TIMESTAMP = TimestampTypeInfo
