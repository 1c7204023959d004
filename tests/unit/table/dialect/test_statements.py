"""Statements become frozen classes with what was written in them."""

from __future__ import annotations

import pytest
from sqlglot import exp

from penstock.table.dialect import parse_statement
from penstock.table.dialect.nodes import IntervalLiteral
from penstock.table.dialect.statements.alter_table import AddToTable, DropPartitions, RenameColumn
from penstock.table.dialect.statements.column import ComputedColumn, MetadataColumn, PhysicalColumn
from penstock.table.dialect.statements.create_table import (
    CreateMaterializedTable,
    CreateTable,
    CreateTableAs,
    CreateTableLike,
    LikeOption,
    ReplaceTableAs,
)
from penstock.table.dialect.statements.function import CreateFunction
from penstock.table.dialect.statements.insert import Insert, StatementSet
from penstock.table.dialect.statements.plan import CompilePlan, Execute, Explain
from penstock.table.dialect.statements.session import AnalyzeTable, CallProcedure, SetOption, StopJob
from penstock.table.dialect.statements.show import Describe, LikeFilter, Show
from penstock.table.dialect.statements.view import CreateView

ORDERS = """
CREATE TEMPORARY TABLE IF NOT EXISTS shop.orders (
  id BIGINT NOT NULL COMMENT 'the number',
  `user` ROW<name STRING, tags ARRAY<STRING>>,
  ts TIMESTAMP(3),
  total AS price * 2 COMMENT 'computed',
  origin STRING METADATA FROM 'value.source' VIRTUAL,
  WATERMARK FOR ts AS ts - INTERVAL '5' SECOND,
  CONSTRAINT pk PRIMARY KEY (id) NOT ENFORCED
) COMMENT 'all orders'
DISTRIBUTED BY HASH (id) INTO 4 BUCKETS
PARTITIONED BY (ts)
WITH ('connector' = 'kafka', 'topic' = 'it''s')
"""

