"""Watermarks and primary keys of a resolved schema."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any


@dataclass(frozen=True)
class WatermarkSpec:
    """The column with the event time, and the expression of its watermark."""

    rowtime_attribute: str
    watermark_expression: Any

    @staticmethod
    def of(rowtime_attribute: str, watermark_expression: Any) -> WatermarkSpec:
        """Returns the watermark of a column."""
        return WatermarkSpec(rowtime_attribute, watermark_expression)

    def get_rowtime_attribute(self) -> str:
        """Returns the name of the column."""
        return self.rowtime_attribute

    def get_watermark_expression(self) -> Any:
        """Returns the expression."""
        return self.watermark_expression

    def as_summary_string(self) -> str:
        """Returns the watermark as a schema shows it."""
        expression = self.watermark_expression
        type_ = expression.get_output_data_type()
        return f"WATERMARK FOR `{self.rowtime_attribute}`: {type_} AS {expression.as_summary_string()}"

    def __str__(self) -> str:
        return self.as_summary_string()


class Constraint(ABC):
    """A constraint of a table. Penstock does not check it."""

    class ConstraintType(Enum):
        """The kinds of constraints."""

        PRIMARY_KEY = 0
        UNIQUE_KEY = 1

    def __init__(self, name: str, enforced: bool = False) -> None:
        self._name = name
        self._enforced = enforced

    def get_name(self) -> str:
        """Returns the name."""
        return self._name

    def is_enforced(self) -> bool:
        """Whether the constraint is checked. It is not."""
        return self._enforced

    @abstractmethod
    def get_type(self) -> Constraint.ConstraintType:
        """Returns the kind of the constraint."""

    @abstractmethod
    def as_summary_string(self) -> str:
        """Returns the constraint as a schema shows it."""

    def __str__(self) -> str:
        return self.as_summary_string()


class UniqueConstraint(Constraint):
    """A primary key.

    >>> print(UniqueConstraint.primary_key("pk", ["a", "b"]))
    CONSTRAINT `pk` PRIMARY KEY (`a`, `b`) NOT ENFORCED
    """

    def __init__(self, name: str, columns: Sequence[str]) -> None:
        super().__init__(name)
        self._columns = list(columns)

    @staticmethod
    def primary_key(name: str, columns: Sequence[str]) -> UniqueConstraint:
        """Returns the primary key of columns."""
        return UniqueConstraint(name, columns)

    def get_columns(self) -> list[str]:
        """Returns the names of the columns."""
        return list(self._columns)

    def get_type(self) -> Constraint.ConstraintType:
        return Constraint.ConstraintType.PRIMARY_KEY

    def get_type_string(self) -> str:
        """Returns the words of the constraint in SQL."""
        return "PRIMARY KEY"

    def as_summary_string(self) -> str:
        names = ", ".join(f"`{name}`" for name in self._columns)
        return f"CONSTRAINT `{self._name}` {self.get_type_string()} ({names}) NOT ENFORCED"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, UniqueConstraint) and (other._name, other._columns) == (self._name, self._columns)

    def __hash__(self) -> int:
        return hash((self._name, tuple(self._columns)))
