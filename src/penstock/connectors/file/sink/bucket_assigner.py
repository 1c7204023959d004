"""The folder for an element, below a file sink's own."""

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
    """What is known of an element beside itself; milliseconds since 1970."""

    processing_time: int
    element_timestamp: int | None

    def current_processing_time(self) -> int:
        """The clock where the element is written."""
        return self.processing_time

    def timestamp(self) -> int | None:
        """The element's own timestamp, if it has one."""
        return self.element_timestamp


class BucketAssigner:
    """Decides for each element in which folder its file is. Subclasses write `get_bucket_id`.

    >>> class ByCountry(BucketAssigner):
    ...     def get_bucket_id(self, element, context):
    ...         return f"country={element['country']}"
    """

    wants_timestamps = True  # whether `context.timestamp()` is asked for

    def get_bucket_id(self, element: Any, context: BucketContext) -> str:
        """The folder, below the sink's own: "" is that one itself, "a/b" is one in another."""
        raise NotImplementedError

    def bucket(self, now: int) -> str | None:
        """The folder for all elements that are written now, where it does not depend on them."""
        return None

    @staticmethod
    def base_path_bucket_assigner() -> BucketAssigner:
        """All files in the sink's own folder."""
        return _BasePath()

    @staticmethod
    def date_time_bucket_assigner(format_str: str = "yyyy-MM-dd--HH", timezone_id: str | None = None) -> BucketAssigner:
        """A folder for each hour of processing time, or for what else the format says; Java's letters y M d H m s.

        >>> BucketAssigner.date_time_bucket_assigner(timezone_id="UTC").bucket(0)
        '1970-01-01--00'
        """
        return _DateTime(format_str, timezone_id)

    @staticmethod
    def event_time_bucket_assigner(
        format_str: str = "yyyy-MM-dd--HH", timezone_id: str | None = None
    ) -> BucketAssigner:
        """The same by each element's own timestamp, so that a repeated run fills the same folders."""
        return _EventTime(format_str, timezone_id)

    @staticmethod
    def by(bucket_of: Callable[[Any], str]) -> BucketAssigner:
        """The folder that a function says of an element.

        >>> BucketAssigner.by(lambda order: order["country"]).get_bucket_id({"country": "de"}, BucketContext(0, None))
        'de'
        """
        return _By(bucket_of)


class _BasePath(BucketAssigner):
    wants_timestamps = False

    def bucket(self, now: int) -> str:
        return ""


class _By(BucketAssigner):
    wants_timestamps = False

    def __init__(self, bucket_of: Callable[[Any], str]) -> None:
        self._bucket_of = bucket_of

    def get_bucket_id(self, element: Any, context: BucketContext) -> str:
        return self._bucket_of(element)


_LETTERS = {
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
        self._format = python_format(pattern)
        self._zone = timezone_id
        if timezone_id is not None:
            try:
                zoneinfo.ZoneInfo(timezone_id)
            except (zoneinfo.ZoneInfoNotFoundError, ValueError):
                raise ConfigError(
                    "TIME_ZONE", f"There is no time zone '{timezone_id}'. Give a name such as Europe/Berlin or UTC."
                ) from None

    def bucket(self, now: int) -> str | None:
        return self._folder(now)

    def _folder(self, millis: int) -> str:
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
                "event_time_bucket_assigner got an element without a timestamp. Give the stream a watermark strategy with a "
                "timestamp assigner before the sink, or use date_time_bucket_assigner.",
            )
        return self._folder(timestamp)


def checked_bucket(bucket: Any) -> str:
    """A folder below the sink's own, and a visible one.

    >>> checked_bucket("country=de/")
    'country=de'
    """
    if isinstance(bucket, str) and not bucket:
        return bucket
    names = bucket.strip("/").split("/") if isinstance(bucket, str) else [""]
    if any(name == "" or name.startswith((".", "_")) or "\0" in name for name in names):
        raise ConfigError(
            "BUCKET_ID",
            f"The bucket assigner gave {bucket!r} for an element. It must give a text: a folder below the sink's own, such as "
            "'country=de' or '2024/05', in which no name is empty or begins with a dot or an underscore, since readers skip those.",
        )
    return "/".join(names)


def python_format(pattern: str) -> str:
    """Python's form of a Java date pattern.

    >>> python_format("'day='yyyy-MM-dd/HH")
    'day=%Y-%m-%d/%H'
    """
    made = ""
    for token in re.finditer(r"'([^']*)'|([a-zA-Z])\2*|[^a-zA-Z']", pattern):
        quoted, letter, whole = token[1], token[2], token[0]
        if quoted is not None:
            made += quoted.replace("%", "%%") or "'"
        elif letter is None:
            made += whole.replace("%", "%%")
        elif whole in _LETTERS:
            made += _LETTERS[whole]
        else:
            raise UnsupportedOperation(
                "DATE_PATTERN",
                f"'{whole}' in the date pattern '{pattern}' is not known here. Use {', '.join(_LETTERS)}; other words go in "
                "single quotes.",
            )
    return made