# One statement of each kind that has no test of its own.
KINDS = [
    ("ADD JAR 'a.jar'", "AddJar"),
    ("REMOVE JAR 'a.jar'", "RemoveJar"),
    ("SHOW JARS", "ShowJars"),
    ("SHOW JOBS", "ShowJobs"),
    ("SHOW CURRENT CATALOG", "ShowCurrentCatalog"),
    ("SHOW CURRENT DATABASE", "ShowCurrentDatabase"),
    ("SHOW CATALOGS NOT ILIKE 'a%'", "ShowCatalogs"),
    ("SHOW DATABASES IN c", "ShowDatabases"),
    ("SHOW VIEWS", "ShowTables"),
    ("SHOW MATERIALIZED TABLES FROM d", "ShowTables"),
    ("SHOW USER FUNCTIONS", "ShowFunctions"),
    ("SHOW FULL MODULES", "ShowModules"),
    ("SHOW PROCEDURES FROM c.d LIKE 'p%'", "ShowProcedures"),
    ("SHOW MODELS", "ShowModels"),
    ("SHOW CONNECTIONS", "ShowConnections"),
    ("SHOW PARTITIONS t PARTITION (a = 1)", "ShowPartitions"),
    ("SHOW CREATE TABLE t", "ShowCreateTable"),
    ("SHOW CREATE VIEW v", "ShowCreateView"),
    ("SHOW CREATE CATALOG c", "ShowCreateCatalog"),
    ("SHOW CREATE OR ALTER MATERIALIZED TABLE t", "ShowCreateMaterializedTable"),
    ("DESC CATALOG EXTENDED c", "DescribeCatalog"),
    ("DESCRIBE DATABASE d", "DescribeDatabase"),
    ("DESCRIBE FUNCTION f", "RichDescribeFunction"),
    ("DESCRIBE JOB '1'", "DescribeJob"),
    ("USE d", "UseDatabase"),
    ("USE CATALOG c", "UseCatalog"),
    ("USE MODULES a, b", "UseModules"),
    ("LOAD MODULE hive WITH ('version' = '3')", "LoadModule"),
    ("UNLOAD MODULE hive", "UnloadModule"),
    ("CREATE CATALOG IF NOT EXISTS c COMMENT 'x' WITH ('type' = 'memory')", "CreateCatalog"),
    ("CREATE DATABASE c.d", "CreateDatabase"),
    ("ALTER CATALOG c COMMENT 'x'", "AlterCatalogComment"),
    ("ALTER CATALOG c SET ('a' = 'b')", "AlterCatalogOptions"),
    ("ALTER CATALOG c RESET ('a')", "AlterCatalogReset"),
    ("ALTER DATABASE d SET ('a' = 'b')", "AlterDatabase"),
    ("ALTER VIEW v RENAME TO w", "AlterViewRename"),
    ("ALTER VIEW v AS SELECT 1", "AlterViewAs"),
    ("ALTER TEMPORARY SYSTEM FUNCTION f AS 'm.f' LANGUAGE PYTHON", "AlterFunction"),
    ("ALTER TABLE t RENAME TO u", "AlterTableRename"),
    ("ALTER TABLE t SET ('a' = 'b')", "AlterTableOptions"),
    ("ALTER TABLE t RESET ('a')", "AlterTableReset"),
    ("ALTER TABLE t MODIFY a INT FIRST", "AlterTableModify"),
    ("ALTER TABLE t ADD DISTRIBUTION INTO 3 BUCKETS", "AlterTableAddDistribution"),
    ("ALTER TABLE t MODIFY DISTRIBUTION BY (a)", "AlterTableModifyDistribution"),
    ("ALTER TABLE t DROP DISTRIBUTION", "AlterTableDropDistribution"),
    ("ALTER TABLE t DROP (a, b.c)", "AlterTableDropColumn"),
    ("ALTER TABLE t DROP PRIMARY KEY", "AlterTableDropPrimaryKey"),
    ("ALTER TABLE t DROP CONSTRAINT c", "AlterTableDropConstraint"),
    ("ALTER TABLE t DROP WATERMARK", "AlterTableDropWatermark"),
    ("ALTER TABLE t ADD PARTITION (a = 1) WITH ('k' = 'v') PARTITION (a = 2)", "AddPartitions"),
    ("ALTER MATERIALIZED TABLE t SUSPEND", "AlterMaterializedTableSuspend"),
    ("ALTER MATERIALIZED TABLE t RESUME WITH ('a' = 'b')", "AlterMaterializedTableResume"),
    ("ALTER MATERIALIZED TABLE t REFRESH PARTITION (a = 1)", "AlterMaterializedTableRefresh"),
    ("ALTER MATERIALIZED TABLE t SET FRESHNESS = INTERVAL '1' DAY", "AlterMaterializedTableFreshness"),
    ("ALTER MATERIALIZED TABLE t SET REFRESH_MODE = FULL", "AlterMaterializedTableRefreshMode"),
    ("ALTER MATERIALIZED TABLE t AS SELECT 1", "AlterMaterializedTableAsQuery"),
    ("ALTER MATERIALIZED TABLE t ADD a INT", "AlterMaterializedTableAddSchema"),
    ("CREATE MODEL m INPUT (a INT) OUTPUT (b STRING) WITH ('p' = 'q')", "CreateModel"),
    ("CREATE MODEL m AS SELECT 1", "CreateModelAs"),
    ("ALTER MODEL IF EXISTS m RENAME TO n", "AlterModelRename"),
    ("CREATE CONNECTION c WITH ('type' = 'basic')", "CreateConnection"),
    ("ALTER CONNECTION c RESET ('a')", "AlterConnectionReset"),
    ("DROP TABLE IF EXISTS a.b.t", "DropTable"),
    ("DROP MATERIALIZED TABLE t", "DropMaterializedTable"),
    ("DROP TEMPORARY VIEW v", "DropView"),
    ("DROP TEMPORARY SYSTEM FUNCTION f", "DropFunction"),
    ("DROP DATABASE d CASCADE", "DropDatabase"),
    ("DROP CATALOG c", "DropCatalog"),
    ("DROP MODEL m", "DropModel"),
    ("DROP CONNECTION c", "DropConnection"),
    ("BEGIN STATEMENT SET", "BeginStatementSet"),
    ("END;", "EndStatementSet"),
    ("EXECUTE PLAN 'p.json'", "ExecutePlan"),
    ("COMPILE AND EXECUTE PLAN 'p' FOR INSERT INTO t SELECT 1", "CompileAndExecutePlan"),
    ("DELETE FROM t WHERE a = 1", "Delete"),
    ("UPDATE t SET a = 1, b = 'x' WHERE c", "Update"),
    ("TRUNCATE TABLE t", "TruncateTable"),
    ("RESET", "Reset"),
    ("reset table.exec.state.ttl", "Reset"),
    ("HELP;", "Help"),
    ("exit", "Quit"),
    ("SELECT 1", "SELECT"),
    ("SELECT a FROM t ORDER BY a", "ORDER_BY"),
    ("WITH q AS (SELECT 1) SELECT * FROM q", "WITH"),
    ("SELECT 1 UNION ALL SELECT 2", "UNION"),
    ("SELECT 1 INTERSECT SELECT 2", "INTERSECT"),
    ("SELECT 1 EXCEPT SELECT 2", "EXCEPT"),
    ("VALUES (1), (2)", "VALUES"),
    ("TABLE t", "EXPLICIT_TABLE"),
]


