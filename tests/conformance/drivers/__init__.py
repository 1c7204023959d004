"""One module per kind of case: `job(case)` builds its pipeline, `check(case, happened)` judges what came of it."""

from __future__ import annotations

import importlib
import importlib.util
from typing import Protocol

from tests.conformance.case import Case, NotRunnableError
from tests.conformance.job import Happened, Job


class Driver(Protocol):
    """A module of this folder."""

    def job(self, case: Case) -> Job: ...

    def check(self, case: Case, happened: list[Happened]) -> None: ...


# What kinds without a module wait for.
NEEDS = {
    "sql": "SQL",
}


def driver_of(case: Case) -> Driver:
    """The driver of the case's kind."""
    kind = case.kind
    if kind.isidentifier() and importlib.util.find_spec(f"{__name__}.{kind}") is not None:
        driver: Driver = importlib.import_module(f"{__name__}.{kind}")
        return driver
    needed = NEEDS.get(kind)
    raise NotRunnableError(f"{kind} needs {needed}, not built yet" if needed else f"the kind {kind!r} is not known")
