"""The columns of a table or result, in the older form of PyFlink."""

from __future__ import annotations

from collections.abc import Sequence

from penstock.table.data_types import DataType
from penstock.types.logical.kinds import Field, RowType
from penstock.types.logical.text import summary


class TableSchema:
    """Names and types of columns, in the older form of PyFlink."""

    def __init__(self, field_names: Sequence[str], data_types: Sequence[DataType]) -> None:
        self._names = list(field_names)
        self._types = list(data_types)

    @classmethod
    def of(cls, row_type: RowType) -> TableSchema:
        """Returns the schema of rows of a type."""
        return cls([f.name for f in row_type.fields], [DataType(f.type) for f in row_type.fields])

    @staticmethod
    def builder() -> TableSchema.Builder:
        """Returns a builder."""
        return TableSchema.Builder()

    class Builder:
        """Builder of a schema."""

        def __init__(self) -> None:
            self._names: list[str] = []
            self._types: list[DataType] = []

        def field(self, name: str, data_type: DataType) -> TableSchema.Builder:
            """Adds a column."""
            self._names.append(name)
            self._types.append(data_type)
            return self

        def build(self) -> TableSchema:
            """Returns the schema."""
            return TableSchema(self._names, self._types)

    def copy(self) -> TableSchema:
        """Returns a copy."""
        return TableSchema(self._names, self._types)

    def get_field_names(self) -> list[str]:
        """Returns the names of the columns."""
        return list(self._names)

    def get_field_name(self, field_index: int) -> str | None:
        """Returns the name of a column, or None."""
        return self._names[field_index] if 0 <= field_index < len(self._names) else None

    def get_field_data_types(self) -> list[DataType]:
        """Returns the types of the columns."""
        return list(self._types)

    def get_field_data_type(self, field: int | str) -> DataType | None:
        """Returns the type of a column by its position or name, or None."""
        if not isinstance(field, int | str):
            raise TypeError(f"A column has a position or a name, not {field!r}.")
        position = self._names.index(field) if isinstance(field, str) and field in self._names else field
        return self._types[position] if isinstance(position, int) and 0 <= position < len(self._types) else None

    def get_field_count(self) -> int:
        """Returns the number of columns."""
        return len(self._names)

    def to_row_data_type(self) -> DataType:
        """Returns the type of the rows."""
        pairs = zip(self._names, self._types, strict=True)
        return DataType(RowType(tuple(Field(n, t.logical) for n, t in pairs), nullable=False))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TableSchema) and (other._names, other._types) == (self._names, self._types)

    def __hash__(self) -> int:
        return hash((tuple(self._names), tuple(self._types)))

    def __str__(self) -> str:
        lines = [f" |-- {n}: {summary(t.logical)}" for n, t in zip(self._names, self._types, strict=True)]
        return "root\n" + "".join(line + "\n" for line in lines)

    __repr__ = __str__
