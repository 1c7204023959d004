"""COMPILE PLAN, EXECUTE PLAN and COMPILE AND EXECUTE PLAN."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from penstock.atomic_file import write_atomic
from penstock.errors import PlanError
from penstock.table.catalog.table import CatalogTable
from penstock.table.dialect.statements.insert import Insert
from penstock.table.dialect.statements.insert import StatementSet as StatementSetStatement
from penstock.table.dialect.statements.plan import CompilePlan, ExecutePlan
from penstock.table.environment.answer import Answer, ok
from penstock.table.environment.session import Session
from penstock.table.environment.statements.queries import insert_relation, run_inserts
from penstock.table.plans.stored_plan import read_plan, write_plan
from penstock.table.relations import Sink

_FORCE = "table.plan.force-recompile"


def run_compile_plan(session: Session, statement: CompilePlan, text: str) -> Answer:
    """Writes the plan of a statement to a file, and runs it if the statement says so."""
    file = plan_path(statement.file)
    exists = file.exists()
    if statement.execute and exists and not _force(session):
        return run_plan(session, read_plan_file(session, file))
    if exists and not statement.execute and statement.if_not_exists:
        return ok()
    sinks = inserted(session, statement.statement, text)
    write_plan_file(file, compiled(session, sinks), overwrite=_force(session))
    return run_plan(session, read_plan_file(session, file)) if statement.execute else ok()


def run_execute_plan(session: Session, statement: ExecutePlan, text: str) -> Answer:
    """Runs the plan in a file."""
    return run_plan(session, read_plan_file(session, plan_path(statement.file)))


def inserted(session: Session, statement: Insert | StatementSetStatement, text: str) -> list[Sink]:
    """Binds an INSERT, or all of a statement set."""
    inserts = statement.inserts if isinstance(statement, StatementSetStatement) else (statement,)
    return [insert_relation(session, insert, text) for insert in inserts]


def compiled(session: Session, sinks: Sequence[Sink]) -> str:
    """Returns the plan of sinks as JSON."""
    if not session.streaming:
        raise PlanError(
            "SQL_PLAN_BATCH", "Plans are compiled in streaming mode only, because jobs in batch mode keep no state."
        )
    return write_plan(session.executor.plan(sinks))


def run_plan(session: Session, sinks: Sequence[Sink]) -> Answer:
    """Starts one job for the sinks of a plan."""
    return run_inserts(session, sinks)


def plan_path(text: str) -> Path:
    """Returns the path of a plan. It may be a URI of the local file system.

    >>> plan_path("file:///tmp/plan.json").as_posix()
    '/tmp/plan.json'
    """
    scheme, separator, rest = text.partition(":/")
    if not separator or len(scheme) < 2:  # no scheme, or a drive
        return Path(text)
    if scheme != "file":
        raise PlanError(
            "SQL_PLAN_PATH", f"Plans are files of the local file system, but the path is '{text}'. Use a local path."
        )
    return Path("/" + rest.lstrip("/"))


def write_plan_file(file: Path, plan: str, ignore_if_exists: bool = False, overwrite: bool = False) -> None:
    """Writes a plan. A file that exists is an error, unless it is kept or replaced."""
    if file.exists() and not overwrite:
        if ignore_if_exists:
            return
        raise PlanError(
            "SQL_PLAN_EXISTS",
            f"The file {file} exists. Write COMPILE PLAN ... IF NOT EXISTS to keep it, or replace it with SET '{_FORCE}' = 'true'.",
        )
    file.parent.mkdir(parents=True, exist_ok=True)
    write_atomic(file, plan.encode(), durable=True)


def read_plan_file(session: Session, file: Path) -> list[Sink]:
    """Returns the sinks of a plan in a file."""
    return read_plan_text(session, plan_text(file), f"The plan {file}")


def plan_text(file: Path) -> str:
    """Returns the text of a file with a plan."""
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise PlanError(
            "SQL_PLAN_FILE",
            f"The plan {file} cannot be read: {error}. Write it with COMPILE PLAN '{file}' FOR INSERT ...",
        ) from error


def read_plan_text(session: Session, text: str, where: str = "The plan") -> list[Sink]:
    """Returns the sinks of a plan."""

    def options(path: tuple[str, ...]) -> Mapping[str, str]:
        catalog, database, name = path
        found = session.catalogs.find((catalog, database, name))
        return dict(found.options) if isinstance(found, CatalogTable) else {}

    def code(path: tuple[str, ...]) -> bytes:
        found = session.functions.resolve(path, before_built_in=True)
        if found is None:
            raise PlanError(
                "SQL_PLAN_FUNCTION",
                f"{where} calls the function '{'.'.join(path)}', which does not exist. Plans contain names of Python "
                "functions, and not their code: register the function first.",
            )
        payload: bytes = found.payload()
        return payload

    return read_plan(text, options, where, code)


def _force(session: Session) -> bool:
    return (session.config.get(_FORCE) or "").strip().lower() == "true"
