"""Conditions on partition columns decide which folders of a table are read."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import pytest

from penstock.connectors.file.source.enumerator import FileEnumeratorProvider
from penstock.connectors.file.system.file_system import file_system
from penstock.table import EnvironmentSettings, TableEnvironment


@pytest.fixture(params=["streaming", "batch"])
def env(request: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> TableEnvironment:
    monkeypatch.setenv("PENSTOCK_HOME", str(tmp_path / "home"))
    env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    env.get_config().set("execution.engine", "local")
    env.get_config().set("execution.runtime-mode", request.param)
    return env


def create(env: TableEnvironment, folder: Path, broken: tuple[str, ...] = ()) -> None:
    """Creates a table of four partitions. Folders that must not be read have records that fail the job."""
    for number, name in enumerate(["day=1/city=a", "day=1/city=b", "day=2/city=a", "day=__DEFAULT_PARTITION__/city=a"]):
        place = folder / name
        place.mkdir(parents=True)
        (place / "part").write_text("{broken\n" if name in broken else f'{{"v": {number}}}\n')
    env.execute_sql(
        "CREATE TABLE t (v INT, `day` INT, city STRING, twice AS `day` * 2) PARTITIONED BY (`day`, city) WITH "
        f"('connector' = 'filesystem', 'path' = '{folder}', 'format' = 'json')"
    )


def rows(env: TableEnvironment, query: str) -> list[tuple[Any, ...]]:
    with env.execute_sql(query).collect() as found:
        return sorted(tuple(row) for row in found)


DEFAULT = "day=__DEFAULT_PARTITION__/city=a"


@pytest.mark.parametrize(
    ("where", "broken", "expected"),
    [
        ("`day` = 1", ("day=2/city=a", DEFAULT), [0, 1]),
        ("`day` = 1 AND v < 1", ("day=2/city=a", DEFAULT), [0]),
        ("city = 'b'", ("day=1/city=a", "day=2/city=a", DEFAULT), [1]),
        ("`day` = 1 AND city LIKE 'a%'", ("day=1/city=b", "day=2/city=a", DEFAULT), [0]),
        ("`day` = 2 OR city = 'b'", ("day=1/city=a", DEFAULT), [1, 2]),
        ("`day` IS NULL", ("day=1/city=a", "day=1/city=b", "day=2/city=a"), [3]),
        ("`day` IN (2, 3)", ("day=1/city=a", "day=1/city=b", DEFAULT), [2]),
        ("`day` > 7", ("day=1/city=a", "day=1/city=b", "day=2/city=a", DEFAULT), []),
    ],
)
def test_other_folders_are_not_read(
    env: TableEnvironment, tmp_path: Path, where: str, broken: tuple[str, ...], expected: list[int]
) -> None:
    create(env, tmp_path / "t", broken)
    assert rows(env, f"SELECT v FROM t WHERE {where}") == [(v,) for v in expected]


def test_conditions_below_joins_and_unions(env: TableEnvironment, tmp_path: Path) -> None:
    create(env, tmp_path / "t", ("day=2/city=a", DEFAULT))
    union = "SELECT v FROM (SELECT v, `day` FROM t UNION ALL SELECT v + 10, `day` FROM t) WHERE `day` = 1"
    assert rows(env, union) == [(0,), (1,), (10,), (11,)]
    join = "SELECT a.v, b.v FROM t AS a JOIN t AS b ON a.city = b.city WHERE a.`day` = 1 AND b.`day` = 1"
    assert rows(env, join) == [(0, 0), (1, 1)]


def test_explain_shows_the_conditions(env: TableEnvironment, tmp_path: Path) -> None:
    create(env, tmp_path / "t")
    plan = env.explain_sql("SELECT v FROM t WHERE `day` = 1 AND city = 'a' AND v > 0")
    assert "partitions=[(day = 1)], partitions=[(city = 'a')]" in plan
    for where in ("v = 1", "v = `day`", "twice = 2", "`day` = CAST(RAND() AS INT)"):
        assert "partitions=" not in env.explain_sql(f"SELECT v FROM t WHERE {where}")


def test_a_folder_with_a_wrong_name_is_reported(env: TableEnvironment, tmp_path: Path) -> None:
    create(env, tmp_path / "t")
    (tmp_path / "t" / "day=x" / "city=a").mkdir(parents=True)
    (tmp_path / "t" / "day=x" / "city=a" / "part").write_text('{"v": 1}\n')
    with pytest.raises(Exception, match="'x' is not a value of type INT"):
        rows(env, "SELECT v FROM t WHERE `day` = 1")


def test_a_compiled_plan_has_the_conditions(env: TableEnvironment, tmp_path: Path) -> None:
    create(env, tmp_path / "t", ("day=2/city=a", DEFAULT))
    env.execute_sql(
        f"CREATE TABLE o (v INT) WITH ('connector' = 'filesystem', 'path' = '{tmp_path / 'o'}', 'format' = 'csv')"
    )
    if env.get_config().get("execution.runtime-mode", "") == "batch":
        env.execute_sql("INSERT INTO o SELECT v FROM t WHERE `day` = 1").wait()
    else:
        plan = tmp_path / "plan.json"
        env.execute_sql(f"COMPILE PLAN '{plan}' FOR INSERT INTO o SELECT v FROM t WHERE `day` = 1")
        env.execute_sql(f"EXECUTE PLAN '{plan}'").wait()
    assert rows(env, "SELECT * FROM o") == [(0,), (1,)]


def test_folders_are_not_listed(tmp_path: Path) -> None:
    for name in ("a/x", "b/x", "b/c/x"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    listed: list[str] = []

    def enters(folder: str) -> bool:
        listed.append(Path(folder).name)
        return not folder.endswith("/b")

    provider = FileEnumeratorProvider(enters=enters)
    found = list(provider.find(file_system(str(tmp_path), {}), str(tmp_path)))
    assert ([Path(f.path).parent.name for f in found], listed) == (["a"], ["a", "b"])


def test_the_filter_is_picklable(tmp_path: Path) -> None:
    from penstock.runtime.relational.expressions.tree import Call, Column, Literal
    from penstock.table.connectors.filesystem.pruning import PartitionFilter
    from penstock.types.logical.kinds import BOOLEAN, INT, Field

    accepts = PartitionFilter([Call("=", (Column(0, INT), Literal(1, INT)), BOOLEAN)], [Field("d", INT)])
    assert accepts("/t/d=1")
    again = pickle.loads(pickle.dumps(accepts))
    assert (again("/t/d=1"), again("/t/d=2/e=1")) == (True, False)
