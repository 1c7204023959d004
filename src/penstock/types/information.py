"""What a type can do: name itself, recognize its values, and convert other values into its own."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from itertools import repeat
from operator import is_
from typing import Any, Self

from penstock.types.evolution import UNCHANGED, Migrate, evolution


class Misfit(Exception):  # noqa: N818 - says what is wrong with a value; whoever knows the operator makes the error of it
    """A value that a type cannot take; the text says which part of it, and why."""

    def inside(self, part: str) -> Misfit:
        """The same, seen from the value that holds this one.

        >>> str(Misfit("'x' is a str").inside("field 'age'"))
        "field 'age': 'x' is a str"
        """
        return Misfit(f"{part}: {self}")


class TypeInformation:
    """A type of elements, of state or of their parts.

    `name` is kept in checkpoints, so it never changes. None is a value of every part (a field, a list's element, a map's
    value) unless that part's holder says otherwise; it may be an element by itself only where `nullable` says so.

    >>> from penstock.types import Types
    >>> Types.LONG().convert(True), Types.LONG().fits([1, None]), Types.LONG().fits(["1"])
    (1, True, False)
    """

    name: str
    nullable = False
    exact = True  # all that `convert` gives is just as `fits` wants it
    evolution = UNCHANGED  # what the program says of its history

    def evolved(self, *, version: int, migrate: Migrate) -> Self:
        """The same type in another version, with the function that makes its values of those of lower versions: for keys and
        state whose type has no class that could say it by `@state_type`.

        >>> from penstock.types import Types
        >>> text = Types.STRING().evolved(version=2, migrate=lambda from_version, old: f"user-{old}")
        >>> text, text.evolution.version
        (String, 2)
        """
        made = copy.copy(self)
        made.evolution = evolution(version, None, None, migrate, self.name)
        return made

    @property
    def declared(self) -> bool:
        """Whether values have a schema; others travel and rest as pickles."""
        return True

    def fits(self, values: Sequence[Any]) -> bool:
        """Whether all values (None aside) are just as this type gives them back, so that none needs `convert`."""
        raise NotImplementedError

    def convert(self, value: Any) -> Any:
        """A value (not None) of this type that means the same; raises Misfit."""
        raise NotImplementedError

    def convert_part(self, value: Any) -> Any:
        """The same for a part of a value, which may be None."""
        return None if value is None else self.convert(value)

    def convert_all(self, values: list[Any]) -> list[Any]:
        """All values as elements of this type: the same list where nothing is to do. Raises Misfit.

        >>> from penstock.types import Types
        >>> Types.DOUBLE().convert_all([1, 2.5])
        [1.0, 2.5]
        """
        if self.fits(values) and (self.nullable or not has_none(values)):
            return values
        convert = self.convert_element
        return [convert(v) for v in values]

    def convert_element(self, value: Any) -> Any:
        """The same for a whole element: None only where the type takes it."""
        if value is not None:
            return self.convert(value)
        if self.nullable:
            return None
        raise Misfit(f"None is no {self.name}; declare a row or a tuple to have fields that may be None")

    # -- PyFlink's other form of a value: what its Java side reads. Nothing here is in that form; programs may ask for it.

    def need_conversion(self) -> bool:
        """Whether values have another internal form: dates, times, instants, and what has fields."""
        return False

    def to_internal_type(self, obj: Any) -> Any:
        """A value in its internal form.

        >>> import datetime
        >>> from penstock.types import Types
        >>> Types.SQL_DATE().to_internal_type(datetime.date(1970, 1, 3))
        2
        """
        return obj

    def from_internal_type(self, obj: Any) -> Any:
        """A value from its internal form.

        >>> from penstock.types import Types
        >>> Types.SQL_DATE().from_internal_type(2)
        datetime.date(1970, 1, 3)
        """
        return obj

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.name == other.name

    def __hash__(self) -> int:
        return hash(self.name)


class PickledBytesTypeInfo(TypeInformation):
    """No type: any Python object."""

    name = "PICKLED_BYTE_ARRAY"
    nullable = True

    @property
    def declared(self) -> bool:
        return False

    def fits(self, values: Sequence[Any]) -> bool:
        return True

    def convert(self, value: Any) -> Any:
        return value

    def __repr__(self) -> str:
        return "PickledByteArrayTypeInfo"


def kinds_of(values: Sequence[Any]) -> set[type]:
    """The types of all values that are not None.

    >>> kinds_of([1, None, 2])
    {<class 'int'>}
    """
    kinds = set(map(type, values))
    kinds.discard(type(None))
    return kinds


def has_none(values: Sequence[Any]) -> bool:
    """Whether a value is None; equality is not asked, which may mean anything.

    >>> has_none([0, None]), has_none([0])
    (True, False)
    """
    return any(map(is_, values, repeat(None)))


def present_of(values: Sequence[Any]) -> Sequence[Any]:
    """All values that are not None."""
    return [v for v in values if v is not None] if has_none(values) else values


def shown(value: Any) -> str:
    """A value in a message: shortened, and with its type.

    >>> shown("x" * 200)[-35:], shown(1)
    ('xxxxxxxxxxxxxxxxxxxxxxx... is a str', '1 is a int')
    """
    text = repr(value)
    return f"{text if len(text) <= 120 else text[:120] + '...'} is a {type(value).__name__}"
