"""The interface of engines, which run jobs."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from typing import Any, Protocol

from penstock.config import Configuration
from penstock.config.execution_options import ENGINE
from penstock.datastream.jobs.job_client import JobClient
from penstock.datastream.jobs.job_result import JobExecutionResult
from penstock.errors import ConfigError
from penstock.plan.graph import JobGraph


class Engine(Protocol):
    """Runs job graphs. `files` contains the paths to ship, by kind: files, requirements, archives, jars."""

    def execute(
        self, graph: JobGraph, configuration: Configuration, files: dict[str, list[str]]
    ) -> JobExecutionResult: ...

    def execute_async(
        self, graph: JobGraph, configuration: Configuration, files: dict[str, list[str]]
    ) -> JobClient: ...

    def collect(self, graph: JobGraph, configuration: Configuration, files: dict[str, list[str]]) -> Iterator[Any]: ...

    def default_parallelism(self, configuration: Configuration) -> int: ...


_NAMES = {"spark": "penstock.spark.engine:SparkEngine", "local": "penstock.local.engine:LocalEngine"}


def load_engine(configuration: Configuration) -> Engine:
    """Imports the configured engine. The DataStream API does not depend on an engine."""
    name = configuration.get(ENGINE)
    module, _, class_name = _NAMES.get(name, name).partition(":")
    try:
        engine: Engine = getattr(importlib.import_module(module), class_name)()
    except (ImportError, AttributeError, ValueError) as error:
        if isinstance(error, ImportError) and error.name and not module.startswith(error.name):
            raise  # the engine exists, but one of its dependencies is missing
        raise ConfigError(
            "ENGINE",
            f"{ENGINE.key} is '{name}', but this engine cannot be loaded: {error}. Set it to spark, local or module:class.",
        ) from error
    return engine
