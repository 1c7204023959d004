"""Queries in batch mode return their final result."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.table import EnvironmentSettings, TableEnvironment


@pytest.fixture
def env(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> TableEnvironment:
    monkeypatch.setenv("PENSTOCK_HOME", str(tmp_path))
    env = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
    env.get_config().set("execution.engine", "local")
    return env


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("SELECT MAX(k), COUNT(*) FROM (VALUES (1), (1), (2)) AS t(k)", [(2, 3)]),
        ("SELECT MAX(k), COUNT(*) FROM (VALUES (1), (1), (2)) AS t(k) WHERE k > 5", [(None, 0)]),
        ("SELECT MAX(n) FROM (SELECT k, COUNT(*) AS n FROM (VALUES (1), (1), (2)) AS t(k) GROUP BY k)", [(2,)]),
        ("SELECT k, COUNT(*) FROM (VALUES (1), (1), (2)) AS t(k) GROUP BY k ORDER BY k", [(1, 2), (2, 1)]),
    ],
)
@pytest.mark.parametrize("parallelism", ["1", "3"])
def test_one_result_per_group(
    env: TableEnvironment, query: str, expected: list[tuple[int | None, ...]], parallelism: str
) -> None:
    env.get_config().set("parallelism.default", parallelism)
    with env.execute_sql(query).collect() as rows:
        assert [tuple(row) for row in rows] == expected
