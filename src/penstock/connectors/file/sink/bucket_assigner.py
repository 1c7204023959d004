"""Assigns elements to buckets, which are subfolders of a file sink."""

from __future__ import annotations

import datetime
import re
import zoneinfo
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from penstock.errors import ConfigError, UnsupportedOperation


@dataclass(slots=True)
class BucketContext:
    """Times of an element, in milliseconds since the epoch."""

    processing_time: int
    element_timestamp: int | None

    def current_processing_time(self) -> int:
        """Returns the processing time."""
        return self.processing_time

    def timestamp(self) -> int | None:
        """Returns the timestamp of the element, or None."""
        return self.element_timestamp


class BucketAssigner:
    """Assigns each element to a bucket, a subfolder of the sink. Subclasses implement `get_bucket_id`.

    >>> class ByCountry(BucketAssigner):
    ...     def get_bucket_id(self, element, context):
    ...         return f"country={element['country']}"
    """

    wants_timestamps = True  # whether `context.timestamp()` is used

    def get_bucket_id(self, element: Any, context: BucketContext) -> str:
        """Returns the path of the bucket relative to the folder of the sink, such as "a/b"; "" is the folder itself."""
        raise NotImplementedError

    def bucket(self, now: int) -> str | None:
        """Returns the bucket of all elements that are written now, or None if it depends on the element."""
        return None

    @staticmethod
    def base_path_bucket_assigner() -> BucketAssigner:
        """Returns an assigner that writes all files to the folder of the sink."""
        return _BasePath()

    @staticmethod
    def date_time_bucket_assigner(format_str: str = "yyyy-MM-dd--HH", timezone_id: str | None = None) -> BucketAssigner:
        """Returns an assigner by processing time. The default is one bucket per hour.

        `format_str` is a Java date pattern of y, M, d, H, m and s.

        >>> BucketAssigner.date_time_bucket_assigner(timezone_id="UTC").bucket(0)
        '1970-01-01--00'
        """
        return _DateTime(format_str, timezone_id)

    @staticmethod
    def event_time_bucket_assigner(
        format_str: str = "yyyy-MM-dd--HH", timezone_id: str | None = None
    ) -> BucketAssigner:
        """Returns an assigner by the timestamp of each element, so that a repeated run writes to the same buckets."""
        return _EventTime(format_str, timezone_id)

    @staticmethod
    def by(bucket_of: Callable[[Any], str]) -> BucketAssigner:
        """Returns an assigner that calls a function for each element.

        >>> BucketAssigner.by(lambda order: order["country"]).get_bucket_id({"country": "de"}, BucketContext(0, None))
        'de'
        """
        return _FunctionAssigner(bucket_of)


class _BasePath(BucketAssigner):
    wants_timestamps = False

    def bucket(self, now: int) -> str:
        return ""


class _FunctionAssigner(BucketAssigner):
    wants_timestamps = False

    def __init__(self, bucket_of: Callable[[Any], str]) -> None:
        self._bucket_of = bucket_of

    def get_bucket_id(self, element: Any, context: BucketContext) -> str:
        return self._bucket_of(element)


_STRFTIME_CODES = {
    "yyyy": "%Y",
    "uuuu": "%Y",
    "yy": "%y",
    "MM": "%m",
    "dd": "%d",
    "HH": "%H",
    "mm": "%M",
    "ss": "%S",
    "DDD": "%j",
}


class _DateTime(BucketAssigner):
    wants_timestamps = False

    def __init__(self, pattern: str, timezone_id: str | None) -> None:
        self._format = to_strftime_format(pattern)
        self._zone = timezone_id
        if timezone_id is not None:
            try:
                zoneinfo.ZoneInfo(timezone_id)
            except (zoneinfo.ZoneInfoNotFoundError, ValueError):
                raise ConfigError(
                    "TIME_ZONE", f"Unknown time zone '{timezone_id}'. Use a name such as Europe/Berlin or UTC."
                ) from None

    def bucket(self, now: int) -> str | None:
        return self._format_time(now)

    def _format_time(self, millis: int) -> str:
        zone = None if self._zone is None else zoneinfo.ZoneInfo(self._zone)
        return datetime.datetime.fromtimestamp(millis / 1000, zone).strftime(self._format)


class _EventTime(_DateTime):
    wants_timestamps = True

    def bucket(self, now: int) -> None:
        return None

    def get_bucket_id(self, element: Any, context: BucketContext) -> str:
        timestamp = context.timestamp()
        if timestamp is None:
            raise ConfigError(
                "NO_TIMESTAMP",
                "event_time_bucket_assigner got an element without a timestamp. Assign a watermark strategy with a timestamp "
                "assigner to the stream before the sink, or use date_time_bucket_assigner.",
            )
        return self._format_time(timestamp)


def validate_bucket(bucket: Any) -> str:
    """Returns a bucket id without slashes at the ends. Raises ConfigError if it is not a visible subfolder of the sink.

    >>> validate_bucket("country=de/")
    'country=de'
    """
    if isinstance(bucket, str) and not bucket:
        return bucket
    names = bucket.strip("/").split("/") if isinstance(bucket, str) else [""]
    if any(name == "" or name.startswith((".", "_")) or "\0" in name for name in names):
        raise ConfigError(
            "BUCKET_ID",
            f"The bucket assigner returned {bucket!r} for an element; expected a str with a relative path, such as 'country=de' or "
            "'2024/05'. No name in it may be empty or start with a dot or an underscore, because readers skip such folders.",
        )
    return "/".join(names)


def to_strftime_format(pattern: str) -> str:
    """Converts a Java date pattern to a strftime format.

    >>> to_strftime_format("'day='yyyy-MM-dd/HH")
    'day=%Y-%m-%d/%H'
    """
    result = ""
    for match in re.finditer(r"'([^']*)'|([a-zA-Z])\2*|[^a-zA-Z']", pattern):
        token, quoted, letter = match[0], match[1], match[2]
        if quoted is not None:
            result += quoted.replace("%", "%%") or "'"
        elif letter is None:
            result += token.replace("%", "%%")
        elif token in _STRFTIME_CODES:
            result += _STRFTIME_CODES[token]
        else:
            raise UnsupportedOperation(
                "DATE_PATTERN",
                f"'{token}' in the date pattern '{pattern}' is not supported. Use {', '.join(_STRFTIME_CODES)}, and put other "
                "words in single quotes.",
            )
    return result