@pytest.mark.parametrize(("text", "kind"), KINDS)
def test_kind(text: str, kind: str) -> None:
    assert parse_statement(text).statement_kind() == kind


def test_create_table_has_columns_keys_and_options() -> None:
    table = parse_statement(ORDERS)
    assert isinstance(table, CreateTable)
    assert (table.temporary, table.if_not_exists, table.comment) == (True, True, "all orders")
    assert table.name.parts == ("shop", "orders")
    identity, user, time, total, origin = table.schema.columns
    assert isinstance(identity, PhysicalColumn)
    assert isinstance(user, PhysicalColumn)
    assert isinstance(time, PhysicalColumn)
    assert (identity.name, str(identity.type), identity.comment) == (("id",), "BIGINT NOT NULL", "the number")
    assert str(user.type) == "ROW<`name` STRING, `tags` ARRAY<STRING>>"
    assert str(time.type) == "TIMESTAMP(3)"
    assert isinstance(total, ComputedColumn)
    assert (total.text, total.comment) == ("price * 2", "computed")
    assert isinstance(total.expression, exp.Mul)
    assert isinstance(origin, MetadataColumn)
    assert (origin.key, origin.virtual) == ("value.source", True)
    assert table.schema.watermark is not None
    assert table.schema.watermark.column == ("ts",)
    assert table.schema.watermark.text == "ts - INTERVAL '5' SECOND"
    (key,) = table.schema.constraints
    assert (key.name, key.columns, key.enforced, key.unique) == ("pk", ("id",), False, False)
    assert table.distribution is not None
    assert (table.distribution.method, table.distribution.columns, table.distribution.buckets) == ("HASH", ("id",), 4)
    assert table.partitioned_by == ("ts",)
    assert table.options is not None
    assert [(option.key, option.value) for option in table.options] == [("connector", "kafka"), ("topic", "it's")]


def test_places_of_columns_and_options() -> None:
    table = parse_statement(ORDERS)
    assert isinstance(table, CreateTable)
    assert (table.schema.columns[1].line, table.schema.columns[1].column) == (4, 3)
    assert table.options is not None
    assert (table.options[1].line, table.options[1].column) == (13, 30)


def test_a_statement_is_frozen() -> None:
    table = parse_statement("CREATE TABLE t (a INT)")
    assert isinstance(table, CreateTable)
    with pytest.raises(AttributeError):
        table.comment = "x"  # type: ignore[misc]


def test_column_constraint() -> None:
    table = parse_statement("CREATE TABLE t (a INT PRIMARY KEY NOT ENFORCED COMMENT 'x')")
    assert isinstance(table, CreateTable)
    (column,) = table.schema.columns
    assert isinstance(column, PhysicalColumn)
    assert column.constraint is not None
    assert (column.constraint.columns, column.constraint.enforced, column.comment) == (("a",), False, "x")


