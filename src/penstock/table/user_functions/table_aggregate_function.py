"""Table aggregate functions in Python: the class, and the decorator `udtaf`."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable
from typing import Any, ClassVar, overload

from penstock.table.user_functions.aggregate_function import (
    ACC,
    ImperativeAggregateFunction,
    T,
    UserDefinedAggregateFunctionWrapper,
)
from penstock.table.user_functions.function import FunctionKind
from penstock.types.logical.kinds import Field, RowType


class TableAggregateFunction(ImperativeAggregateFunction[T, ACC]):
    """A function from the rows of a group to any number of rows.

    >>> class Top2(TableAggregateFunction):
    ...     def create_accumulator(self):
    ...         return []
    ...
    ...     def accumulate(self, accumulator, value):
    ...         accumulator[:] = sorted([*accumulator, value], reverse=True)[:2]
    ...
    ...     def emit_value(self, accumulator):
    ...         yield from accumulator
    >>> udtaf(Top2(), result_type="ROW<value BIGINT>", accumulator_type="ARRAY<BIGINT>")
    <table aggregate function Top2>
    """

    @abstractmethod
    def emit_value(self, accumulator: ACC) -> Iterable[T]:
        """Yields the rows of the group: a Row or tuple each, or a value if rows have one column."""


class UserDefinedTableAggregateFunctionWrapper(UserDefinedAggregateFunctionWrapper):
    """What `udtaf` returns."""

    kind: ClassVar[FunctionKind] = "table aggregate"

    def row_type(self) -> RowType:
        """Returns the type of the rows that the function emits."""
        if isinstance(self.result_type, RowType):
            return self.result_type
        return RowType((Field("f0", self.result_type),))


@overload
def udtaf(
    f: TableAggregateFunction[Any, Any],
    input_types: Any = None,
    result_type: Any = None,
    accumulator_type: Any = None,
    deterministic: bool | None = None,
    name: str | None = None,
    func_type: str = "general",
) -> UserDefinedTableAggregateFunctionWrapper: ...


@overload
def udtaf(
    f: None = None,
    input_types: Any = None,
    result_type: Any = None,
    accumulator_type: Any = None,
    deterministic: bool | None = None,
    name: str | None = None,
    func_type: str = "general",
) -> Callable[[Any], UserDefinedTableAggregateFunctionWrapper]: ...


def udtaf(
    f: Any = None,
    input_types: Any = None,
    result_type: Any = None,
    accumulator_type: Any = None,
    deterministic: bool | None = None,
    name: str | None = None,
    func_type: str = "general",
) -> Any:
    """Makes a table aggregate function for the Table API out of a TableAggregateFunction. Types are as for `udaf`."""
    if func_type != "general":
        raise ValueError(f"The func_type must be 'general', got {func_type!r}.")

    def wrapped(function: Any) -> UserDefinedTableAggregateFunctionWrapper:
        return UserDefinedTableAggregateFunctionWrapper(
            function, input_types, result_type, accumulator_type, func_type, deterministic, name
        )

    return wrapped if f is None else wrapped(f)
