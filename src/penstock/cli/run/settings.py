"""Turns the arguments of a command into options, and passes them to the environments that a program creates."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from penstock.config import OPTIONS_VARIABLE, Configuration, environment_options
from penstock.config.checkpoint_options import ALLOW_DROPPED, FROM_SAVEPOINT, LATEST, REBUILD, RESUME
from penstock.config.deployment_options import CONSOLE, MASTER
from penstock.config.execution_options import ENGINE, JOB_NAME
from penstock.config.registry import reject_key
from penstock.connectors.file.system.file_system import absolute_path
from penstock.errors import ConfigError


def parse_settings(settings: list[str]) -> dict[str, Any]:
    """The options of `-D KEY=VALUE` arguments.

    >>> parse_settings(["execution.heartbeat=100"])
    {'execution.heartbeat': '100'}
    """
    options: dict[str, Any] = {}
    for setting in settings:
        key, equals, value = setting.partition("=")
        if not equals:
            raise ConfigError(
                "OPTION_FORM", f"-D got '{setting}'; it takes key=value. 'penstock options' lists the keys."
            )
        options[key.strip()] = value
    return options


def run_options(
    settings: list[str],
    *,
    resume: str | None = None,
    master: str | None = None,
    name: str | None = None,
    verbose: bool = False,
    from_savepoint: str | None = None,
    allow_dropped_state: bool = False,
    rebuild: bool = False,
    local: bool = False,
) -> dict[str, Any]:
    """The options that the arguments of a command set.

    >>> run_options(["execution.heartbeat=100"], master="local[2]", from_savepoint="s3://bucket/sp-1")
    {'execution.heartbeat': '100', 'spark.master': 'local[2]', 'execution.state-recovery.path': 's3://bucket/sp-1'}
    """
    options = parse_settings(settings)
    if resume is not None:
        options[RESUME.key] = os.path.abspath(resume) if os.path.exists(resume) and resume != LATEST else resume
    if master is not None:
        options[MASTER.key] = master
    if name is not None:
        options[JOB_NAME.key] = name
    if verbose:
        options[CONSOLE.key] = True
    if from_savepoint is not None:
        options[FROM_SAVEPOINT.key] = absolute_path(from_savepoint)
    if allow_dropped_state:
        options[ALLOW_DROPPED.key] = True
    if rebuild:
        options[REBUILD.key] = True
    if local:
        options[ENGINE.key] = "local"
    return options


@contextmanager
def default_options(options: dict[str, Any]) -> Iterator[None]:
    """Inside the block, every new configuration starts with these options, also in processes that are started."""
    before = os.environ.get(OPTIONS_VARIABLE)
    merged = {**environment_options(), **options}
    for key in options:
        reject_key(key)  # an unknown option of the command line can only be a mistake
    Configuration(merged)  # raises for wrong values before the program runs
    os.environ[OPTIONS_VARIABLE] = json.dumps(merged)
    try:
        yield
    finally:
        os.environ.pop(OPTIONS_VARIABLE)
        if before is not None:
            os.environ[OPTIONS_VARIABLE] = before
