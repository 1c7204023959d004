"""Types of users, which columns cannot have."""

from __future__ import annotations

from typing import Any, NoReturn, Self

from penstock.errors import UnsupportedOperation


class UserDefinedType:
    """A type with a Python class of its own. Programs can define it, but a column cannot have it."""

    @property
    def logical(self) -> NoReturn:
        """Refuses to be the type of a column."""
        raise UnsupportedOperation(
            "TABLE_TYPE",
            f"The type {type(self).__name__} is not supported, because columns have SQL types. Use DataTypes.ROW([...]) for its "
            "fields, and convert rows in a function.",
        )

    @classmethod
    def type_name(cls) -> str:
        """Returns the name of the type."""
        return cls.__name__.lower()

    @classmethod
    def sql_type(cls) -> Any:
        """Returns the type of the stored values. A subclass defines it."""
        raise NotImplementedError("A user-defined type defines sql_type().")

    @classmethod
    def module(cls) -> str:
        """Returns the module of the class. A subclass defines it."""
        raise NotImplementedError("A user-defined type defines module().")

    def serialize(self, obj: Any) -> Any:
        """Returns an object as a stored value. A subclass defines it."""
        raise NotImplementedError("A user-defined type defines serialize().")

    def deserialize(self, datum: Any) -> Any:
        """Returns a stored value as an object. A subclass defines it."""
        raise NotImplementedError("A user-defined type defines deserialize().")

    def need_conversion(self) -> bool:
        """Whether values are converted. They always are."""
        return True

    def to_sql_type(self, obj: Any) -> Any:
        """Returns an object as a stored value, or None."""
        return None if obj is None else self.serialize(obj)

    def from_sql_type(self, obj: Any) -> Any:
        """Returns a stored value as an object, or None."""
        return None if obj is None else self.deserialize(obj)

    def not_null(self) -> Self:
        """Returns this type. Its values are converted, whether they may be NULL or not."""
        return self

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other)

    def __hash__(self) -> int:
        return hash(type(self))
