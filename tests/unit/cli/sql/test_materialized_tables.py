"""Statements of materialized tables. Their jobs run in this process, and stop when they have read their input."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from penstock.cli.sql.client import SqlClient
from penstock.cli.sql.client_options import ClientOptions
from penstock.cli.sql.jobs import InProcessJobs
from penstock.cli.sql.materialized import table_job
from penstock.cli.sql.materialized.refresh import refresh_table
from penstock.cli.sql.record import SessionRecord
from penstock.cli.sql.session import new_session
from penstock.errors import JobError, PenstockError, SqlValidationError
from penstock.jobs.actions.start import StartedProgram
from penstock.jobs.registry.launch import Launch
from penstock.jobs.registry.registry import Registry
from penstock.table.environment.answer import Answer
from penstock.table.environment.environment import TableEnvironment

SOURCE = """
CREATE TABLE sales (city STRING, amount INT) WITH ('connector' = 'filesystem', 'path' = 'sales', 'format' = 'json');
"""
SUMS = "CREATE MATERIALIZED TABLE sums (PRIMARY KEY (city) NOT ENFORCED) FRESHNESS = INTERVAL '1' SECOND AS "
QUERY = "SELECT city, SUM(amount) AS total FROM sales GROUP BY city"


class Shown:
    """What the client shows."""

    def __init__(self) -> None:
        self.rows: list[list[Any]] = []
        self.messages: list[str] = []

    def info(self, text: str) -> None:
        self.messages.append(text)

    def clear(self) -> None: ...

    def text(self, text: str) -> None: ...

    def answer(self, answer: Answer, options: ClientOptions) -> None:
        self.rows = [list(row) for row in answer.rows]


class Client:
    """A session of the client."""

    def __init__(self, folder: Path) -> None:
        self.shown = Shown()
        self.client = SqlClient(new_session({}), self.shown, InProcessJobs(), SessionRecord({}))
        self.run(f"CREATE CATALOG c WITH ('type' = 'file', 'path' = '{folder / 'catalog'}'); USE CATALOG c")

    def run(self, text: str) -> list[list[Any]]:
        self.client.run_script(text)
        return self.shown.rows


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PENSTOCK_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PENSTOCK_OPTIONS", '{"execution.engine": "local"}')
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(table_job, "start_program", run_here)
    (tmp_path / "sales").mkdir()
    add_sales("1", '{"city": "Rome", "amount": 1}\n{"city": "Oslo", "amount": 2}\n{"city": "Rome", "amount": 3}\n')
    return tmp_path


def add_sales(name: str, lines: str) -> None:
    Path("sales", f"{name}.json").write_text(lines)


def run_here(registry: Registry, launch: Launch) -> StartedProgram:
    """Runs the job of a table as its program does, in this process."""
    assert launch.args[0] == "-f"
    assert launch.args[2] == "--materialized-table"
    session = new_session({})
    client = SqlClient(session, Shown(), InProcessJobs(), SessionRecord({}))
    before = {entry.id for entry in registry.entries()}
    client.run_script(Path(launch.args[1]).read_text())
    error = ""
    try:
        refresh_table(session, tuple(launch.args[3:]))
    except PenstockError as raised:
        error = raised.text
    log = Path("job.log")
    log.write_text(error)
    entry = next((e for e in registry.entries() if e.id not in before or e.status != "finished"), None)
    if not error and entry is None:
        entry = registry.entries()[0]  # the job was resumed
    return StartedProgram([], os.getpid(), str(log), entry, 0)


def totals(client: Client) -> list[list[Any]]:
    return sorted(client.run("SELECT * FROM sums"))


def test_a_table_is_filled_and_read(tmp_path: Path) -> None:
    client = Client(tmp_path)
    client.run(f"{SOURCE} {SUMS} {QUERY}")
    assert totals(client) == [["Oslo", 2], ["Rome", 4]]
    assert client.run("SELECT COUNT(*) FROM sums WHERE total > 2") == [[1]]
    other = Client(tmp_path)  # another session finds the definition in the catalog
    assert totals(other) == [["Oslo", 2], ["Rome", 4]]
    assert other.run("SHOW MATERIALIZED TABLES") == [["sums"]]
    assert other.run("SHOW TABLES") == [["sales"], ["sums"]]
    assert [row[:4] for row in other.run("DESCRIBE sums")] == [
        ["city", "STRING", False, "PRI(city)"],
        ["total", "INT", True, None],
    ]
    program = TableEnvironment.create()
    program.execute_sql(f"CREATE CATALOG c WITH ('type' = 'file', 'path' = '{tmp_path / 'catalog'}')")
    program.use_catalog("c")
    assert program.list_materialized_tables() == ["sums"]
    with program.execute_sql("SELECT city FROM sums").collect() as rows:
        assert sorted(row[0] for row in rows) == ["Oslo", "Rome"]


def test_show_create_can_be_executed(tmp_path: Path) -> None:
    client = Client(tmp_path)
    client.run(f"{SOURCE} {SUMS} {QUERY}")
    ((text,),) = client.run("SHOW CREATE MATERIALIZED TABLE sums")
    assert text == (
        "CREATE MATERIALIZED TABLE `c`.`default`.`sums` (\n"
        "  `city` VARCHAR(2147483647) NOT NULL,\n"
        "  `total` INT,\n"
        "  CONSTRAINT `PK_city` PRIMARY KEY (`city`) NOT ENFORCED\n"
        ")\n"
        "FRESHNESS = INTERVAL '1' SECOND\n"
        "REFRESH_MODE = CONTINUOUS\n"
        "AS SELECT `sales`.`city`, SUM(`sales`.`amount`) AS `total`\n"
        "FROM `c`.`default`.`sales` AS `sales`\n"
        "GROUP BY `sales`.`city`\n"
    )
    client.run("DROP MATERIALIZED TABLE sums")
    assert client.run("SHOW TABLES") == [["sales"]]
    assert not (tmp_path / "catalog" / "default" / "materialized" / "sums").exists()
    client.run(text)
    assert totals(client) == [["Oslo", 2], ["Rome", 4]]


def test_rows_without_a_primary_key(tmp_path: Path) -> None:
    client = Client(tmp_path)
    client.run(
        f"{SOURCE} CREATE MATERIALIZED TABLE sizes AS SELECT total, COUNT(*) AS cities FROM ({QUERY}) GROUP BY total"
    )
    assert sorted(client.run("SELECT * FROM sizes")) == [[2, 1], [4, 1]]
    with pytest.raises(SqlValidationError, match="no primary key"):
        client.run("ALTER MATERIALIZED TABLE sizes AS SELECT total, COUNT(*) AS cities FROM sums GROUP BY total")
    client.run("DROP MATERIALIZED TABLE IF EXISTS sizes; DROP MATERIALIZED TABLE IF EXISTS sizes")


def test_temporary_objects_of_the_session(tmp_path: Path) -> None:
    """The job needs what only the session has, and must not create again what the catalog has."""
    client = Client(tmp_path)
    client.run(f"{SOURCE} CREATE TEMPORARY VIEW big AS SELECT * FROM sales WHERE amount > 1")
    client.run(
        "CREATE VIEW small AS SELECT * FROM sales WHERE amount < 2; CREATE DATABASE d; ALTER TABLE sales SET ('a' = 'b')"
    )
    client.run("ALTER TABLE sales RESET ('a')")
    client.run("CREATE MATERIALIZED TABLE d.big_sales AS SELECT city FROM big UNION ALL SELECT city FROM small")
    assert sorted(client.run("SELECT * FROM d.big_sales")) == [["Oslo"], ["Rome"], ["Rome"]]
    script = (tmp_path / "catalog" / "d" / "materialized" / "big_sales" / "refresh.sql").read_text()
    assert [line.split(" AS ")[0] for line in script.splitlines() if line and line != ";"][1:] == [
        "USE CATALOG c;",
        "CREATE TEMPORARY VIEW big",
    ]
    with pytest.raises(SqlValidationError, match="DROP MATERIALIZED TABLE comes first"):
        client.run("DROP DATABASE d CASCADE")


def test_a_table_whose_job_does_not_start_is_not_there(tmp_path: Path) -> None:
    client = Client(tmp_path)
    client.run("CREATE TABLE nothing (a INT) WITH ('connector' = 'kafka')")
    with pytest.raises(JobError, match="Required option 'format'"):
        client.run("CREATE MATERIALIZED TABLE t AS SELECT a FROM nothing")
    assert client.run("SHOW MATERIALIZED TABLES") == []
    assert not (tmp_path / "catalog" / "default" / "materialized" / "t").exists()


def test_only_its_job_changes_a_table(tmp_path: Path) -> None:
    client = Client(tmp_path)
    client.run(f"{SOURCE} {SUMS} {QUERY}")
    for text, message in (
        ("INSERT INTO sums SELECT 'Bonn', 1", "Only its own job writes to it"),
        ("DROP TABLE sums", "Use DROP MATERIALIZED TABLE"),
        ("ALTER TABLE sums RENAME TO other", "Use ALTER MATERIALIZED TABLE"),
        ("SHOW CREATE TABLE sums", "Use SHOW CREATE MATERIALIZED TABLE"),
        ("SHOW CREATE MATERIALIZED TABLE sales", "is a table"),
        ("ALTER MATERIALIZED TABLE sales SUSPEND", "is a table, not a materialized table"),
        ("DROP MATERIALIZED TABLE sales", "is a table, not a materialized table"),
        ("ALTER MATERIALIZED TABLE sumz SUSPEND", "Did you mean 'sums'"),
        ("ALTER MATERIALIZED TABLE sums REFRESH", "REFRESH is not supported"),
        ("ALTER MATERIALIZED TABLE sums SET REFRESH_MODE = FULL", "REFRESH_MODE is not supported"),
        ("ALTER MATERIALIZED TABLE sums ADD a INT", "AddSchema is not supported"),
        (f"CREATE MATERIALIZED TABLE sums AS {QUERY}", "exists already"),
        ("CREATE MATERIALIZED TABLE t AS SELECT city FROM sums", "reads the materialized table 'sums'"),
    ):
        with pytest.raises(SqlValidationError, match=message) as raised:
            client.run(text)
        assert "(line 1, column" in str(raised.value)
    program = TableEnvironment(client.client.session)
    for text in ("DROP MATERIALIZED TABLE sums", "ALTER MATERIALIZED TABLE sums SUSPEND", f"{SUMS} {QUERY}"):
        with pytest.raises(SqlValidationError, match="statement of the SQL client"):
            program.execute_sql(text)
    catalog = program.get_catalog("c")
    assert catalog is not None
    assert catalog.list_materialized_tables("default") == ["sums"]


@pytest.mark.parametrize(
    ("text", "column", "message"),
    [
        ("REFRESH_MODE = FULL AS SELECT 1 AS a", 27, "REFRESH_MODE = FULL is not supported"),
        ("START_MODE = FROM_NOW AS SELECT 1 AS a", 27, "START_MODE = FROM_NOW is not supported"),
        ("FRESHNESS = INTERVAL '1' MONTH AS SELECT 1 AS a", 41, "expected one of the units SECOND"),
        ("FRESHNESS = INTERVAL '0' SECOND AS SELECT 1 AS a", 41, "longer than zero"),
        ("WITH ('connector' = 'print') AS SELECT 1 AS a", 35, "no option 'connector'"),
        ("WITH ('path' = '/tmp/t') AS SELECT 1 AS a", 35, "Remove the option 'path'"),
        ("WITH ('nonsense' = '1') AS SELECT 1 AS a", 27, "nonsense"),
        ("(b INT) AS SELECT 1 AS a", 30, "'b' is not a column of the query"),
        ("(a INT, c AS a + 1) AS SELECT 1 AS a", 37, "'c' is a computed column"),
        ("(PRIMARY KEY (x) NOT ENFORCED) AS SELECT 1 AS a", 30, "'x' of the primary key"),
        ("AS SELECT nothing", 39, "nothing"),
        ("DISTRIBUTED INTO 2 BUCKETS AS SELECT 1 AS a", 27, "DISTRIBUTED is not supported"),
    ],
)
def test_wrong_definitions(tmp_path: Path, text: str, column: int, message: str) -> None:
    client = Client(tmp_path)
    with pytest.raises(SqlValidationError, match=message) as raised:
        client.run(f"CREATE MATERIALIZED TABLE t {text}")
    assert raised.value.column == column
    assert client.run("SHOW TABLES") == []


def test_the_catalog_must_be_persistent(tmp_path: Path) -> None:
    client = Client(tmp_path)
    with pytest.raises(SqlValidationError, match="Use a catalog of type 'file'"):
        client.run("CREATE MATERIALIZED TABLE default_catalog.default_database.t AS SELECT 1 AS a")


def test_a_job_that_has_ended_is_resumed_from_its_last_batch(tmp_path: Path) -> None:
    client = Client(tmp_path)
    client.run(f"{SOURCE} {SUMS} {QUERY}")
    client.run("ALTER MATERIALIZED TABLE sums SUSPEND")
    with pytest.raises(SqlValidationError, match="suspended already"):
        client.run("ALTER MATERIALIZED TABLE sums SUSPEND")
    client.run("ALTER MATERIALIZED TABLE sums RESUME WITH ('sink.parallelism' = '1')")
    assert totals(client) == [["Oslo", 2], ["Rome", 4]]
    with pytest.raises(SqlValidationError, match="nonsense"):
        client.run("ALTER MATERIALIZED TABLE sums RESUME WITH ('nonsense' = '1')")


def test_a_changed_query_keeps_its_state(tmp_path: Path) -> None:
    client = Client(tmp_path)
    client.run(f"{SOURCE} {SUMS} {QUERY}")
    assert totals(client) == [["Oslo", 2], ["Rome", 4]]
    with pytest.raises(SqlValidationError, match="'total' of type INT, and the new query has 'total' of type BIGINT"):
        client.run("ALTER MATERIALIZED TABLE sums AS SELECT city, COUNT(*) AS total FROM sales GROUP BY city")
    with pytest.raises(SqlValidationError, match="has no column 'total'"):
        client.run("ALTER MATERIALIZED TABLE sums AS SELECT city FROM sales GROUP BY city")
    with pytest.raises(JobError, match=r"is rebuilt: its key was(?s:.*)is unchanged"):
        client.run(
            "ALTER MATERIALIZED TABLE sums AS SELECT UPPER(city) AS city, SUM(amount) AS total FROM sales GROUP BY UPPER(city)"
        )
    client.run(f"CREATE OR ALTER MATERIALIZED TABLE sums AS {QUERY.replace(' FROM', ', MAX(amount) AS most FROM')}")
    assert totals(client) == [["Oslo", 2, None], ["Rome", 4, None]]


def test_the_default_of_freshness(tmp_path: Path) -> None:
    client = Client(tmp_path)
    client.run("SET 'materialized-table.default-freshness.continuous' = '45 s'")
    client.run("CREATE MATERIALIZED TABLE t AS SELECT 1 AS a")
    assert "FRESHNESS = INTERVAL '45' SECOND" in client.run("SHOW CREATE MATERIALIZED TABLE t")[0][0]
    client.run("RESET 'materialized-table.default-freshness.continuous'; CREATE MATERIALIZED TABLE u AS SELECT 1 AS a")
    assert "FRESHNESS = INTERVAL '3' MINUTE" in client.run("SHOW CREATE OR ALTER MATERIALIZED TABLE u")[0][0]
    client.run("ALTER MATERIALIZED TABLE u SUSPEND; ALTER MATERIALIZED TABLE u SET FRESHNESS = INTERVAL '2' HOUR")
    assert "FRESHNESS = INTERVAL '2' HOUR" in client.run("SHOW CREATE MATERIALIZED TABLE u")[0][0]
