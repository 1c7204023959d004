"""DROP of tables, views, functions, databases and catalogs."""

from __future__ import annotations

from penstock.table.catalog.errors import refusal
from penstock.table.dialect.statements.drop import Drop
from penstock.table.environment.answer import Answer, ok
from penstock.table.environment.session import Session


def drop(session: Session, statement: Drop, text: str) -> Answer:
    """Runs DROP."""
    parts = statement.name.parts
    catalogs = session.catalogs
    match statement.object_type:
        case "FUNCTION":
            session.functions.drop(parts, statement.temporary, statement.system, statement.if_exists)
        case "DATABASE":
            catalogs.drop_database(catalogs.database_path(parts), statement.if_exists, statement.cascade)
        case "CATALOG":
            catalogs.drop_catalog(parts[0], statement.if_exists)
        case "MATERIALIZED TABLE":
            raise refusal(
                "SQL_STATEMENT", "DROP MATERIALIZED TABLE is a statement of the SQL client. It cannot run here."
            )
        case kind:
            catalogs.drop(catalogs.path(parts), kind == "VIEW", statement.temporary, statement.if_exists)
    return ok()
