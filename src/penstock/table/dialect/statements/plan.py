"""EXPLAIN, EXECUTE and COMPILE PLAN."""

from __future__ import annotations

from typing import ClassVar

from penstock.table.dialect.statements.insert import Insert, StatementSet
from penstock.table.dialect.statements.statement import Statement


class Explain(Statement, frozen=True):
    """EXPLAIN details statement. The details are ESTIMATED_COST, CHANGELOG_MODE, JSON_EXECUTION_PLAN and PLAN_ADVICE."""

    kind: ClassVar[str] = "RichExplain"

    statement: Statement
    details: tuple[str, ...] = ()


class Execute(Statement, frozen=True):
    """EXECUTE statement."""

    kind: ClassVar[str] = "Execute"

    statement: Statement


class ExecutePlan(Statement, frozen=True):
    """EXECUTE PLAN 'file'."""

    kind: ClassVar[str] = "ExecutePlan"

    file: str


class CompilePlan(Statement, frozen=True):
    """COMPILE PLAN 'file' FOR statement, or COMPILE AND EXECUTE PLAN with `execute`."""

    file: str
    statement: Insert | StatementSet
    if_not_exists: bool = False
    execute: bool = False

    def statement_kind(self) -> str:
        return "CompileAndExecutePlan" if self.execute else "CompilePlan"
