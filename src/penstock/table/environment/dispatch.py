"""Finds the handler of a statement and runs it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from penstock.errors import SqlValidationError
from penstock.table.catalog.definition import functions_of
from penstock.table.catalog.errors import located
from penstock.table.dialect import parse_statement
from penstock.table.dialect.statements import (
    alter_table,
    catalog,
    create_table,
    function,
    insert,
    plan,
    query,
    session,
    show,
    view,
)
from penstock.table.dialect.statements.drop import Drop
from penstock.table.dialect.statements.statement import ObjectName, Statement
from penstock.table.environment.answer import Answer
from penstock.table.environment.session import Session
from penstock.table.environment.statements.alter_table import alter_table as run_alter_table
from penstock.table.environment.statements.create_table import create_table as run_create_table
from penstock.table.environment.statements.databases import (
    alter_catalog,
    alter_database,
    create_catalog,
    create_database,
    use,
)
from penstock.table.environment.statements.describe import describe
from penstock.table.environment.statements.drop import drop
from penstock.table.environment.statements.functions import alter_function, create_function
from penstock.table.environment.statements.options import reset_option, set_option, use_modules
from penstock.table.environment.statements.plans import run_compile_plan, run_execute_plan
from penstock.table.environment.statements.queries import (
    run_execute,
    run_explain,
    run_insert,
    run_query,
    run_statement_set,
)
from penstock.table.environment.statements.show import run_show
from penstock.table.environment.statements.show_create import show_create
from penstock.table.environment.statements.views import change_view, create_view, rename_view
from penstock.table.rejected_statements import check_supported

Handler = Callable[[Session, Any, str], Answer]

_HANDLERS: dict[type[Statement], Handler] = {
    create_table.CreateTable: run_create_table,
    create_table.CreateTableLike: run_create_table,
    create_table.CreateTableAs: run_create_table,
    view.CreateView: create_view,
    view.RenameView: rename_view,
    view.ChangeView: change_view,
    Drop: drop,
    catalog.CreateCatalog: create_catalog,
    catalog.SetCatalogOptions: alter_catalog,
    catalog.ResetCatalogOptions: alter_catalog,
    catalog.CommentCatalog: alter_catalog,
    catalog.UseCatalog: use,
    catalog.CreateDatabase: create_database,
    catalog.SetDatabaseOptions: alter_database,
    catalog.UseDatabase: use,
    function.CreateFunction: create_function,
    function.AlterFunction: alter_function,
    show.Show: run_show,
    show.ShowCreate: show_create,
    show.Describe: describe,
    session.SetOption: set_option,
    session.ResetOption: reset_option,
    session.UseModules: use_modules,
    query.Query: run_query,
    insert.Insert: run_insert,
    insert.StatementSet: run_statement_set,
    plan.Execute: run_execute,
    plan.CompilePlan: run_compile_plan,
    plan.ExecutePlan: run_execute_plan,
    plan.Explain: run_explain,
}


def execute(current: Session, text: str) -> Answer:
    """Parses and runs one statement."""
    return execute_parsed(current, parse_statement(text), text)


def execute_parsed(current: Session, statement: Statement, text: str) -> Answer:
    """Runs a parsed statement. `text` is where it was parsed from, for the excerpts of errors."""
    check_supported(statement)
    handler = _handler(statement)
    with place_errors(statement, text), functions_of(current):
        return handler(current, statement, text)


@contextmanager
def place_errors(statement: Statement, text: str) -> Iterator[None]:
    """Context manager that adds the place in the statement to errors without one."""
    try:
        yield
    except SqlValidationError as error:
        placed = _with_place(error, statement, text)
        if placed is error:
            raise
        raise placed from error


def _handler(statement: Statement) -> Handler:
    if isinstance(statement, alter_table.AlterTable) and not statement.materialized:
        return run_alter_table
    found = _HANDLERS.get(type(statement))
    if found is None:
        raise SqlValidationError(
            "SQL_STATEMENT",
            f"{statement.statement_kind()} is a statement of the SQL client. It cannot run here.",
        )
    return found


def _with_place(error: SqlValidationError, statement: Statement, text: str) -> SqlValidationError:
    """Adds the place of the statement's object to an error that has none."""
    for part in ("name", "source", "table"):
        name = getattr(statement, part, None)
        if isinstance(name, ObjectName) and name.line:
            return located(error, text, name.line, name.column)
    return located(error, text)
