"""One module per kind of case. `job(case)` builds the pipeline, `check(case, results)` checks its results."""

from __future__ import annotations

import importlib
import importlib.util
from typing import Protocol

from tests.conformance.case import Case, NotRunnableError
from tests.conformance.job import BatchResult, Job


class Driver(Protocol):
    """Interface of the modules in this folder."""

    def job(self, case: Case) -> Job: ...

    def check(self, case: Case, results: list[BatchResult]) -> None: ...


# Kinds of cases that are not supported yet, with what they need.
NEEDS: dict[str, str] = {}


def driver_of(case: Case) -> Driver:
    """Returns the driver for the kind of the case."""
    kind = case.kind
    if kind.isidentifier() and importlib.util.find_spec(f"{__name__}.{kind}") is not None:
        driver: Driver = importlib.import_module(f"{__name__}.{kind}")
        return driver
    needed = NEEDS.get(kind)
    raise NotRunnableError(f"{kind} needs {needed}, not built yet" if needed else f"the kind {kind!r} is not known")
