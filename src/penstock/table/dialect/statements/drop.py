"""DROP of all kinds of objects."""

from __future__ import annotations

from penstock.table.dialect.statements.statement import ObjectName, Statement


class Drop(Statement, frozen=True):
    """DROP TABLE IF EXISTS t.

    object_type: TABLE, MATERIALIZED TABLE, VIEW, FUNCTION, DATABASE, CATALOG, MODEL or CONNECTION.
    """

    object_type: str
    name: ObjectName
    if_exists: bool = False
    temporary: bool = False
    system: bool = False
    cascade: bool = False

    def statement_kind(self) -> str:
        return f"Drop{self.object_type.title().replace(' ', '')}"
