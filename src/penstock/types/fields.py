"""Types of rows and tuples."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any, Self

from penstock.row import Row, RowKind, make_row
from penstock.types.evolution import FIRST_VERSION, Migrate, evolution
from penstock.types.information import Misfit, TypeInformation, present_of, shown

_ABSENT = object()


class FieldsTypeInfo(TypeInformation):
    """What rows, tuples and objects with fields have in common."""

    field_types: list[TypeInformation]

    @property
    def declared(self) -> bool:
        return all(f.declared for f in self.field_types)

    def get_field_types(self) -> list[TypeInformation]:
        return self.field_types

    def get_arity(self) -> int:
        return len(self.field_types)

    def need_conversion(self) -> bool:
        return True

    def to_internal_type(self, obj: Any) -> Any:
        """A tuple of the fields' internal forms; of a row, with its kind's number before them."""
        return None if obj is None else self._internal(obj)

    def _internal(self, fields: Sequence[Any]) -> tuple[Any, ...]:
        return tuple(t.to_internal_type(f) for t, f in zip(self.field_types, fields, strict=True))

    def from_internal_type(self, obj: Any) -> Any:
        """A tuple of the fields; a tuple or a list stays as it is, as in PyFlink."""
        if obj is None or isinstance(obj, (tuple, list)):
            return obj
        return tuple(t.from_internal_type(f) for t, f in zip(self.field_types, obj, strict=True))

    def label(self, place: int) -> str:
        """How messages name a field."""
        return f"field {place}"

    def shapes(self, values: Sequence[Any]) -> bool:
        """Whether all values are of this very kind, whatever is in their fields; None is not."""
        raise NotImplementedError

    def columns(self, values: Sequence[Any]) -> list[Any]:
        """The fields of values of this very kind, column by column; raises ValueError when their number is another."""
        raise NotImplementedError

    def fits(self, values: Sequence[Any]) -> bool:
        present = present_of(values)
        if not present:
            return True
        if not self.shapes(present):
            return False
        try:
            columns = self.columns(present)
        except ValueError:
            return False
        return all(t.fits(c) for t, c in zip(self.field_types, columns, strict=True))

    def convert_fields(self, fields: Sequence[Any], found: Any) -> list[Any]:
        if len(fields) != len(self.field_types):
            raise Misfit(f"{shown(found)} of {len(fields)} fields, and {self.name} has {len(self.field_types)}")
        converted = []
        for place, (kind, field) in enumerate(zip(self.field_types, fields, strict=True)):
            try:
                converted.append(kind.convert_part(field))
            except Misfit as misfit:
                raise misfit.inside(self.label(place)) from None
        return converted


class TupleTypeInfo(FieldsTypeInfo):
    """Tuples of so many fields.

    >>> from penstock.types import Types
    >>> Types.TUPLE([Types.STRING(), Types.DOUBLE()]).convert(["a", 1])
    ('a', 1.0)
    """

    def __init__(self, field_types: list[TypeInformation]) -> None:
        self.field_types = list(field_types)
        self.exact = all(t.exact for t in field_types)
        self.name = f"TUPLE<{','.join(t.name for t in field_types)}>"

    def __repr__(self) -> str:
        return f"TupleTypeInfo({', '.join(map(repr, self.field_types))})"

    def shapes(self, values: Sequence[Any]) -> bool:
        return set(map(type, values)) == {tuple}

    def columns(self, values: Sequence[Any]) -> list[Any]:
        columns: list[Any] = list(zip(*values, strict=True)) if values else [() for _ in self.field_types]
        if len(columns) != len(self.field_types):
            raise ValueError
        return columns

    def convert(self, value: Any) -> tuple[Any, ...]:
        if not isinstance(value, (tuple, list, Row)):
            raise Misfit(f"{shown(value)}, and {self.name} takes a tuple")
        return tuple(self.convert_fields(list(value), value))


class RowTypeInfo(FieldsTypeInfo):
    """Rows of fields with names; without names they are called f0, f1, ...

    >>> from penstock.types import Types
    >>> person = Types.ROW_NAMED(["name", "age"], [Types.STRING(), Types.INT()])
    >>> person, person.convert(("Ada", 36)), person.convert({"age": 36})
    (RowTypeInfo(name: String, age: Integer), Row(name='Ada', age=36), Row(name=None, age=36))
    """

    def __init__(self, field_types: list[TypeInformation], field_names: list[str] | None = None) -> None:
        if field_names is not None and len(field_names) != len(field_types):
            raise ValueError(
                f"A row type got {len(field_names)} field names and {len(field_types)} field types. Give one type for each name."
            )
        self.field_types = list(field_types)
        self.exact = all(t.exact for t in field_types)
        self._named = field_names is not None
        self._names = [f"f{i}" for i in range(len(field_types))] if field_names is None else list(field_names)
        inner = (f"{n}:{t.name}" for n, t in zip(self._names, field_types, strict=True))
        self.name = f"ROW<{','.join(inner)}>"

    def evolved(
        self,
        *,
        version: int = FIRST_VERSION,
        aliases: Mapping[str, str | Sequence[str]] | None = None,
        defaults: Mapping[str, Any] | None = None,
        migrate: Migrate | None = None,
    ) -> Self:
        """The same type, with what its fields were called before, values of fields that are new, and how old rows become
        new ones: for state whose rows changed from one version of the program to the next.

        >>> from penstock.types import Types
        >>> person = Types.ROW_NAMED(["name", "born"], [Types.STRING(), Types.INT()])
        >>> person.evolved(aliases={"born": "year"}, defaults={"name": "?"})
        RowTypeInfo(name: String, born: Integer)
        """
        made = copy.copy(self)
        made.evolution = evolution(version, aliases, defaults, migrate, self.name)
        return made

    def get_field_names(self) -> list[str]:
        return self._names

    def get_field_index(self, field_name: str) -> int:
        """The place of a field; -1 in a row type without names."""
        return self._names.index(field_name) if self._named else -1

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RowTypeInfo) and self.field_types == other.field_types

    def __hash__(self) -> int:
        return hash(tuple(self.field_types))

    def __repr__(self) -> str:
        if not self._named:
            return f"RowTypeInfo({', '.join(map(repr, self.field_types))})"
        return f"RowTypeInfo({', '.join(f'{n}: {t!r}' for n, t in zip(self._names, self.field_types, strict=True))})"

    def label(self, place: int) -> str:
        return f"field '{self._names[place]}'"

    def shapes(self, values: Sequence[Any]) -> bool:
        names, count = self._names, len(self._names)
        return set(map(type, values)) == {Row} and all(
            (r._fields is names or r._fields == names) and len(r._values) == count for r in values
        )

    def columns(self, values: Sequence[Any]) -> list[Any]:
        return list(zip(*[r._values for r in values], strict=True)) if values else [() for _ in self.field_types]

    def convert(self, value: Any) -> Row:
        kind = RowKind.INSERT
        if isinstance(value, Row):
            kind = value._row_kind
            fields = self._of_row(value)
        elif isinstance(value, dict):
            fields = [value.get(n) for n in self._names]
        elif isinstance(value, (tuple, list)):
            fields = value  # type: ignore[assignment]
        else:
            fields = [getattr(value, n, _ABSENT) for n in self._names]
            if all(f is _ABSENT for f in fields):
                raise Misfit(
                    f"{shown(value)}, and {self.name} takes a Row, a tuple, a dict or an object with these fields"
                )
            fields = [None if f is _ABSENT else f for f in fields]
        return make_row(self._names, self.convert_fields(fields, value), kind)

    def _internal(self, fields: Any) -> tuple[Any, ...]:
        row = self.convert(fields)
        return row.get_row_kind().value, *super()._internal(row._values)

    def _of_row(self, row: Row) -> list[Any]:
        try:
            return row.get_fields_by_names(self._names)
        except ValueError:
            raise Misfit(f"{shown(row)} with fields {row._fields}, and {self.name} has fields {self._names}") from None
