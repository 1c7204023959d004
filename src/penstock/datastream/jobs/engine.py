"""What runs jobs, as the fluent API sees it."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from typing import Any, Protocol

from penstock.config import ENGINE, Configuration
from penstock.datastream.job_client import JobClient
from penstock.datastream.job_result import JobExecutionResult
from penstock.errors import ConfigError
from penstock.plan.graph import JobGraph


class Engine(Protocol):
    """What runs a job graph. `files` are what the job ships: files, requirements, archives, jars."""

    def execute(
        self, graph: JobGraph, configuration: Configuration, files: dict[str, list[str]]
    ) -> JobExecutionResult: ...

    def execute_async(
        self, graph: JobGraph, configuration: Configuration, files: dict[str, list[str]]
    ) -> JobClient: ...

    def collect(self, graph: JobGraph, configuration: Configuration, files: dict[str, list[str]]) -> Iterator[Any]: ...

    def default_parallelism(self, configuration: Configuration) -> int: ...


def engine_of(configuration: Configuration) -> Engine:
    """The engine by its configured name: this layer builds plans and knows none."""
    name = configuration.get(ENGINE)
    module, _, kind = name.partition(":")
    try:
        engine: Engine = getattr(importlib.import_module(module), kind)()
    except (ImportError, AttributeError, ValueError) as error:
        if isinstance(error, ImportError) and error.name and not module.startswith(error.name):
            raise  # the engine is there, and something that it needs is not
        raise ConfigError(
            "ENGINE", f"{ENGINE.key} is '{name}', and there is no such engine: {error}. Give module:class."
        ) from error
    return engine
