"""The statements that made a session what it is. A job that runs after the client has ended begins with them."""

from __future__ import annotations

from collections.abc import Mapping

from penstock.errors import SqlValidationError
from penstock.table.catalog.memory import MemoryCatalog
from penstock.table.dialect.statements.alter_table import AlterTable
from penstock.table.dialect.statements.catalog import CreateDatabase, SetDatabaseOptions
from penstock.table.dialect.statements.create_table import TableDefinition
from penstock.table.dialect.statements.drop import Drop
from penstock.table.dialect.statements.function import AlterFunction, CreateFunction
from penstock.table.dialect.statements.plan import Execute, Explain
from penstock.table.dialect.statements.query import Query
from penstock.table.dialect.statements.session import SetOption, StopJob
from penstock.table.dialect.statements.show import Describe, Show, ShowCreate
from penstock.table.dialect.statements.statement import Statement
from penstock.table.dialect.statements.view import ChangeView, CreateView, RenameView
from penstock.table.environment.session import Session

_OF_CATALOGS = (
    TableDefinition,
    AlterTable,
    CreateView,
    RenameView,
    ChangeView,
    CreateFunction,
    AlterFunction,
    CreateDatabase,
    SetDatabaseOptions,
    Drop,
)
_WITHOUT_EFFECT = (Query, Execute, Explain, Show, ShowCreate, Describe, StopJob)


class SessionRecord:
    """Collects statements that change catalogs or options.

    >>> from penstock.table.dialect import parse_statement
    >>> record = SessionRecord({"table.dml-sync": "true"})
    >>> for text in ("USE d", "SHOW TABLES"):
    ...     record.add(parse_statement(text), text)
    >>> record.script("INSERT INTO t SELECT 1")
    "SET 'table.dml-sync' = 'true';\\nUSE d;\\nINSERT INTO t SELECT 1;\\n"
    """

    def __init__(self, options: Mapping[str, str] | None = None) -> None:
        self._texts = [f"SET {_quoted(key)} = {_quoted(value)}" for key, value in (options or {}).items()]

    def add(self, statement: Statement, text: str) -> None:
        """Adds a statement that was executed, if it has an effect on later ones."""
        lists_options = isinstance(statement, SetOption) and statement.key is None
        if not lists_options and not isinstance(statement, _WITHOUT_EFFECT):
            self.add_text(text)

    def add_text(self, text: str) -> None:
        """Adds the text of a statement."""
        self._texts.append(text.strip().rstrip(";"))

    def script(self, last: str) -> str:
        """Returns a script with all statements and a last one."""
        return "".join(f"{text};\n" for text in [*self._texts, last.strip().rstrip(";")])


def is_stored(session: Session, statement: Statement) -> bool:
    """Whether a statement changes a catalog that outlives the session, so that a later job finds the change there."""
    temporary = getattr(statement, "temporary", False) or getattr(statement, "system", False)
    if temporary or not isinstance(statement, _OF_CATALOGS):
        return False
    name, catalogs = statement.name, session.catalogs
    of_database = isinstance(statement, CreateDatabase | SetDatabaseOptions) or (
        isinstance(statement, Drop) and statement.object_type == "DATABASE"
    )
    if isinstance(statement, Drop) and statement.object_type == "CATALOG":
        return False
    try:
        catalog = (catalogs.database_path(name.parts) if of_database else catalogs.path(name.parts))[0]
        return not isinstance(catalogs.catalog(catalog), MemoryCatalog)
    except SqlValidationError:
        return False  # the statement will fail with a better message


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
