"""Finds rows of a database by key."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from penstock.runtime.relational.joins.lookup.table import Found, match_rows
from penstock.runtime.relational.steps.rows import python_values
from penstock.table.connectors.jdbc.database import Database, column_list, quoted
from penstock.table.connectors.lookup.rows import to_columns
from penstock.types.logical.kinds import (
    BinaryType,
    BooleanType,
    DateType,
    DecimalType,
    Field,
    FloatType,
    IntegerType,
    LogicalType,
    TimestampType,
    TimeType,
)

_KEYS = 10_000  # of one statement


def _array_type(type_: LogicalType) -> str:
    """The type of the values of a key in PostgreSQL, which an array must name."""
    match type_:
        case IntegerType():
            return "bigint"
        case DecimalType():
            return "numeric"
        case FloatType():
            return "double precision"
        case BooleanType():
            return "boolean"
        case BinaryType():
            return "bytea"
        case DateType():
            return "date"
        case TimeType():
            return "time"
        case TimestampType():
            return "timestamptz" if type_.local else "timestamp"
    return "text"


class DatabaseTable:
    """One SELECT for the keys of a batch. `equal` are columns that must have one value."""

    def __init__(
        self,
        database: Database,
        table: str,
        fields: Sequence[Field],
        keys: Sequence[int],
        equal: Sequence[tuple[int, Any]] = (),
    ) -> None:
        self._database = database
        self._table = table
        self._fields = list(fields)
        self._keys = list(keys)
        self._equal = list(equal)

    def __repr__(self) -> str:
        return f"DatabaseTable({self._database.address}, {self.statement()}, {[v for _, v in self._equal]})"

    def statement(self) -> str:
        """Returns the SELECT. Its parameters are the values of each key as an array, then the values of `equal`."""
        names = [field.name for field in self._fields]
        keys = [column_list([names[k]]) for k in self._keys]
        if len(keys) == 1:
            condition = f"{keys[0]} = ANY(%s)"
        else:
            arrays = ", ".join(f"%s::{_array_type(self._fields[k].type)}[]" for k in self._keys)
            condition = f"({', '.join(keys)}) IN (SELECT * FROM unnest({arrays}))"
        conditions = [condition, *(f"{column_list([names[c]])} = %s" for c, _ in self._equal)]
        return f"SELECT {column_list(names)} FROM {quoted(self._table)} WHERE {' AND '.join(conditions)}"

    def find(self, keys: Sequence[pa.Array]) -> Found:
        """Asks the database."""
        values = [python_values(key, self._fields[k].type) for key, k in zip(keys, self._keys, strict=True)]
        constants = [value for _, value in self._equal]
        statement = self.statement()

        def select(connection: Any) -> list[tuple[Any, ...]]:
            rows: list[tuple[Any, ...]] = []
            for start in range(0, len(values[0]), _KEYS):
                asked = [column[start : start + _KEYS] for column in values]
                rows += connection.execute(statement, [*asked, *constants]).fetchall()
            return rows

        rows = self._database.run(select)
        return match_rows(keys, to_columns(rows, self._fields, f"Table {self._table}"), self._keys)

    def close(self) -> None:
        """Ends the connection."""
        self._database.disconnect()
