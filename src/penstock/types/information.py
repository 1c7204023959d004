"""The base class of all types."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Sequence
from itertools import repeat
from operator import is_
from typing import Any, Self, TypeVar

from penstock.types.evolution import UNCHANGED, Migrate, make_evolution
from penstock.types.visitor import TypeVisitor

R = TypeVar("R")


class Misfit(Exception):  # noqa: N818 - public name; callers turn it into an error that names the operator
    """Raised when a value does not fit a type. The message names the part of the value and the reason."""

    def with_path(self, part: str) -> Misfit:
        """Returns the same error, seen from the value that contains this part.

        >>> str(Misfit("'x' is a str").with_path("field 'age'"))
        "field 'age': 'x' is a str"
        """
        return Misfit(f"{part}: {self}")


class TypeInformation:
    """The type of elements, of state values, or of a part of them.

    Create one with `Types`. A type checks values (`fits`) and converts other values to it (`convert`). `None` is allowed in
    every part of a value (a field, a list element, a map value) unless the containing type forbids it. It is allowed as a
    complete element only if `nullable` is true.

    >>> from penstock.types import Types
    >>> Types.LONG().convert(True), Types.LONG().fits([1, None]), Types.LONG().fits(["1"])
    (1, True, False)
    """

    name: str  # stored in checkpoints, so it never changes
    nullable = False
    exact = True  # whether every result of `convert` satisfies `fits`
    evolution = UNCHANGED  # how the type differs from its earlier versions

    def accept(self, visitor: TypeVisitor[R]) -> R:
        """Calls the visitor's method for this kind of type."""
        return visitor.visit_opaque(self)

    def evolved(self, *, version: int, migrate: Migrate) -> Self:
        """Returns the same type with a version and a function that migrates values of lower versions.

        Use it for the types of keys and state that have no class on which `@state_type` could be placed.

        >>> from penstock.types import Types
        >>> text = Types.STRING().evolved(version=2, migrate=lambda from_version, old: f"user-{old}")
        >>> text, text.evolution.version
        (String, 2)
        """
        evolved = copy.copy(self)
        evolved.evolution = make_evolution(version, None, None, migrate, self.name)
        return evolved

    @property
    def declared(self) -> bool:
        """Whether values have a schema. Values without one are pickled."""
        return True

    @property
    def converts(self) -> bool:
        """Whether elements are converted to this type. Rows and tuples are, even if some of their fields are pickled."""
        return self.declared

    def fits(self, values: Sequence[Any]) -> bool:
        """Returns whether all values, ignoring None, already have the form that `convert` returns."""
        raise NotImplementedError

    def convert(self, value: Any) -> Any:
        """Converts a value, which is not None, to this type. Raises Misfit if that would change its meaning."""
        raise NotImplementedError

    def convert_nullable(self, value: Any) -> Any:
        """Converts a part of a value, which may be None."""
        return None if value is None else self.convert(value)

    def convert_part(self, value: Any) -> Any:
        """Converts a part of a value, which may be None.

        .. deprecated:: 0.2 Use `convert_nullable`.
        """
        warnings.warn("convert_part is deprecated. Use convert_nullable.", DeprecationWarning, stacklevel=2)
        return self.convert_nullable(value)

    def convert_all(self, values: list[Any]) -> list[Any]:
        """Converts elements to this type. Returns the same list if all of them fit already. Raises Misfit.

        >>> from penstock.types import Types
        >>> Types.DOUBLE().convert_all([1, 2.5])
        [1.0, 2.5]
        """
        if self.fits(values) and (self.nullable or not has_none(values)):
            return values
        convert = self.convert_element
        return [convert(v) for v in values]

    def convert_element(self, value: Any) -> Any:
        """Converts a complete element, which may be None only if the type is nullable."""
        if value is not None:
            return self.convert(value)
        if self.nullable:
            return None
        raise Misfit(f"None is not a {self.name}. To allow None, declare a row or a tuple and use one of its fields")

    # -- PyFlink's internal form, which its Java side reads. Penstock never uses it; programs may call these methods.

    def need_conversion(self) -> bool:
        """Whether the internal form of values differs from the values. True for dates, times, instants, rows and tuples."""
        return False

    def to_internal_type(self, obj: Any) -> Any:
        """Converts a value to its internal form.

        >>> import datetime
        >>> from penstock.types import Types
        >>> Types.SQL_DATE().to_internal_type(datetime.date(1970, 1, 3))
        2
        """
        return obj

    def from_internal_type(self, obj: Any) -> Any:
        """Converts the internal form back to a value.

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
    """The type of arbitrary Python objects, which are pickled."""

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


def value_classes(values: Sequence[Any]) -> set[type]:
    """Returns the classes of all values that are not None.

    >>> value_classes([1, None, 2])
    {<class 'int'>}
    """
    classes = set(map(type, values))
    classes.discard(type(None))
    return classes


def has_none(values: Sequence[Any]) -> bool:
    """Returns whether a value is None. Compares by identity because `==` of a user's class may return anything.

    >>> has_none([0, None]), has_none([0])
    (True, False)
    """
    return any(map(is_, values, repeat(None)))


def non_null(values: Sequence[Any]) -> Sequence[Any]:
    """Returns all values that are not None."""
    return [v for v in values if v is not None] if has_none(values) else values


def describe_value(value: Any) -> str:
    """Returns a value with its class, shortened, for error messages.

    >>> describe_value("x" * 200)[-35:], describe_value(1)
    ('xxxxxxxxxxxxxxxxxxxxxxx... is a str', '1 is a int')
    """
    text = repr(value)
    return f"{text if len(text) <= 120 else text[:120] + '...'} is a {type(value).__name__}"
