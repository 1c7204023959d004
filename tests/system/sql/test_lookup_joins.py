"""Lookup joins with Python functions, files, Redis and PostgreSQL."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from penstock.errors import PenstockError, SqlValidationError
from penstock.table import TableEnvironment
from tests.servers import Postgres, Redis
from tests.system.sql.test_kafka import environment, rows

_MODULE = "tests.system.sql.lookup_functions"
_ORDERS = (
    "CREATE VIEW o AS SELECT x, y, PROCTIME() AS p FROM (VALUES (1, 'a'), (2, 'b'), (3, 'c'), (CAST(NULL AS INT), 'd'), "
    "(1, 'e')) AS t(x, y)"
)


def with_function(function: str, options: str = "", columns: str = "id INT NOT NULL, name STRING") -> TableEnvironment:
    env = environment()
    env.execute_sql(_ORDERS)
    env.execute_sql(
        f"CREATE TABLE u ({columns}) WITH ('connector' = 'python', 'lookup.function' = '{_MODULE}:{function}'{options})"
    )
    return env


_JOIN = "SELECT o.x, o.y, d.name FROM o LEFT JOIN u FOR SYSTEM_TIME AS OF o.p AS d ON o.x = d.id"
_JOINED = [(1, "a", "Ann"), (1, "e", "Ann"), (2, "b", "Bob"), (3, "c", None), (None, "d", None)]


@pytest.mark.parametrize("function", ["users", "users_later", "all_users", "users_as_arrow"])
@pytest.mark.parametrize("options", ["", ", 'lookup.cache' = 'PARTIAL', 'lookup.partial-cache.max-rows' = '1'"])
def test_a_function_finds_rows(function: str, options: str) -> None:
    assert rows(with_function(function, options), _JOIN) == _JOINED


def test_conditions_of_both_tables() -> None:
    env = with_function("users")
    query = "SELECT o.y, d.name FROM o {} JOIN u FOR SYSTEM_TIME AS OF o.p AS d ON o.x = d.id AND d.name <> 'Bob' {}"
    left = [("a", "Ann"), ("b", None), ("c", None), ("d", None), ("e", "Ann")]
    assert rows(env, query.format("LEFT", "")) == left
    assert rows(env, query.format("LEFT", "WHERE o.y > 'b'")) == left[2:]
    assert rows(env, query.format("", "WHERE o.y || d.name <> 'aAnn'")) == [("e", "Ann")]


def test_a_view_of_a_lookup_table() -> None:
    env = with_function("users")
    env.execute_sql("CREATE VIEW v AS SELECT UPPER(name) AS upper_name, id AS k FROM u WHERE name <> 'Bob'")
    query = "SELECT o.y, d.upper_name FROM o JOIN v FOR SYSTEM_TIME AS OF o.p AS d ON o.x = d.k"
    assert rows(env, query) == [("a", "ANN"), ("e", "ANN")]


@pytest.mark.parametrize("strategy", ["IGNORE", "TRY_RESOLVE"])
def test_a_changelog_is_joined(strategy: str) -> None:
    env = with_function("users")
    env.get_config().set("table.optimizer.non-deterministic-update.strategy", strategy)
    env.execute_sql(
        "CREATE VIEW c AS SELECT k, COUNT(*) AS n, PROCTIME() AS p FROM (VALUES (1, 5), (1, 6), (2, 7)) AS t(k, v) GROUP BY k"
    )
    query = "SELECT c.k, c.n, d.name FROM c JOIN u FOR SYSTEM_TIME AS OF c.p AS d ON c.k = d.id"
    assert rows(env, query) == [(1, 2, "Ann"), (2, 1, "Bob")]


def test_hints_of_asynchronous_lookups() -> None:
    env = with_function("users_later")
    hint = (
        "/*+ LOOKUP('table' = 'd', 'async' = 'true', 'output-mode' = 'allow_unordered', 'capacity' = '100', 'timeout' = '180s', "
        "'retry-predicate' = 'lookup_miss', 'retry-strategy' = 'fixed_delay', 'fixed-delay' = '1ms', 'max-attempts' = '3') */"
    )
    assert rows(env, _JOIN.replace("SELECT", f"SELECT {hint}")) == _JOINED


@pytest.mark.parametrize(
    ("hint", "message"),
    [
        ("'table' = 'd', 'delay' = '1s'", "no option 'delay'"),
        ("'table' = 'd', 'max-attempts' = 'x'", "expected a whole number"),
        ("'table' = 'd', 'max-attempts' = '3'", "Missing: 'retry-predicate'"),
    ],
)
def test_wrong_hints(hint: str, message: str) -> None:
    with pytest.raises(SqlValidationError, match=message):
        with_function("users").execute_sql(_JOIN.replace("SELECT", f"SELECT /*+ LOOKUP({hint}) */"))


@pytest.mark.parametrize(
    ("function", "message"),
    [
        ("wrong_type", "column 'id' has the type INT"),
        ("no_rows", "returned 7, a int"),
        ("no_key", "no column 'id'"),
        ("fails", "KeyError"),
    ],
)
def test_a_function_that_returns_nonsense(function: str, message: str) -> None:
    with pytest.raises(PenstockError, match=message):
        rows(with_function(function), _JOIN)


def test_a_function_that_takes_too_long() -> None:
    hinted = _JOIN.replace("SELECT", "SELECT /*+ LOOKUP('table' = 'd', 'timeout' = '50 ms') */")
    with pytest.raises(PenstockError, match="did not return within 50 ms"):
        rows(with_function("never"), hinted)


@pytest.mark.parametrize(
    ("reference", "message"),
    [
        ("users", "expected 'module:function'"),
        ("no_such_module:users", "cannot be imported"),
        (f"{_MODULE}:nobody", "has no 'nobody'"),
        (f"{_MODULE}:NOT_A_FUNCTION", "cannot be called"),
    ],
)
def test_a_function_that_does_not_exist(reference: str, message: str) -> None:
    env = environment()
    env.execute_sql(_ORDERS)
    env.execute_sql(
        f"CREATE TABLE u (id INT, name STRING) WITH ('connector' = 'python', 'lookup.function' = '{reference}')"
    )
    with pytest.raises(PenstockError, match=message):
        env.execute_sql(_JOIN)


def test_a_lookup_without_an_equal_key() -> None:
    env = with_function("users")
    for condition in ("o.x > d.id", "o.y = UPPER(d.name)", "d.id = 1"):
        with pytest.raises(SqlValidationError, match="must compare a column of 'u'"):
            env.execute_sql(f"SELECT o.y FROM o JOIN u FOR SYSTEM_TIME AS OF o.p AS d ON {condition}")


def test_a_lookup_table_cannot_be_scanned() -> None:
    with pytest.raises(PenstockError, match="FOR SYSTEM_TIME AS OF"):
        with_function("users").execute_sql("SELECT * FROM u")


@pytest.mark.parametrize("cached", ["", ", 'lookup.full-cache.periodic-reload.interval' = '1 h'"])
def test_files_are_read_into_memory(tmp_path: Path, cached: str) -> None:
    for name, lines in (
        ("a", "1,Ann\n2,Bob\n"),
        ("b", "9,Eve\n2,Bill\n" + "".join(f"{n},x\n" for n in range(100, 200))),
    ):
        (tmp_path / f"{name}.csv").write_text(lines)
    env = environment()
    env.execute_sql(_ORDERS)
    env.execute_sql(
        f"CREATE TABLE u (id INT, name STRING) WITH ('connector' = 'filesystem', 'path' = '{tmp_path}', 'format' = 'csv'{cached})"
    )
    assert rows(env, _JOIN) == [*_JOINED[:2], (2, "b", "Bill"), *_JOINED[2:]]


def test_redis_returns_what_its_sink_has_written(redis: Redis) -> None:
    env = environment()
    env.execute_sql(_ORDERS)
    for table, columns, more in (
        ("plain_text", "id INT, name STRING", ""),
        ("numbers", "id INT, name INT", ""),
        ("many", "tenant STRING, id INT, name STRING, born DATE", ""),
        ("hashed", "id INT, name STRING", f", 'command' = 'HSET', 'additional-key' = '{redis.new_name('hash')}'"),
    ):
        key = "tenant, id" if "tenant" in columns else "id"
        env.execute_sql(
            f"CREATE TABLE {table} ({columns}, PRIMARY KEY ({key}) NOT ENFORCED) WITH ('connector' = 'redis', "
            f"'url' = '{redis.url}', 'key-prefix' = '{redis.new_name(table)}:'{more})"
        )
    env.execute_sql("INSERT INTO plain_text VALUES (1, 'Ann'), (2, 'Bob')")
    env.execute_sql("INSERT INTO hashed VALUES (1, 'Ann'), (2, 'Bob')")
    env.execute_sql("INSERT INTO numbers VALUES (1, 11), (2, CAST(NULL AS INT))")
    env.execute_sql(
        "INSERT INTO many VALUES ('a', 1, 'Ann', DATE '1990-02-03'), ('b', 2, CAST(NULL AS STRING), DATE '1991-01-01')"
    )
    assert rows(env, _JOIN.replace("JOIN u", "JOIN plain_text")) == _JOINED
    assert rows(env, _JOIN.replace("JOIN u", "JOIN hashed")) == _JOINED
    numbers = [(row[0], row[1], 11 if row[0] == 1 else None) for row in _JOINED]
    assert rows(env, _JOIN.replace("JOIN u", "JOIN numbers")) == numbers
    query = (
        "SELECT o.x, d.name, CAST(d.born AS STRING) FROM o LEFT JOIN many FOR SYSTEM_TIME AS OF o.p AS d "
        "ON o.x = d.id AND d.tenant = o.y AND d.born = DATE '1990-02-03'"
    )
    assert rows(env, query) == [
        (1, "Ann", "1990-02-03"),
        (1, None, None),
        (2, None, None),
        (3, None, None),
        (None, None, None),
    ]
    with pytest.raises(PenstockError, match="Missing: tenant"):
        env.execute_sql("SELECT d.name FROM o JOIN many FOR SYSTEM_TIME AS OF o.p AS d ON o.x = d.id")


@pytest.fixture
def database(postgres: Postgres) -> TableEnvironment:
    name = postgres.new_name()
    postgres.execute(
        f"CREATE TABLE {name} (id INT PRIMARY KEY, name TEXT, price NUMERIC(10, 3), born DATE, at TIMESTAMP, doc JSONB)"
    )
    postgres.execute(
        f"INSERT INTO {name} VALUES (1, 'Ann', 1.5, '1990-02-03', '2024-01-01 10:00:00.5', '{{\"a\": 1}}'), "
        "(2, 'Bob', NULL, NULL, NULL, NULL)"
    )
    env = environment()
    env.execute_sql(_ORDERS)
    env.execute_sql(
        "CREATE TABLE u (id INT, name STRING, price DECIMAL(10, 2), born DATE, `at` TIMESTAMP(3), doc STRING, "
        f"PRIMARY KEY (id) NOT ENFORCED) WITH ('connector' = 'jdbc', 'url' = '{postgres.url}', 'username' = 'postgres', "
        f"'table-name' = '{name}')"
    )
    return env


def test_a_database_finds_rows(database: TableEnvironment) -> None:
    assert rows(database, _JOIN) == _JOINED
    query = (
        "SELECT CAST(d.price AS STRING), CAST(d.born AS STRING), CAST(d.`at` AS STRING), d.doc FROM o "
        "JOIN u /*+ OPTIONS('lookup.cache' = 'PARTIAL') */ FOR SYSTEM_TIME AS OF o.p AS d "
        "ON o.x = d.id AND d.name = 'Ann' AND o.y = 'a'"
    )
    assert rows(database, query) == [("1.50", "1990-02-03", "2024-01-01 10:00:00.500", '{"a": 1}')]
    query = "SELECT d.id FROM o JOIN u FOR SYSTEM_TIME AS OF o.p AS d ON o.x = d.id AND d.name = UPPER(o.y) || 'nn'"
    assert rows(database, query) == [(1,)]


def test_a_database_is_read_and_written(database: TableEnvironment) -> None:
    assert rows(database, "SELECT id, name FROM u") == [(1, "Ann"), (2, "Bob")]
    parts = ", ".join(
        f"'scan.partition.{name}' = '{value}'"
        for name, value in (("column", "id"), ("num", 2), ("lower-bound", 1), ("upper-bound", 9))
    )
    assert rows(database, f"SELECT COUNT(*) FROM u /*+ OPTIONS({parts}) */") == [(2,)]
    target = "INSERT INTO u (id, name) "
    database.execute_sql(target + "SELECT x, MAX(y) FROM o WHERE x IS NOT NULL GROUP BY x")
    assert rows(database, "SELECT id, name FROM u") == [(1, "e"), (2, "b"), (3, "c")]


def test_deletes_reach_the_database(database: TableEnvironment) -> None:
    database.execute_sql(
        "INSERT INTO u (id, name) SELECT x, y FROM (SELECT x, y, COUNT(*) AS n FROM o WHERE x IS NOT NULL GROUP BY x, y) "
        "WHERE n < 2 AND y <> 'e'"
    )
    assert rows(database, "SELECT id, name FROM u") == [(1, "a"), (2, "b"), (3, "c")]


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"url": "jdbc:mysql://h/d"}, "Only PostgreSQL is supported"),
        ({"url": "postgresql://h/d"}, "is no JDBC URL"),
        ({"table-name": "no_such_table"}, "JDBC_REFUSED.*does not exist"),
        ({"driver": "org.postgresql.Driver"}, "psycopg"),
        ({"scan.partition.num": "2"}, "needs 'scan.partition.column'"),
    ],
)
def test_errors_of_databases(postgres: Postgres, changed: dict[str, str], message: str) -> None:
    options = {"connector": "jdbc", "url": postgres.url, "username": "postgres", "table-name": "t", **changed}
    env = environment()
    listed = ", ".join(f"'{name}' = '{value}'" for name, value in options.items())
    env.execute_sql(f"CREATE TABLE u (id INT, name STRING) WITH ({listed})")
    with pytest.raises(PenstockError, match=f"(?s){message}"):
        rows(env, "SELECT * FROM u")


def test_a_database_that_cannot_be_reached() -> None:
    pytest.importorskip("psycopg")
    env = environment()
    env.execute_sql(_ORDERS)
    options: dict[str, Any] = {"connector": "jdbc", "url": "jdbc:postgresql://127.0.0.1:1/d", "table-name": "t"}
    listed = ", ".join(f"'{name}' = '{value}'" for name, value in options.items())
    env.execute_sql(f"CREATE TABLE u (id INT, name STRING) WITH ({listed}, 'lookup.max-retries' = '0')")
    with pytest.raises(PenstockError, match="JDBC_UNREACHABLE"):
        rows(env, _JOIN)
