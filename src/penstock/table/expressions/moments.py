"""Functions of time."""

from __future__ import annotations

from typing import Any

from sqlglot import exp

from penstock.table.dialect import nodes
from penstock.table.expressions.base import call_text, node_of
from penstock.table.expressions.expression import Expression
from penstock.table.expressions.function import constant, function
from penstock.table.expressions.unit_calls import with_unit
from penstock.table.expressions.units import TimePointUnit


def current_date() -> Expression[Any]:
    """Returns the day in the time zone of the session."""
    return constant("CURRENT_DATE", "currentDate")


def current_time() -> Expression[Any]:
    """Returns the time of day in the time zone of the session."""
    return constant("CURRENT_TIME", "currentTime")


def current_timestamp() -> Expression[Any]:
    """Returns the moment, as TIMESTAMP_LTZ."""
    return constant("CURRENT_TIMESTAMP", "currentTimestamp")


def local_time() -> Expression[Any]:
    """Returns the time of day in the time zone of the session."""
    return constant("LOCALTIME", "localTime")


def local_timestamp() -> Expression[Any]:
    """Returns the moment in the time zone of the session, as TIMESTAMP."""
    return constant("LOCALTIMESTAMP", "localTimestamp")


def current_watermark(rowtimeAttribute: object) -> Expression[Any]:  # noqa: N803 - the name of Flink
    """Returns the watermark of the rows, or NULL before the first one."""
    return function("CURRENT_WATERMARK", "CURRENT_WATERMARK", rowtimeAttribute)


def source_watermark() -> Expression[Any]:
    """Makes the watermarks of the source those of the table. Use it in the schema of a table."""
    return function("SOURCE_WATERMARK", "SOURCE_WATERMARK")


def to_date(date_str: object, format: object = None) -> Expression[Any]:
    """Returns the day that text means in a format, which is yyyy-MM-dd if none is given."""
    return _with_option("TO_DATE", "toDate", date_str, format)


def to_timestamp(timestamp_str: object, format: object = None) -> Expression[Any]:
    """Returns the timestamp that text means in a format, which is yyyy-MM-dd HH:mm:ss if none is given."""
    return _with_option("TO_TIMESTAMP", "toTimestamp", timestamp_str, format)


def to_timestamp_ltz(*args: object) -> Expression[Any]:
    """Returns the moment of a number and a precision, or of text, a format and a time zone."""
    return function("TO_TIMESTAMP_LTZ", "TO_TIMESTAMP_LTZ", *args)


def temporal_overlaps(
    left_time_point: object, left_temporal: object, right_time_point: object, right_temporal: object
) -> Expression[bool]:
    """Whether two periods overlap. A period is a point in time, and its end or its length."""
    left = nodes.RowConstructor(expressions=[node_of(left_time_point), node_of(left_temporal)], explicit=False)
    right = nodes.RowConstructor(expressions=[node_of(right_time_point), node_of(right_temporal)], explicit=False)
    text = call_text("temporalOverlaps", left_time_point, left_temporal, right_time_point, right_temporal)
    return Expression(exp.Overlaps(this=left, expression=right), text)


def date_format(timestamp: object, format: object) -> Expression[str]:
    """Returns a point in time as text in a format."""
    return function("DATE_FORMAT", "dateFormat", timestamp, format)


def timestamp_diff(time_point_unit: TimePointUnit, time_point1: object, time_point2: object) -> Expression[int]:
    """Returns how many whole units lie between two points in time."""
    node = with_unit("TIMESTAMPDIFF", time_point_unit, node_of(time_point1), node_of(time_point2))
    return Expression(node, call_text("timestampDiff", time_point_unit, time_point1, time_point2))


def convert_tz(date_str: object, tz_from: object, tz_to: object) -> Expression[str]:
    """Returns the text of a timestamp in another time zone."""
    return function("CONVERT_TZ", "convertTz", date_str, tz_from, tz_to)


def from_unixtime(unixtime: object, format: object = None) -> Expression[str]:
    """Returns the text of a number of seconds since 1970 in a format."""
    return _with_option("FROM_UNIXTIME", "fromUnixtime", unixtime, format)


def unix_timestamp(date_str: object = None, format: object = None) -> Expression[int]:
    """Returns the number of seconds since 1970, now or of text in a format."""
    if date_str is None:
        return function("UNIX_TIMESTAMP", "unixTimestamp")
    return _with_option("UNIX_TIMESTAMP", "unixTimestamp", date_str, format)


def _with_option(name: str, text: str, value: object, option: object) -> Expression[Any]:
    return function(name, text, value) if option is None else function(name, text, value, option)
