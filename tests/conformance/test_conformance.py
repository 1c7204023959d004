"""Every case of a folder, on every engine: `pytest tests/conformance --cases DIR`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.conformance.case import OWN_CASES, Case, NotRunnableError, cases_in
from tests.conformance.drivers import driver_of, sql
from tests.conformance.engines import ENGINES

# Cases that are expected to fail, from "area/name" or "area/name[engine]" to the reason. A mark fails once its case passes.
MARKS: dict[str, str] = json.loads((Path(__file__).parent / "marks.json").read_text(encoding="utf-8"))


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    folder = metafunc.config.getoption("cases", None)
    cases = cases_in(Path(folder) if folder else OWN_CASES)
    if "case" in metafunc.fixturenames:
        metafunc.parametrize(("case", "engine"), [p for case in cases for p in _params(case)])
    if "query_case" in metafunc.fixturenames:
        queries = [case for case in cases if case.kind == "sql" and _engines(case) != ["harness"]]
        metafunc.parametrize("query_case", [pytest.param(case, id=case.name) for case in queries])


def _params(case: Case) -> list[Any]:
    return [
        pytest.param(case, engine, id=f"{case.name}[{engine}]", marks=_marks(case, engine)) for engine in _engines(case)
    ]


def _engines(case: Case) -> list[str]:
    """Returns the engines of a case. For a case that cannot be run, one is enough."""
    try:
        driver_of(case).job(case)
    except NotRunnableError:
        return ["harness"]
    return case.engines or list(ENGINES)


def _marks(case: Case, engine: str) -> list[pytest.MarkDecorator]:
    marks = [pytest.mark.spark] if engine == "spark" else []
    reason = MARKS.get(f"{case.name}[{engine}]") or MARKS.get(case.name)
    return [*marks, pytest.mark.xfail(strict=True, reason=reason)] if reason else marks


def test_case(case: Case, engine: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    try:
        driver = driver_of(case)
        job = driver.job(case)
    except NotRunnableError as reason:
        pytest.skip(f"not runnable: {reason}")
    if engine == "spark":
        request.getfixturevalue("spark")
    driver.check(case, ENGINES[engine](job, tmp_path))


@pytest.mark.parametrize("seed", range(3))
def test_final_table_with_random_batches(query_case: Case, seed: int, tmp_path: Path) -> None:
    job = sql.merged(sql.job(query_case), seed)
    sql.check_final(query_case, ENGINES["harness"](job, tmp_path))
