"""The session of a client, and options that have effect when they are set."""

from __future__ import annotations

from collections.abc import Mapping

from penstock.config import Configuration, environment_options
from penstock.config.execution_options import RUNTIME_MODE
from penstock.config.registry import find, reject_misspelled
from penstock.errors import ConfigError, warn_ignored
from penstock.table.environment.session import Session
from penstock.table.environment.settings import EnvironmentSettings
from penstock.table.environment.table_config import TableConfig

SESSION_KEYS = ("table.", "sql-client.")  # settings of the session; all others are options of jobs
_MODES = ("streaming", "batch", "automatic")


class ClientConfig(TableConfig):
    """Settings that may have keys of Flink that Penstock does not know, so that Flink's scripts run unchanged."""

    def job_configuration(self) -> Configuration:
        """Returns the options of jobs. Keys that are not known are left out, with a warning."""
        known = TableConfig({key: value for key, value in self.values().items() if _is_known(key)})
        return known.job_configuration()


def _is_known(key: str) -> bool:
    if find(key) is not None or key.startswith(SESSION_KEYS):
        return True
    try:
        reject_misspelled(key)
    except ConfigError as error:
        warn_ignored(f"{error.text} The setting has no effect.")
        return False
    return True


def new_session(options: Mapping[str, str]) -> Session:
    """Creates a session with options of the command line."""
    defaults = {key: value for key, value in environment_options().items() if key == RUNTIME_MODE.key}
    builder = EnvironmentSettings.new_instance().with_configuration({**defaults, **options})
    settings = builder.build()
    session = Session(settings)
    session.config = ClientConfig(settings.options())
    return session


def check_mode(key: str, value: str) -> None:
    """Raises ConfigError for a runtime mode that does not exist."""
    if key == RUNTIME_MODE.key and value.lower() not in _MODES:
        raise ConfigError("SQL_OPTION", f"'{key}' is '{value}'. It is one of {', '.join(_MODES)}.")


def apply_mode(session: Session) -> None:
    """Applies the runtime mode after SET or RESET."""
    session.streaming = (session.config.get(RUNTIME_MODE.key) or "streaming").lower() != "batch"
