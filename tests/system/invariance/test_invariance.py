"""Results do not depend on batch boundaries, restores and parallelism: generated programs in the harness.

Kept cases run first. A failing example is printed as Python; `python -m tests.system.invariance.search` finds and keeps more.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings

from tests.system.invariance.comparison import check
from tests.system.invariance.program import Example
from tests.system.invariance.strategies import examples

CASES = sorted((Path(__file__).parent / "cases").glob("*.json"))
NUMBER = int(os.environ.get("PENSTOCK_INVARIANCE_EXAMPLES", "20000"))


@pytest.mark.parametrize("path", [pytest.param(path, id=path.stem) for path in CASES])
def test_kept_case(path: Path) -> None:
    check(Example.from_json(path.read_bytes()))


@pytest.mark.slow
@settings(max_examples=500, suppress_health_check=list(HealthCheck))
@given(example=examples())
def test_results_do_not_depend_on_batches(example: Example) -> None:
    check(example)


@pytest.mark.long
@settings(max_examples=NUMBER, suppress_health_check=list(HealthCheck))
@given(example=examples(size=40))
def test_results_of_many_programs_do_not_depend_on_batches(example: Example) -> None:
    check(example)
