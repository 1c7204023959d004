"""Hands the options of a command line down to the environments that a program makes."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from penstock.config import OPTIONS_VARIABLE, Configuration, given_options


@contextmanager
def defaults(options: dict[str, Any]) -> Iterator[None]:
    """Inside, every configuration begins with these options, also in processes that start."""
    before = os.environ.get(OPTIONS_VARIABLE)
    given = {**given_options(), **options}
    Configuration(given)  # refuses what is wrong before anything runs
    os.environ[OPTIONS_VARIABLE] = json.dumps(given)
    try:
        yield
    finally:
        os.environ.pop(OPTIONS_VARIABLE)
        if before is not None:
            os.environ[OPTIONS_VARIABLE] = before
