"""Settings of a file sink: when a file is full, what files are called, and in which folder they are."""

from __future__ import annotations

import datetime
import re
import zoneinfo
from dataclasses import dataclass

from penstock.errors import ConfigError, UnsupportedOperation

_MEBIBYTE = 1 << 20


class RollingPolicy:
    """When a file is full. Files are finished with their batch at the latest, so only the size can end them before.

    >>> RollingPolicy.default_rolling_policy(part_size=1000).part_size
    1000
    """

    part_size: int | None = None

    @staticmethod
    def default_rolling_policy(
        part_size: int = 128 * _MEBIBYTE, rollover_interval: int = 60_000, inactivity_interval: int = 60_000
    ) -> DefaultRollingPolicy:
        """Files of at most about this size; the intervals (in milliseconds) are longer than a batch and change nothing."""
        return DefaultRollingPolicy(part_size, rollover_interval, inactivity_interval)

    @staticmethod
    def on_checkpoint_rolling_policy() -> OnCheckpointRollingPolicy:
        """One file for each batch and task."""
        return OnCheckpointRollingPolicy()


class DefaultRollingPolicy(RollingPolicy):
    """Ends a file by its size."""

    def __init__(self, part_size: int, rollover_interval: int, inactivity_interval: int) -> None:
        for name, value in (
            ("part_size", part_size),
            ("rollover_interval", rollover_interval),
            ("inactivity_interval", inactivity_interval),
        ):
            if value <= 0:
                raise ConfigError("ROLLING_POLICY", f"{name} is {value}; it must be more than 0.")
        self.part_size = part_size


class OnCheckpointRollingPolicy(RollingPolicy):
    """Ends a file with its batch."""


@dataclass(frozen=True)
class OutputFileConfig:
    """What the names of files begin and end with.

    >>> OutputFileConfig.builder().with_part_prefix("words").with_part_suffix(".txt").build()
    OutputFileConfig(part_prefix='words', part_suffix='.txt')
    """

    part_prefix: str = "part"
    part_suffix: str = ""

    def get_part_prefix(self) -> str:
        """What names begin with."""
        return self.part_prefix

    def get_part_suffix(self) -> str:
        """What names end with."""
        return self.part_suffix

    @staticmethod
    def builder() -> OutputFileConfig.OutputFileConfigBuilder:
        """Begins with `part` and no end."""
        return OutputFileConfig.OutputFileConfigBuilder()

    class OutputFileConfigBuilder:
        """Collects the settings."""

        def __init__(self) -> None:
            self.part_prefix = "part"
            self.part_suffix = ""

        def with_part_prefix(self, prefix: str) -> OutputFileConfig.OutputFileConfigBuilder:
            self.part_prefix = prefix
            return self

        def with_part_suffix(self, suffix: str) -> OutputFileConfig.OutputFileConfigBuilder:
            self.part_suffix = suffix
            return self

        def build(self) -> OutputFileConfig:
            return OutputFileConfig(self.part_prefix, self.part_suffix)


class BucketAssigner:
    """The folder for the files of a batch, below the sink's own."""

    def bucket(self, now: float) -> str:
        """The folder, by the time of the batch in seconds since 1970; empty for the sink's own."""
        raise NotImplementedError

    @staticmethod
    def base_path_bucket_assigner() -> BucketAssigner:
        """All files in the sink's own folder."""
        return _BasePath()

    @staticmethod
    def date_time_bucket_assigner(format_str: str = "yyyy-MM-dd--HH", timezone_id: str | None = None) -> BucketAssigner:
        """A folder for each hour, or for what else the format says; Java's letters y M d H m s.

        >>> BucketAssigner.date_time_bucket_assigner(timezone_id="UTC").bucket(0)
        '1970-01-01--00'
        """
        return _DateTime(format_str, timezone_id)


class _BasePath(BucketAssigner):
    def bucket(self, now: float) -> str:
        return ""


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

    def bucket(self, now: float) -> str:
        zone = None if self._zone is None else zoneinfo.ZoneInfo(self._zone)
        return datetime.datetime.fromtimestamp(now, zone).strftime(self._format)


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