def test_like() -> None:
    table = parse_statement(
        "CREATE TABLE t (b INT) WITH () LIKE s (INCLUDING ALL OVERWRITING OPTIONS EXCLUDING WATERMARKS)"
    )
    assert isinstance(table, CreateTableLike)
    assert table.source.parts == ("s",)
    assert table.like_options == (
        LikeOption("INCLUDING", "ALL"),
        LikeOption("OVERWRITING", "OPTIONS"),
        LikeOption("EXCLUDING", "WATERMARKS"),
    )


def test_create_table_as() -> None:
    table = parse_statement("CREATE TABLE t (b, a) AS SELECT a, b FROM s")
    assert isinstance(table, CreateTableAs)
    assert table.schema.identifiers == (("b",), ("a",))
    assert table.query.text == "SELECT a, b FROM s"
    replaced = parse_statement("CREATE OR REPLACE TABLE t AS SELECT 1")
    assert isinstance(replaced, ReplaceTableAs)
    assert replaced.create
    assert parse_statement("REPLACE TABLE t AS SELECT 1").statement_kind() == "ReplaceTableAs"


def test_materialized_table() -> None:
    table = parse_statement(
        "CREATE OR ALTER MATERIALIZED TABLE t PARTITIONED BY (a) START_MODE = FROM_NOW(INTERVAL '1' DAY) "
        "FRESHNESS = INTERVAL '30' SECOND REFRESH_MODE = CONTINUOUS AS SELECT a FROM s"
    )
    assert isinstance(table, CreateMaterializedTable)
    assert isinstance(table.freshness, IntervalLiteral)
    assert table.start_mode is not None
    assert (table.or_alter, table.refresh_mode, table.start_mode.mode) == (True, "CONTINUOUS", "FROM_NOW")


def test_view() -> None:
    view = parse_statement("CREATE TEMPORARY VIEW IF NOT EXISTS v (a, b) COMMENT 'x' AS\nSELECT 1, 2 -- end\n;")
    assert isinstance(view, CreateView)
    assert (view.columns, view.comment, view.temporary, view.if_not_exists) == (("a", "b"), "x", True, True)
    assert view.query.text == "SELECT 1, 2"


def test_python_function() -> None:
    function = parse_statement("CREATE TEMPORARY FUNCTION IF NOT EXISTS c.d.f AS 'my.module.f' LANGUAGE PYTHON")
    assert isinstance(function, CreateFunction)
    assert (function.name.parts, function.implementation) == (("c", "d", "f"), "my.module.f")
    assert (function.language, function.temporary, function.system) == ("PYTHON", True, False)
    java = parse_statement("CREATE FUNCTION f AS 'a.F' LANGUAGE JAVA USING JAR 'x.jar', JAR 'y.jar' WITH ('k' = 'v')")
    assert isinstance(java, CreateFunction)
    assert [resource.path for resource in java.resources] == ["x.jar", "y.jar"]


def test_alter_table() -> None:
    added = parse_statement(
        "ALTER TABLE IF EXISTS t ADD (a INT AFTER b.c, d AS e FIRST, PRIMARY KEY (a) NOT ENFORCED, WATERMARK FOR d AS d)"
    )
    assert isinstance(added, AddToTable)
    assert added.if_exists
    assert [(place.first, place.after) for place in added.columns] == [(False, ("b", "c")), (True, None)]
    assert added.constraints[0].columns == ("a",)
    assert added.watermark is not None
    renamed = parse_statement("ALTER TABLE t RENAME a.b TO a.c")
    assert isinstance(renamed, RenameColumn)
    assert (renamed.column, renamed.new_column) == (("a", "b"), ("a", "c"))
    dropped = parse_statement("ALTER TABLE t DROP IF EXISTS PARTITION (a = 1, b = 'x'), PARTITION (a = -2)")
    assert isinstance(dropped, DropPartitions)
    assert [[value.column for value in partition] for partition in dropped.partitions] == [["a", "b"], ["a"]]


def test_insert() -> None:
    insert = parse_statement(
        "INSERT OVERWRITE c.d.t /*+ OPTIONS('k' = 'v') */ PARTITION (`day` = '1') (a, b.c) SELECT 1, 2 ON CONFLICT DO NOTHING"
    )
    assert isinstance(insert, Insert)
    assert (insert.overwrite, insert.columns, insert.conflict) == (True, (("a",), ("b", "c")), "NOTHING")
    assert insert.partition[0].column == "day"
    assert insert.hints[0].name == "OPTIONS"
    assert insert.query.text == "SELECT 1, 2"


