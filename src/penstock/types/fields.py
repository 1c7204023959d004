"""Types of rows and tuples."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Self, TypeVar

from penstock.row import Row, RowKind, make_row
from penstock.types.evolution import FIRST_VERSION, Migrate, make_evolution
from penstock.types.information import Misfit, TypeInformation, describe_value, non_null
from penstock.types.visitor import TypeVisitor

R = TypeVar("R")
_ABSENT = object()


class FieldsTypeInfo(TypeInformation):
    """Base class of the types whose values have fields: rows, tuples and objects."""

    field_types: list[TypeInformation]

    @property
    def declared(self) -> bool:
        return all(f.declared for f in self.field_types)

    @property
    def converts(self) -> bool:
        return True

    def get_field_types(self) -> list[TypeInformation]:
        return self.field_types

    def get_field_names(self) -> list[str]:
        """Returns the names of the fields. Fields without names are called f0, f1, ..."""
        return [f"f{i}" for i in range(len(self.field_types))]

    def get_arity(self) -> int:
        return len(self.field_types)

    def need_conversion(self) -> bool:
        return True

    def to_internal_type(self, obj: Any) -> Any:
        """Returns a tuple of the internal forms of the fields. For a row, the number of its kind comes first."""
        return None if obj is None else self._internal(obj)

    def _internal(self, fields: Sequence[Any]) -> tuple[Any, ...]:
        return tuple(t.to_internal_type(f) for t, f in zip(self.field_types, fields, strict=True))

    def from_internal_type(self, obj: Any) -> Any:
        """Returns a tuple of the fields. As in PyFlink, a tuple or a list is returned unchanged."""
        if obj is None or isinstance(obj, (tuple, list)):
            return obj
        return tuple(t.from_internal_type(f) for t, f in zip(self.field_types, obj, strict=True))

    def field_label(self, index: int) -> str:
        """Returns the name of a field for error messages."""
        return f"field {index}"

    def matches_class(self, values: Sequence[Any]) -> bool:
        """Returns whether all values have exactly the class of this type, whatever their fields contain. None does not."""
        raise NotImplementedError

    def columns(self, values: Sequence[Any]) -> list[Any]:
        """Returns the fields of values that match the class, one column per field. Raises ValueError for a wrong arity."""
        raise NotImplementedError

    def constructor(self) -> Callable[[list[Any]], Any]:
        """Returns a function that makes a value from the list of its fields."""
        raise NotImplementedError

    def fits(self, values: Sequence[Any]) -> bool:
        present = non_null(values)
        if not present:
            return True
        if not self.matches_class(present):
            return False
        try:
            columns = self.columns(present)
        except ValueError:
            return False
        return all(t.fits(c) for t, c in zip(self.field_types, columns, strict=True))

    def convert_fields(self, fields: Sequence[Any], value: Any) -> list[Any]:
        """Converts the fields of a value. Raises Misfit with the name of the first field that does not fit."""
        if len(fields) != len(self.field_types):
            raise Misfit(
                f"{describe_value(value)} with {len(fields)} fields, but {self.name} has {len(self.field_types)}"
            )
        converted = []
        for index, (field_type, field) in enumerate(zip(self.field_types, fields, strict=True)):
            try:
                converted.append(field_type.convert_nullable(field))
            except Misfit as misfit:
                raise misfit.with_path(self.field_label(index)) from None
        return converted


class TupleTypeInfo(FieldsTypeInfo):
    """The type of tuples with a fixed number of fields.

    >>> from penstock.types import Types
    >>> Types.TUPLE([Types.STRING(), Types.DOUBLE()]).convert(["a", 1])
    ('a', 1.0)
    """

    def __init__(self, field_types: list[TypeInformation]) -> None:
        self.field_types = list(field_types)
        self.exact = all(t.exact for t in field_types)
        self.name = f"TUPLE<{','.join(t.name for t in field_types)}>"

    def accept(self, visitor: TypeVisitor[R]) -> R:
        return visitor.visit_tuple(self)

    def __repr__(self) -> str:
        return f"TupleTypeInfo({', '.join(map(repr, self.field_types))})"

    def matches_class(self, values: Sequence[Any]) -> bool:
        return set(map(type, values)) == {tuple}

    def columns(self, values: Sequence[Any]) -> list[Any]:
        columns: list[Any] = list(zip(*values, strict=True)) if values else [() for _ in self.field_types]
        if len(columns) != len(self.field_types):
            raise ValueError
        return columns

    def constructor(self) -> Callable[[list[Any]], Any]:
        return tuple

    def convert(self, value: Any) -> tuple[Any, ...]:
        if not isinstance(value, (tuple, list, Row)):
            raise Misfit(f"{describe_value(value)}, but {self.name} takes a tuple")
        return tuple(self.convert_fields(list(value), value))


class RowTypeInfo(FieldsTypeInfo):
    """The type of rows with named fields. Without names, the fields are called f0, f1, ...

    >>> from penstock.types import Types
    >>> person = Types.ROW_NAMED(["name", "age"], [Types.STRING(), Types.INT()])
    >>> person, person.convert(("Ada", 36)), person.convert({"age": 36})
    (RowTypeInfo(name: String, age: Integer), Row(name='Ada', age=36), Row(name=None, age=36))
    """

    def __init__(self, field_types: list[TypeInformation], field_names: list[str] | None = None) -> None:
        if field_names is not None and len(field_names) != len(field_types):
            raise ValueError(
                f"A row type has {len(field_names)} field names but {len(field_types)} field types. Pass one type for each name."
            )
        self.field_types = list(field_types)
        self.exact = all(t.exact for t in field_types)
        self._named = field_names is not None
        self._names = [f"f{i}" for i in range(len(field_types))] if field_names is None else list(field_names)
        inner = (f"{n}:{t.name}" for n, t in zip(self._names, field_types, strict=True))
        self.name = f"ROW<{','.join(inner)}>"

    def accept(self, visitor: TypeVisitor[R]) -> R:
        return visitor.visit_row(self)

    def evolved(
        self,
        *,
        version: int = FIRST_VERSION,
        aliases: Mapping[str, str | Sequence[str]] | None = None,
        defaults: Mapping[str, Any] | None = None,
        migrate: Migrate | None = None,
    ) -> Self:
        """Returns the same type with rules for reading state that an earlier version of the program wrote.

        `aliases` maps a field to its earlier names. `defaults` has the values of added fields. `migrate(from_version, old)`
        converts rows of lower versions.

        >>> from penstock.types import Types
        >>> person = Types.ROW_NAMED(["name", "born"], [Types.STRING(), Types.INT()])
        >>> person.evolved(aliases={"born": "year"}, defaults={"name": "?"})
        RowTypeInfo(name: String, born: Integer)
        """
        evolved = copy.copy(self)
        evolved.evolution = make_evolution(version, aliases, defaults, migrate, self.name)
        return evolved

    def get_field_names(self) -> list[str]:
        return self._names

    def get_field_index(self, field_name: str) -> int:
        """Returns the index of a field, or -1 if the row type has no field names."""
        return self._names.index(field_name) if self._named else -1

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RowTypeInfo) and self.field_types == other.field_types

    def __hash__(self) -> int:
        return hash(tuple(self.field_types))

    def __repr__(self) -> str:
        if not self._named:
            return f"RowTypeInfo({', '.join(map(repr, self.field_types))})"
        return f"RowTypeInfo({', '.join(f'{n}: {t!r}' for n, t in zip(self._names, self.field_types, strict=True))})"

    def field_label(self, index: int) -> str:
        return f"field '{self._names[index]}'"

    def matches_class(self, values: Sequence[Any]) -> bool:
        names, count = self._names, len(self._names)
        return set(map(type, values)) == {Row} and all(
            (r._fields is names or r._fields == names) and len(r._values) == count for r in values
        )

    def columns(self, values: Sequence[Any]) -> list[Any]:
        return list(zip(*[r._values for r in values], strict=True)) if values else [() for _ in self.field_types]

    def constructor(self) -> Callable[[list[Any]], Any]:
        names = self._names
        return lambda fields: make_row(names, fields)

    def convert(self, value: Any) -> Row:
        kind = RowKind.INSERT
        if isinstance(value, Row):
            kind = value._row_kind
            fields = self._fields_of_row(value)
        elif isinstance(value, dict):
            fields = [value.get(n) for n in self._names]
        elif isinstance(value, (tuple, list)):
            fields = value  # type: ignore[assignment]
        else:
            fields = [getattr(value, n, _ABSENT) for n in self._names]
            if all(f is _ABSENT for f in fields):
                raise Misfit(
                    f"{describe_value(value)}, but {self.name} takes a Row, a tuple, a dict or an object with these fields"
                )
            fields = [None if f is _ABSENT else f for f in fields]
        return make_row(self._names, self.convert_fields(fields, value), kind)

    def _internal(self, fields: Any) -> tuple[Any, ...]:
        row = self.convert(fields)
        return row.get_row_kind().value, *super()._internal(row._values)

    def _fields_of_row(self, row: Row) -> list[Any]:
        try:
            return row.get_fields_by_names(self._names)
        except ValueError:
            raise Misfit(
                f"{describe_value(row)} with fields {row._fields}, but {self.name} has fields {self._names}"
            ) from None
