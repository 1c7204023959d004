"""Columns of a resolved schema: physical, computed and metadata columns."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Any, Self

from penstock.table.data_types import DataType
from penstock.types.logical.text import summary


@dataclass(frozen=True)
class Column(ABC):
    """A column with its type.

    >>> from penstock.table.data_types import DataTypes
    >>> print(Column.physical("a", DataTypes.INT()).with_comment("a number"))
    `a` INT COMMENT 'a number'
    """

    name: str
    data_type: DataType
    comment: str | None = None

    @staticmethod
    def physical(name: str, data_type: DataType) -> PhysicalColumn:
        """Returns a column that the records of the table have."""
        return PhysicalColumn(name, data_type)

    @staticmethod
    def computed(name: str, resolved_expression: Any) -> ComputedColumn:
        """Returns a column that is computed of others."""
        return ComputedColumn(name, resolved_expression.get_output_data_type(), expression=resolved_expression)

    @staticmethod
    def metadata(name: str, data_type: DataType, metadata_key: str | None, is_virtual: bool) -> MetadataColumn:
        """Returns a column that the connector knows."""
        return MetadataColumn(name, data_type, metadata_key=metadata_key, virtual=is_virtual)

    @abstractmethod
    def is_physical(self) -> bool:
        """Whether the records of the table have the column."""

    @abstractmethod
    def is_persisted(self) -> bool:
        """Whether INSERT writes the column."""

    def explain_extras(self) -> str | None:
        """Returns what the text of the column has behind its type, or None."""
        return None

    def with_comment(self, comment: str | None) -> Self:
        """Returns the column with a comment."""
        return replace(self, comment=comment)

    def copy(self, new_data_type: DataType) -> Self:
        """Returns the column with another type."""
        return replace(self, data_type=new_data_type)

    def rename(self, new_name: str) -> Self:
        """Returns the column with another name."""
        return replace(self, name=new_name)

    def get_name(self) -> str:
        """Returns the name."""
        return self.name

    def get_data_type(self) -> DataType:
        """Returns the type."""
        return self.data_type

    def get_comment(self) -> str | None:
        """Returns the comment, or None."""
        return self.comment

    def as_summary_string(self) -> str:
        """Returns the column as a schema shows it."""
        extras = self.explain_extras()
        text = f"`{self.name}` {summary(self.data_type.logical)}" + (f" {extras}" if extras else "")
        return text if self.comment is None else f"{text} COMMENT '{self.comment}'"

    def __str__(self) -> str:
        return self.as_summary_string()


@dataclass(frozen=True)
class PhysicalColumn(Column):
    """A column that the records of the table have."""

    def is_physical(self) -> bool:
        return True

    def is_persisted(self) -> bool:
        return True


@dataclass(frozen=True)
class ComputedColumn(Column):
    """A column that is computed of others."""

    expression: Any = None

    def get_expression(self) -> Any:
        """Returns the expression."""
        return self.expression

    def is_physical(self) -> bool:
        return False

    def is_persisted(self) -> bool:
        return False

    def explain_extras(self) -> str | None:
        return f"AS {self.expression.as_summary_string()}"


@dataclass(frozen=True)
class MetadataColumn(Column):
    """A column that the connector knows, such as the time of a record."""

    metadata_key: str | None = None
    virtual: bool = False

    def is_virtual(self) -> bool:
        """Whether INSERT leaves the column out."""
        return self.virtual

    def get_metadata_key(self) -> str | None:
        """Returns the name that the connector has for it, if it is another one."""
        return self.metadata_key

    def is_physical(self) -> bool:
        return False

    def is_persisted(self) -> bool:
        return not self.virtual

    def explain_extras(self) -> str | None:
        source = f" FROM '{self.metadata_key}'" if self.metadata_key else ""
        return f"METADATA{source}{' VIRTUAL' if self.virtual else ''}"