def test_insert_values_is_no_column_list() -> None:
    insert = parse_statement("INSERT INTO t (SELECT 1) UNION ALL (VALUES (2))")
    assert isinstance(insert, Insert)
    assert insert.columns == ()
    assert isinstance(insert.query.query, exp.Union)


def test_statement_set() -> None:
    executed = parse_statement("EXECUTE STATEMENT SET BEGIN INSERT INTO a SELECT 1; INSERT INTO b SELECT 2; END;")
    assert isinstance(executed, Execute)
    assert isinstance(executed.statement, StatementSet)
    assert [str(insert.table) for insert in executed.statement.inserts] == ["a", "b"]
    compiled = parse_statement("COMPILE PLAN 'p' IF NOT EXISTS FOR STATEMENT SET BEGIN INSERT INTO a SELECT 1; END")
    assert isinstance(compiled, CompilePlan)
    assert (compiled.file, compiled.if_not_exists, compiled.execute) == ("p", True, False)


@pytest.mark.parametrize(
    ("text", "details", "kind"),
    [
        ("EXPLAIN SELECT 1", (), "SELECT"),
        ("EXPLAIN PLAN FOR INSERT INTO t SELECT 1", (), "SqlInsert"),
        ("EXPLAIN CHANGELOG_MODE, PLAN_ADVICE SELECT 1", ("CHANGELOG_MODE", "PLAN_ADVICE"), "SELECT"),
        ("EXPLAIN JSON_EXECUTION_PLAN CREATE TABLE t AS SELECT 1", ("JSON_EXECUTION_PLAN",), "CreateTableAs"),
        ("EXPLAIN ESTIMATED_COST STATEMENT SET BEGIN INSERT INTO t SELECT 1; END", ("ESTIMATED_COST",), "StatementSet"),
    ],
)
def test_explain(text: str, details: tuple[str, ...], kind: str) -> None:
    explain = parse_statement(text)
    assert isinstance(explain, Explain)
    assert explain.details == details
    assert explain.statement.statement_kind() == kind


def test_show_and_describe() -> None:
    show = parse_statement("SHOW TABLES FROM c.d NOT LIKE 'a%'")
    assert isinstance(show, Show)
    assert show.source is not None
    assert (str(show.source), show.like) == ("c.d", LikeFilter("LIKE", "a%", True))
    described = parse_statement("DESC EXTENDED a.b")
    assert isinstance(described, Describe)
    assert (described.object_type, described.name.parts, described.extended) == ("TABLE", ("a", "b"), True)


@pytest.mark.parametrize(
    ("text", "key", "value"),
    [
        ("SET 'a.b' = 'c d'", "a.b", "c d"),
        ("SET table.local-time-zone = UTC;", "table.local-time-zone", "UTC"),
        ("-- zone\nset x='y z'", "x", "y z"),
        ("SET", None, None),
    ],
)
def test_set(text: str, key: str | None, value: str | None) -> None:
    setting = parse_statement(text)
    assert isinstance(setting, SetOption)
    assert (setting.key, setting.value) == (key, value)


def test_session_statements() -> None:
    stop = parse_statement("STOP JOB 'a1' WITH SAVEPOINT WITH DRAIN")
    assert isinstance(stop, StopJob)
    assert (stop.job, stop.savepoint, stop.drain) == ("a1", True, True)
    call = parse_statement("CALL c.`system`.p(1, 'x')")
    assert isinstance(call, CallProcedure)
    assert (call.name.parts, len(call.call.expressions)) == (("c", "system", "p"), 2)
    analyzed = parse_statement("ANALYZE TABLE t PARTITION (a, b = 1) COMPUTE STATISTICS FOR COLUMNS x, y")
    assert isinstance(analyzed, AnalyzeTable)
    assert (analyzed.columns, [value.value is None for value in analyzed.partition]) == (("x", "y"), [True, False])
