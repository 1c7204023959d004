"""Compiled plans: the methods of a table environment."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from penstock.errors import PlanError
from penstock.table.dialect import parse_statement
from penstock.table.dialect.statements.insert import Insert, StatementSet
from penstock.table.environment.plans.compiled_plan import CompiledPlan
from penstock.table.environment.plans.plan_reference import (
    FilePlanReference,
    JsonContentPlanReference,
    PlanReference,
)
from penstock.table.environment.statements.plans import inserted, plan_text
from penstock.table.environment.table_result import TableResult
from penstock.table.rejected_statements import check_supported

if TYPE_CHECKING:
    from penstock.table.environment.environment import TableEnvironment


class Plans:
    """The methods of a table environment for compiled plans."""

    def load_plan(self, plan_reference: PlanReference) -> CompiledPlan:
        """Reads a plan from a file or a text."""
        environment = cast("TableEnvironment", self)
        if isinstance(plan_reference, FilePlanReference):
            file = plan_reference.get_file()
            return CompiledPlan(environment, plan_text(file), f"The plan {file}")
        if isinstance(plan_reference, JsonContentPlanReference):
            return CompiledPlan(environment, plan_reference.get_content())
        raise PlanError(
            "SQL_PLAN_FILE", f"load_plan takes a PlanReference, not {plan_reference!r}. Use PlanReference.from_file."
        )

    def compile_plan_sql(self, stmt: str) -> CompiledPlan:
        """Compiles an INSERT or a statement set."""
        environment: Any = self
        statement = parse_statement(stmt)
        check_supported(statement)
        if not isinstance(statement, Insert | StatementSet):
            raise PlanError(
                "SQL_PLAN_STATEMENT",
                f"A plan is compiled from INSERT or a statement set, not from {statement.statement_kind()}. Write the query as "
                "INSERT INTO a table.",
            )
        return CompiledPlan.of(environment, inserted(environment.session, statement, stmt))

    def execute_plan(self, plan_reference: PlanReference) -> TableResult:
        """Reads a plan and starts its job."""
        return self.load_plan(plan_reference).execute()
