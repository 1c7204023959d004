"""The settings of a session that decide how a query runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from penstock.config.value_kinds import read_duration
from penstock.errors import ConfigError


@dataclass(frozen=True, slots=True)
class QuerySettings:
    """Options by their Flink names, with the session time zone, the current database and the mode."""

    options: Mapping[str, str] = field(default_factory=dict)
    zone: str = "UTC"
    database: str = "default_database"
    batch_mode: bool = False
    started: int | None = None  # fixes CURRENT_TIMESTAMP in batch mode

    def duration(self, key: str, default: int | None = None) -> int | None:
        """Returns an option as milliseconds."""
        value = self.options.get(key)
        return default if value is None else duration_in_ms(key, value)

    def flag(self, key: str, default: bool = False) -> bool:
        """Returns an option as a boolean."""
        value = self.options.get(key)
        return default if value is None else value.strip().lower() == "true"

    def at(self, now: int) -> QuerySettings:
        """Returns settings with a fixed CURRENT_TIMESTAMP."""
        return replace(self, started=now)

    @property
    def state_ttl(self) -> int:
        """How long state is kept that was not changed, in milliseconds; 0 without limit."""
        return self.duration("table.exec.state.ttl", 0) or 0


def duration_in_ms(key: str, value: str) -> int:
    """Returns a duration such as '10 s' or '1 d' in milliseconds. A number alone is in milliseconds.

    >>> duration_in_ms("ttl", "10 s"), duration_in_ms("ttl", "250")
    (10000, 250)
    """
    try:
        return read_duration(value)
    except ValueError as error:
        raise ConfigError(
            "SQL_OPTION", f"Option '{key}' is '{value}', but expects a duration such as '10 s', '1 min' or '1 d'."
        ) from error
