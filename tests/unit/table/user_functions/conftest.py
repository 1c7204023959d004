"""An environment with a small table, on the local engine."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from penstock.table import DataTypes, EnvironmentSettings, TableEnvironment

Query = Callable[[str], list[tuple[Any, ...]]]


@pytest.fixture
def env(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> TableEnvironment:
    monkeypatch.setenv("PENSTOCK_HOME", str(tmp_path))
    env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    env.get_config().set("execution.engine", "local")
    fields = [("id", DataTypes.INT()), ("n", DataTypes.BIGINT()), ("s", DataTypes.STRING())]
    schema = DataTypes.ROW([DataTypes.FIELD(*field) for field in fields])
    rows = [(1, 10, "a,b"), (2, 20, "B"), (3, None, None)]
    env.create_temporary_view("t", env.from_elements(rows, schema))
    return env


@pytest.fixture
def query(env: TableEnvironment) -> Query:
    """Runs a query. Returns its rows without kinds."""

    def run(sql: str) -> list[tuple[Any, ...]]:
        with env.execute_sql(sql).collect() as rows:
            return [tuple(row) for row in rows]

    return run
