"""The settings of a table environment."""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import timedelta
from enum import Enum
from typing import Any

from penstock.config import Configuration
from penstock.config.value_kinds import read_duration
from penstock.errors import ConfigError
from penstock.runtime.relational.functions.zones import zone_of

_ZONE = "table.local-time-zone"
_OWN = ("table.", "sql-client.")  # settings of queries, which are no options of jobs
_WIDTHS = ("table.display.max-column-width", "sql-client.display.max-column-width")


class SqlDialect(Enum):
    """The dialect of SQL. Only Flink's own one is supported."""

    DEFAULT = "default"
    HIVE = "hive"


class TableConfig:
    """Settings by key, as texts. Keys are those of Flink; those of jobs, such as `parallelism.default`, are possible, too.

    >>> config = TableConfig().set("table.local-time-zone", "Asia/Tokyo")
    >>> config.get_local_timezone(), config.get("pipeline.name", "none")
    ('Asia/Tokyo', 'none')
    """

    def __init__(self, values: Mapping[str, Any] | None = None) -> None:
        self._initial = {key: _text(value) for key, value in (values or {}).items()}
        self._values = dict(self._initial)

    @staticmethod
    def get_default() -> TableConfig:
        """Returns settings without values."""
        return TableConfig()

    def get(self, key: str, default_value: str | None = None) -> str | None:
        """Returns the value of a key, or the default."""
        return self._values.get(key, default_value)

    def set(self, key: str, value: Any) -> TableConfig:
        """Sets a key."""
        text = _text(value)
        if key == _ZONE and text != "default":
            _check_zone(text)
        if key == "table.sql-dialect" and text.lower() != "default":
            raise ConfigError("SQL_DIALECT", f"The dialect '{text}' is not supported. Use 'default'.")
        self._values[key] = text
        return self

    def reset(self, key: str | None = None) -> None:
        """Removes the value of a key that was set, or of all keys."""
        if key is None:
            self._values = dict(self._initial)
        elif key in self._initial:
            self._values[key] = self._initial[key]
        else:
            self._values.pop(key, None)

    def values(self) -> dict[str, str]:
        """Returns all keys that have a value, in order."""
        return dict(sorted(self._values.items()))

    def add_configuration(self, configuration: Configuration | Mapping[str, Any]) -> None:
        """Sets all keys of another configuration."""
        values = configuration.to_dict() if isinstance(configuration, Configuration) else configuration
        for key, value in values.items():
            self.set(key, value)

    def get_configuration(self) -> Configuration:
        """Returns the settings as a configuration of jobs."""
        return Configuration(self._values)

    def job_configuration(self) -> Configuration:
        """Returns the options of jobs among the settings."""
        return Configuration({k: v for k, v in self._values.items() if not k.startswith(_OWN)})

    def set_job_options(self) -> dict[str, str]:
        """Returns the options of jobs that were set since the environment was created."""
        return {
            key: value
            for key, value in self._values.items()
            if not key.startswith(_OWN) and self._initial.get(key) != value
        }

    def get_local_timezone(self) -> str:
        """Returns the time zone of the session."""
        zone = self._values.get(_ZONE, "default")
        return system_zone() if zone == "default" else zone

    def set_local_timezone(self, timezone_id: str) -> None:
        """Sets the time zone of the session."""
        self.set(_ZONE, timezone_id)

    def get_idle_state_retention(self) -> timedelta:
        """Returns how long state is kept that no row has used. Zero is forever."""
        return timedelta(milliseconds=read_duration(self._values.get("table.exec.state.ttl", "0 ms")))

    def set_idle_state_retention(self, duration: timedelta) -> TableConfig:
        """Sets how long state is kept that no row has used."""
        return self.set("table.exec.state.ttl", f"{int(duration.total_seconds() * 1000)} ms")

    def get_sql_dialect(self) -> SqlDialect:
        """Returns the dialect of SQL."""
        return SqlDialect.DEFAULT

    def set_sql_dialect(self, sql_dialect: SqlDialect) -> None:
        """Sets the dialect of SQL."""
        self.set("table.sql-dialect", sql_dialect.value)

    def get_max_generated_code_length(self) -> int:
        """Returns the value that was set. It has no effect, because no code is generated."""
        return int(self._values.get("table.generated-code.max-length", "4000"))

    def set_max_generated_code_length(self, max_generated_code_length: int) -> None:
        """Accepted for compatibility, has no effect, because no code is generated."""
        self.set("table.generated-code.max-length", max_generated_code_length)

    def to_map(self) -> dict[str, str]:
        """Returns all keys that have a value."""
        return self.values()

    def set_python_executable(self, python_exec: str) -> None:
        """Sets the Python interpreter that runs functions. It needs the same packages as that of the program."""
        self.set("python.executable", python_exec)

    def get_python_executable(self) -> str | None:
        """Returns the Python interpreter that runs functions, or None if none was set."""
        return self.get("python.executable")

    def get_max_column_width(self) -> int:
        """Returns how wide `TableResult.print` makes a column of texts."""
        text = next((self._values[key] for key in _WIDTHS if key in self._values), "30")
        if not text.isdigit() or int(text) < 1:
            raise ConfigError("SQL_OPTION", f"'{_WIDTHS[0]}' is '{text}'. It must be a number from 1 on.")
        return int(text)

    @property
    def job_name(self) -> str | None:
        """The name of jobs, if `pipeline.name` is set."""
        return self._values.get("pipeline.name")


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return str(value)


def _check_zone(zone: str) -> None:
    if zone_of(zone) is None:
        raise ConfigError(
            "SQL_TIME_ZONE",
            f"'{zone}' is not a time zone. Use a name such as 'Europe/Berlin', or an offset such as 'GMT-03:00'.",
        )


def system_zone() -> str:
    """Returns the name of the time zone of the machine."""
    zone = os.environ.get("TZ", "").removeprefix(":")
    if not zone:
        target = os.path.realpath("/etc/localtime")
        zone = target.partition("zoneinfo/")[2]
    return zone or "UTC"
