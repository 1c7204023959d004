"""Names of tables and functions as programs write them."""

from __future__ import annotations

from penstock.table.dialect import parse_statement
from penstock.table.dialect.statements.show import Describe


def parse_path(path: str) -> tuple[str, ...]:
    """Returns the parts of a name as it is written in SQL.

    >>> parse_path("db.`my view`")
    ('db', 'my view')
    """
    statement = parse_statement(f"DESCRIBE {path}")
    assert isinstance(statement, Describe)
    return statement.name.parts
