"""Table functions in Python: the base class, and the decorator `udtf`."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from functools import partial
from typing import Any, overload

from penstock.table.data_types import DataType
from penstock.table.user_functions.function import UserDefinedFunction, UserDefinedFunctionWrapper, logical_type
from penstock.types.logical.kinds import Field, RowType

Types = DataType | str | list[DataType] | list[str] | None


class TableFunction(UserDefinedFunction):
    """A function from the values of a row to any number of rows.

    >>> class Split(TableFunction):
    ...     def eval(self, text: str):
    ...         yield from text.split()
    """

    @abstractmethod
    def eval(self, *args: Any) -> Any:
        """Returns or yields the rows for the arguments: tuples or `Row`, or plain values if there is one column."""


class TableFunctionWrapper(UserDefinedFunctionWrapper):
    """What `udtf` returns. `fields` are the columns of its rows."""

    kind = "table"

    def __init__(
        self, func: Any, input_types: Any, result_types: Any, deterministic: bool | None, name: str | None
    ) -> None:
        super().__init__(func, input_types, "general", deterministic, name)
        self.fields = _fields(result_types)


def _fields(given: Any) -> tuple[Field, ...]:
    """Only a type that is written as text names its columns; others are f0, f1 and so on, as in PyFlink."""
    if isinstance(given, str):
        found = logical_type(given, "result_types")
        return found.fields if isinstance(found, RowType) else (Field("f0", found),)
    if isinstance(given, DataType) and isinstance(given.logical, RowType):
        types = [field.type for field in given.logical.fields]
    elif isinstance(given, DataType):
        types = [given.logical]
    elif isinstance(given, list | tuple) and given:
        types = [logical_type(part, "result_types") for part in given]
    else:
        raise TypeError(f"result_types should be a DataType, a text or a list of them, but is {given!r}.")
    return tuple(Field(f"f{i}", type_) for i, type_ in enumerate(types))


@overload
def udtf(
    f: None = None,
    input_types: Types = None,
    result_types: Types = None,
    deterministic: bool | None = None,
    name: str | None = None,
) -> Callable[[Any], TableFunctionWrapper]: ...


@overload
def udtf(
    f: Callable[..., Any] | UserDefinedFunction,
    input_types: Types = None,
    result_types: Types = None,
    deterministic: bool | None = None,
    name: str | None = None,
) -> TableFunctionWrapper: ...


def udtf(
    f: Any = None,
    input_types: Types = None,
    result_types: Types = None,
    deterministic: bool | None = None,
    name: str | None = None,
) -> Any:
    """Makes a table function of a callable or of an object of a function class. Also a decorator.

    >>> @udtf(result_types=["STRING", "INT"])
    ... def words(line):
    ...     for word in line.split():
    ...         yield word, len(word)
    >>> words
    <table function words>
    """
    create = partial(
        TableFunctionWrapper,
        input_types=input_types,
        result_types=result_types,
        deterministic=deterministic,
        name=name,
    )
    return create if f is None else create(f)
