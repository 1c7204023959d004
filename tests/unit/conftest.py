"""Ends the runs that a test leaves behind."""

from __future__ import annotations

from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def runs_of_one_test() -> Iterator[None]:
    """Ends the runs that a test began and did not end, so that the next test does not find them."""
    from penstock.jobs.run.run import active_runs

    before = active_runs()
    yield
    for run in active_runs():
        if run not in before:
            run.end("cancelled")
