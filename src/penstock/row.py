"""The `Row` class."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from enum import Enum
from typing import Any

from penstock.errors import check_enum


class RowKind(Enum):
    """The kind of change that a row describes in a changelog.

    >>> str(RowKind.UPDATE_AFTER)
    '+U'
    """

    INSERT = 0
    UPDATE_BEFORE = 1
    UPDATE_AFTER = 2
    DELETE = 3

    def __str__(self) -> str:
        return _SIGNS[self.value]


_SIGNS = ("+I", "-U", "+U", "-D")


class Row:
    """A row with fields that are accessed by position, and also by name if they have names.

    >>> row = Row(name="Ada", age=36)
    >>> row, row.name, row["age"], row[0], "name" in row
    (Row(name='Ada', age=36), 'Ada', 36, 'Ada', True)
    >>> Person = Row("name", "age")
    >>> Person("Ada", 36) == row
    True
    """

    __slots__ = ("_fields", "_row_kind", "_values")

    _fields: list[str] | None
    _row_kind: RowKind
    _values: list[Any]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if args and kwargs:
            raise ValueError(
                "Row() got positional and named values. Pass all by position, as in Row(1, 2), or all by name, as in Row(a=1)."
            )
        self._fields = list(kwargs) if kwargs else None
        self._values = list(kwargs.values()) if kwargs else list(args)
        self._row_kind = RowKind.INSERT

    @staticmethod
    def of_kind(row_kind: RowKind, *args: Any, **kwargs: Any) -> Row:
        """Creates a row with a kind of change.

        >>> Row.of_kind(RowKind.DELETE, a=1).get_row_kind()
        <RowKind.DELETE: 3>
        """
        row = Row(*args, **kwargs)
        check_enum("of_kind", row_kind, RowKind)
        row._row_kind = row_kind
        return row

    def __call__(self, *args: Any) -> Row:
        """Creates a row whose field names are the values of this row."""
        if len(args) > len(self._values):
            raise ValueError(
                f"{self!r} creates rows with {len(self._values)} fields, but got {len(args)} values: {args!r}."
            )
        return make_row(self._values, list(args), self._row_kind)

    # -- kind and names

    def get_row_kind(self) -> RowKind:
        """Returns the kind of change that the row describes."""
        return self._row_kind

    def set_row_kind(self, row_kind: RowKind) -> None:
        """Sets the kind of change that the row describes."""
        check_enum("set_row_kind", row_kind, RowKind)
        self._row_kind = row_kind

    def set_field_names(self, field_names: list[str]) -> None:
        """Sets the names of the fields, in their order."""
        self._fields = field_names

    def get_fields_by_names(self, names: list[str]) -> list[Any]:
        """Returns the values of some fields, or all values if the row has no field names."""
        if self._fields is None or names == self._fields:
            return self._values
        missing = [name for name in names if name not in self._fields]
        if missing:
            raise ValueError(f"{self!r} has no fields {missing}. Its fields are {self._fields}.")
        return [self._values[self._fields.index(name)] for name in names]

    def as_dict(self, recursive: bool = False) -> dict[str, Any]:
        """Returns the row as a dict. With `recursive`, nested rows are converted too.

        >>> Row(a=1, b=Row(c=2)).as_dict(True)
        {'a': 1, 'b': {'c': 2}}
        """
        if self._fields is None:
            raise TypeError("A row without field names cannot be converted to a dict. Call set_field_names first.")
        values = map(_to_dicts, self._values) if recursive else self._values
        return dict(zip(self._fields, values, strict=False))

    # -- fields

    def __getitem__(self, item: Any) -> Any:
        if isinstance(item, (int, slice)):
            return self._values[item]
        return self._values[self._index(item)]

    def __setitem__(self, key: Any, value: Any) -> None:
        if isinstance(key, (int, slice)):
            self._values[key] = value
        else:
            self._values[self._index(key)] = value

    def _index(self, name: Any) -> int:
        if self._fields is None:
            raise KeyError(name)
        try:
            return self._fields.index(name)
        except ValueError:
            raise ValueError(name) from None

    def __getattr__(self, item: str) -> Any:
        if item.startswith("_") or self._fields is None:
            raise AttributeError(item)
        try:
            return self._values[self._fields.index(item)]
        except (ValueError, IndexError):
            raise AttributeError(item) from None

    def __contains__(self, item: Any) -> bool:
        return item in (self._values if self._fields is None else self._fields)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    # -- comparing, printing, copying

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Row) or self._row_kind is not other._row_kind:
            return False
        if self._fields == other._fields:
            return self._values == other._values
        if self._fields is None or other._fields is None or len(self._values) != len(other._values):
            return False
        return sorted(self._fields) == sorted(other._fields) and self.values_by_name() == other.values_by_name()

    def values_by_name(self) -> list[Any]:
        """Returns the values sorted by field name. They are equal for equal rows, whatever the order of the fields."""
        if self._fields is None:
            return self._values
        order = sorted(range(len(self._values)), key=self._fields.__getitem__)
        return [self._values[i] for i in order]

    def by_name(self) -> list[Any]:
        """Returns the values in the order of their names.

        .. deprecated:: 0.2 Use `values_by_name`.
        """
        warnings.warn("Row.by_name is deprecated. Use Row.values_by_name.", DeprecationWarning, stacklevel=2)
        return self.values_by_name()

    def __hash__(self) -> int:
        return hash(tuple(self.values_by_name()))

    def __repr__(self) -> str:
        if self._fields is None:
            return f"<Row({', '.join(map(repr, self._values))})>"
        return f"Row({', '.join(f'{n}={v!r}' for n, v in zip(self._fields, self._values, strict=False))})"

    def __reduce__(self) -> tuple[Any, ...]:
        return make_row, (self._fields, self._values, self._row_kind)


def make_row(fields: list[str] | None, values: list[Any], kind: RowKind = RowKind.INSERT) -> Row:
    """Creates a row that uses the given lists, without copying them.

    >>> make_row(["a"], [1])
    Row(a=1)
    """
    row = Row.__new__(Row)
    row._fields = fields
    row._values = values
    row._row_kind = kind
    return row


def _to_dicts(value: Any) -> Any:
    if isinstance(value, Row):
        return value.as_dict(True)
    if isinstance(value, list):
        return [_to_dicts(v) for v in value]
    if isinstance(value, dict):
        return {k: _to_dicts(v) for k, v in value.items()}
    return value


def rows_of(fields: list[str], columns: Iterable[Iterable[Any]]) -> list[Row]:
    """Creates rows from columns.

    >>> rows_of(["a", "b"], [[1, 2], [3, 4]])
    [Row(a=1, b=3), Row(a=2, b=4)]
    """
    return [make_row(fields, list(values)) for values in zip(*columns, strict=True)]
