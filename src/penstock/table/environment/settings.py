"""The settings with which a table environment is created."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from penstock.config import Configuration
from penstock.config.execution_options import RUNTIME_MODE
from penstock.table.catalog.manager import DEFAULT_CATALOG, DEFAULT_DATABASE


class EnvironmentSettings:
    """Mode, names of the built-in catalog and database, and configuration of a table environment.

    >>> EnvironmentSettings.in_streaming_mode().is_streaming_mode()
    True
    """

    def __init__(
        self,
        streaming: bool = True,
        catalog: str = DEFAULT_CATALOG,
        database: str = DEFAULT_DATABASE,
        configuration: Mapping[str, Any] | None = None,
    ) -> None:
        self._streaming = streaming
        self._catalog = catalog
        self._database = database
        self._configuration = dict(configuration or {})

    class Builder:
        """Builder of settings."""

        def __init__(self) -> None:
            self._values: dict[str, Any] = {}

        def in_streaming_mode(self) -> EnvironmentSettings.Builder:
            """Queries run continuously and emit changes."""
            self._values["streaming"] = True
            return self

        def in_batch_mode(self) -> EnvironmentSettings.Builder:
            """Queries run once on bounded tables."""
            self._values["streaming"] = False
            return self

        def with_built_in_catalog_name(self, built_in_catalog_name: str) -> EnvironmentSettings.Builder:
            """Sets the name of the first catalog."""
            self._values["catalog"] = built_in_catalog_name
            return self

        def with_built_in_database_name(self, built_in_database_name: str) -> EnvironmentSettings.Builder:
            """Sets the name of the first database."""
            self._values["database"] = built_in_database_name
            return self

        def with_configuration(self, config: Configuration | Mapping[str, Any]) -> EnvironmentSettings.Builder:
            """Adds options. `execution.runtime-mode` sets the mode."""
            values = config.to_dict() if isinstance(config, Configuration) else dict(config)
            self._values["configuration"] = {**self._values.get("configuration", {}), **values}
            mode = str(values.get("execution.runtime-mode", "")).lower()
            if mode in ("batch", "streaming"):
                self._values["streaming"] = mode == "streaming"
            return self

        def build(self) -> EnvironmentSettings:
            """Returns the settings."""
            return EnvironmentSettings(**self._values)

    @staticmethod
    def new_instance() -> EnvironmentSettings.Builder:
        """Returns a builder."""
        return EnvironmentSettings.Builder()

    @staticmethod
    def in_streaming_mode() -> EnvironmentSettings:
        """Returns settings for queries that run continuously."""
        return EnvironmentSettings(streaming=True)

    @staticmethod
    def in_batch_mode() -> EnvironmentSettings:
        """Returns settings for queries that run once."""
        return EnvironmentSettings(streaming=False)

    def is_streaming_mode(self) -> bool:
        """Whether queries run continuously."""
        return self._streaming

    def get_built_in_catalog_name(self) -> str:
        """Returns the name of the first catalog."""
        return self._catalog

    def get_built_in_database_name(self) -> str:
        """Returns the name of the first database."""
        return self._database

    def get_configuration(self) -> Configuration:
        """Returns the options, with the mode."""
        mode = "STREAMING" if self._streaming else "BATCH"
        return Configuration({**self._configuration, RUNTIME_MODE.key: mode})

    def options(self) -> dict[str, Any]:
        """Returns the options as they were given."""
        return dict(self._configuration)
