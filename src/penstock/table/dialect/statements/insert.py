"""INSERT, statement sets, DELETE, UPDATE and TRUNCATE."""

from __future__ import annotations

from typing import ClassVar

from sqlglot import exp

from penstock.table.dialect.nodes import HintCall
from penstock.table.dialect.statements.query import Query
from penstock.table.dialect.statements.statement import ObjectName, PartitionValue, Statement


class Insert(Statement, frozen=True):
    """INSERT INTO t PARTITION (...) (a, b) query. `upsert` is UPSERT INTO, which Flink parses as well.

    conflict: ERROR, NOTHING or DEDUPLICATE of ON CONFLICT DO.
    """

    kind: ClassVar[str] = "SqlInsert"

    table: ObjectName
    query: Query
    columns: tuple[tuple[str, ...], ...] = ()
    partition: tuple[PartitionValue, ...] = ()
    hints: tuple[HintCall, ...] = ()
    overwrite: bool = False
    upsert: bool = False
    conflict: str | None = None


class StatementSet(Statement, frozen=True):
    """STATEMENT SET BEGIN INSERT ...; INSERT ...; END, behind EXECUTE, EXPLAIN or COMPILE PLAN."""

    kind: ClassVar[str] = "StatementSet"

    inserts: tuple[Insert, ...]


class BeginStatementSet(Statement, frozen=True):
    """BEGIN STATEMENT SET: the INSERT statements behind it belong together, up to END."""

    kind: ClassVar[str] = "BeginStatementSet"


class EndStatementSet(Statement, frozen=True):
    """END."""

    kind: ClassVar[str] = "EndStatementSet"


class Delete(Statement, frozen=True):
    """DELETE FROM t WHERE condition."""

    kind: ClassVar[str] = "Delete"

    table: ObjectName
    condition: exp.Expr | None = None
    alias: str | None = None
    hints: tuple[HintCall, ...] = ()


class Update(Statement, frozen=True):
    """UPDATE t SET a = 1 WHERE condition."""

    kind: ClassVar[str] = "Update"

    table: ObjectName
    assignments: tuple[tuple[str, exp.Expr], ...]
    condition: exp.Expr | None = None
    alias: str | None = None
    hints: tuple[HintCall, ...] = ()


class TruncateTable(Statement, frozen=True):
    """TRUNCATE TABLE t."""

    kind: ClassVar[str] = "TruncateTable"

    table: ObjectName
