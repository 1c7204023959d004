"""Skips folders of partitions that a query does not read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from penstock.errors import PenstockError
from penstock.runtime.relational.casts.cast import cast_column
from penstock.runtime.relational.expressions.compiler import Condition
from penstock.runtime.relational.expressions.frame import Session
from penstock.runtime.relational.expressions.tree import Call, Column, Expression, columns_of
from penstock.table.connectors.filesystem.partitions import partition_of
from penstock.types.logical.kinds import STRING, Field


class PartitionFilter:
    """Accepts folders whose partition may have rows that meet all conditions. It is picklable.

    The conditions are over the columns of the table, which are `fields`, or None for columns that are in the files.

    >>> from penstock.runtime.relational.expressions.tree import Call, Column, Literal
    >>> from penstock.types.logical.kinds import BOOLEAN, INT
    >>> day_is_1 = Call("=", (Column(1, INT), Literal(1, INT)), BOOLEAN)
    >>> accepts = PartitionFilter([day_is_1], [None, Field("day", INT)])
    >>> accepts("/t/day=1"), accepts("/t/day=2"), accepts("/t")
    (True, False, True)
    """

    def __init__(
        self,
        conditions: Sequence[Expression],
        fields: Sequence[Field | None],
        default_name: str = "__DEFAULT_PARTITION__",
        zone: str = "UTC",
    ) -> None:
        self._conditions = tuple(conditions)
        self._fields = tuple(fields)
        self._default_name = default_name
        self._zone = zone
        self._compiled: list[tuple[list[Field], Condition]] | None = None

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_compiled": None}

    def __call__(self, folder: str) -> bool:
        values = partition_of(f"{folder}/")
        if self._compiled is None:
            self._compiled = [self._compile(condition) for condition in self._conditions]
        return all(self._may_have_rows(fields, condition, values) for fields, condition in self._compiled)

    def _compile(self, condition: Expression) -> tuple[list[Field], Condition]:
        used = sorted(columns_of(condition))
        fields = [field for i in used if (field := self._fields[i]) is not None]
        compiled = Condition(_moved(condition, used), Session(zone=self._zone))
        return fields, compiled

    def _may_have_rows(self, fields: list[Field], condition: Condition, values: dict[str, str]) -> bool:
        if any(field.name not in values for field in fields):
            return True  # the value is in the name of a deeper folder
        try:
            columns = [self._column(field, values[field.name]) for field in fields]
            return bool(condition(columns, 1)[0].as_py())
        except PenstockError:
            return True  # a name that is no value: whoever reads the rows reports it

    def _column(self, field: Field, text: str) -> pa.Array:
        column = pa.array([None if text == self._default_name else text], pa.string())
        return cast_column(column, STRING, field.type.with_nullable(True), Session(zone=self._zone), False)


def _moved(expression: Expression, used: list[int]) -> Expression:
    """Returns an expression over the used columns alone."""
    if isinstance(expression, Column):
        return Column(used.index(expression.index), expression.type, expression.name)
    if isinstance(expression, Call):
        arguments = tuple(_moved(a, used) for a in expression.arguments)
        return Call(expression.function, arguments, expression.type, expression.options)
    return expression
