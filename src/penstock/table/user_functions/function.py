"""What all Python functions of users share: a base class, and the object that the decorators return."""

from __future__ import annotations

import copy
from abc import ABC
from collections.abc import Sequence
from importlib import import_module
from typing import Any, ClassVar, Literal, TypeVar

from penstock.errors import PlanError
from penstock.runtime.relational.python_functions.context import FunctionContext
from penstock.table.data_types import DataType
from penstock.types.logical.kinds import LogicalType, RowType
from penstock.types.logical.text import TypeTextError, parse_type

__all__ = ["FunctionContext", "FunctionKind", "UserDefinedFunction", "UserDefinedFunctionWrapper", "logical_type"]

FunctionKind = Literal["scalar", "table", "aggregate", "table aggregate", "process table"]
Wrapper = TypeVar("Wrapper", bound="UserDefinedFunctionWrapper")


class UserDefinedFunction(ABC):  # noqa: B024 - its subclasses have abstract methods
    """Base class of functions for SQL. A worker opens a function once before the first call."""

    def open(self, function_context: FunctionContext) -> None:  # noqa: B027 - most functions need none
        """Called once before the first call. Open connections and load models here."""

    def close(self) -> None:  # noqa: B027
        """Called once after the last call. Release resources here."""

    def is_deterministic(self) -> bool:
        """Returns whether the result depends on the arguments only. Return False for random numbers, clocks and lookups."""
        return True


class UserDefinedFunctionWrapper:
    """What `udf`, `udtf`, `udaf` and `udtaf` return: a function with its types and its name.

    Registered with an environment it is called by its name; called with expressions it is a part of an expression.
    """

    kind: ClassVar[FunctionKind]

    def __init__(
        self, func: Any, input_types: Any, func_type: str, deterministic: bool | None = None, name: str | None = None
    ) -> None:
        if isinstance(func, type) or not (isinstance(func, UserDefinedFunction) or callable(func)):
            raise TypeError(
                f"A function is a callable or an object of a function class, not {func!r}. Create an object of a class."
            )
        own = func.is_deterministic() if isinstance(func, UserDefinedFunction) else None
        if deterministic is not None and own is not None and deterministic != own:
            raise ValueError(
                f"deterministic={deterministic}, but is_deterministic() returns {own}. Leave one of them out."
            )
        if deterministic is None:
            deterministic = True if own is None else own
        self.func = func
        self.name: str = name or getattr(func, "__name__", None) or type(func).__name__
        self.func_type = func_type
        self.deterministic = deterministic
        self.input_types = _input_types(input_types)
        self.takes_row_as_input = False
        self.alias_names: tuple[str, ...] = ()
        self._payload: bytes | None = None
        self.__doc__ = getattr(func, "__doc__", None)

    def __call__(self, *args: Any) -> Any:
        """Returns the call as an expression of the Table API."""
        from penstock.table import expressions  # expressions know functions, too

        return expressions.call(self, *args)

    def alias(self: Wrapper, *alias_names: str) -> Wrapper:
        """Names the columns of the result where the Table API uses the function as a table."""
        self.alias_names = alias_names
        return self

    def with_row_input(self: Wrapper) -> Wrapper:
        """Returns the function as `Table.map` and the like call it: it gets all columns as one `Row`."""
        found = copy.copy(self)
        found.takes_row_as_input = True
        return found

    def payload(self) -> bytes:
        """Returns the pickled function, with all that a worker cannot import."""
        if self._payload is None:
            # The engine is loaded by name, as engines are, because the table layer is below it.
            pickling = import_module("penstock.engine.program.pickling")
            try:
                self._payload = pickling.pickle_by_value(self.func)
            except Exception as error:
                raise PlanError(
                    "PYTHON_FUNCTION",
                    f"The function '{self.name}' cannot be sent to workers, because it cannot be pickled: {error}. "
                    "Create connections and the like in open(), not in the constructor or as global variables.",
                ) from error
        return self._payload

    def __repr__(self) -> str:
        return f"<{self.kind} function {self.name}>"


def logical_type(given: Any, what: str) -> LogicalType:
    """Returns the type that a program gave as a DataType or as text; `what` names the parameter in the error.

    >>> print(logical_type("ROW<a INT, b STRING>", "result_type"))
    ROW<`a` INT, `b` STRING>
    """
    if isinstance(given, DataType):
        return given.logical
    if isinstance(given, str):
        try:
            return parse_type(given)
        except TypeTextError as error:
            raise TypeError(f"{what} {given!r} is not a type: {error}.") from error
    raise TypeError(f"{what} should be a DataType or text such as 'BIGINT', but is {given!r}.")


def _input_types(given: Any) -> tuple[LogicalType, ...] | None:
    if given is None:
        return None
    if isinstance(given, DataType) and isinstance(given.logical, RowType):
        return tuple(field.type for field in given.logical.fields)
    parts: Sequence[Any] = list(given) if isinstance(given, list | tuple) else [given]
    return tuple(logical_type(part, "input_types") for part in parts)
