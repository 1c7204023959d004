"""A plan of INSERT statements that can be stored, and that runs as it is in later versions."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from penstock.errors import UnsupportedOperation
from penstock.table.environment.statements.plans import (
    compiled,
    plan_path,
    read_plan_text,
    run_plan,
    write_plan_file,
)
from penstock.table.environment.table_result import TableResult
from penstock.table.plans.stored_plan import plan_version
from penstock.table.relations import Sink

if TYPE_CHECKING:
    from penstock.table.environment.environment import TableEnvironment


class CompiledPlan:
    """The plan of one job. It does not depend on what later versions would plan, so that its state is found again."""

    def __init__(self, environment: TableEnvironment, json: str, where: str = "The plan") -> None:
        self._environment = environment
        self._json = json
        self._sinks = read_plan_text(environment.session, json, where)

    @staticmethod
    def of(environment: TableEnvironment, sinks: Sequence[Sink]) -> CompiledPlan:
        """Returns the plan of sinks."""
        return CompiledPlan(environment, compiled(environment.session, sinks))

    def as_json_string(self) -> str:
        """Returns the plan as JSON."""
        return self._json

    def as_smile_bytes(self) -> NoReturn:
        """Is not supported: Smile is a binary form of JSON for Java."""
        raise UnsupportedOperation("SQL_PLAN_SMILE", "Plans are JSON texts. Use as_json_string().")

    def print_json_string(self) -> None:
        """Prints the plan as JSON."""
        print(self._json)

    def write_to_file(self, file: str | Path, ignore_if_exists: bool = False) -> None:
        """Writes the plan as JSON. A file that exists is an error, or is kept with `ignore_if_exists`."""
        write_plan_file(plan_path(str(file)), self._json, ignore_if_exists)

    def get_flink_version(self) -> str:
        """Returns the version of Penstock that compiled the plan."""
        return plan_version(self._json)

    def execute(self) -> TableResult:
        """Starts the job."""
        return self._environment.result(run_plan(self._environment.session, self._sinks))

    def explain(self, *extra_details: object) -> str:
        """Returns the plan as text."""
        details = tuple(getattr(detail, "name", str(detail)) for detail in extra_details)
        return self._environment.session.executor.explain(self._sinks, details)

    def print_explain(self, *extra_details: object) -> None:
        """Prints the plan as text."""
        print(self.explain(*extra_details))

    def __str__(self) -> str:
        return self._json
