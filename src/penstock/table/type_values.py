"""Values of types as PyFlink stores them: days, microseconds and the like."""

from __future__ import annotations

import calendar
import datetime
import time
from typing import Any

from penstock.types.logical import kinds
from penstock.types.logical.kinds import LogicalType

_DAY_0 = datetime.date(1970, 1, 1)
_INSTANT_0 = datetime.datetime(1970, 1, 1)
_MICROSECOND = datetime.timedelta(microseconds=1)


class LocalZone:
    """The zone of the machine, for TIMESTAMP_LTZ."""

    EPOCH_ORDINAL = calendar.timegm(time.localtime(0)) * 1_000_000


def stored_value(value: Any, type_: LogicalType, zone: type[LocalZone] = LocalZone) -> Any:
    """Returns a Python value as it is stored.

    >>> stored_value(datetime.date(1970, 1, 2), kinds.DATE)
    1
    """
    if value is None:
        return None
    match type_:
        case kinds.DateType():
            return value.toordinal() - _DAY_0.toordinal()
        case kinds.TimeType():
            offset = value.utcoffset() or datetime.timedelta()
            day = datetime.datetime.combine(_DAY_0, value.replace(tzinfo=None)) - offset
            return (day - _INSTANT_0) // _MICROSECOND
        case kinds.TimestampType() if value.tzinfo is not None:
            instant = value.astimezone(datetime.UTC).replace(tzinfo=None)
            return (instant - _INSTANT_0) // _MICROSECOND + zone.EPOCH_ORDINAL
        case kinds.TimestampType():
            return (value - _INSTANT_0) // _MICROSECOND
        case kinds.DayTimeIntervalType():
            return value // _MICROSECOND
        case kinds.ArrayType() | kinds.MultisetType():
            return [stored_value(v, type_.element, zone) for v in value]
        case kinds.MapType():
            pairs = value.items()
            return {stored_value(k, type_.key, zone): stored_value(v, type_.value, zone) for k, v in pairs}
    return value


def python_value(value: Any, type_: LogicalType) -> Any:
    """Returns a stored value as a Python value.

    >>> python_value([0, 1], kinds.ArrayType(kinds.DATE))
    [datetime.date(1970, 1, 1), datetime.date(1970, 1, 2)]
    """
    if value is None:
        return None
    match type_:
        case kinds.DateType():
            return datetime.date.fromordinal(value + _DAY_0.toordinal())
        case kinds.TimeType():
            return (_INSTANT_0 + value * _MICROSECOND).time()
        case kinds.TimestampType():
            return _INSTANT_0 + value * _MICROSECOND
        case kinds.DayTimeIntervalType():
            return value * _MICROSECOND
        case kinds.ArrayType() | kinds.MultisetType():
            return [python_value(v, type_.element) for v in value]
        case kinds.MapType():
            return {python_value(k, type_.key): python_value(v, type_.value) for k, v in value.items()}
    return value
