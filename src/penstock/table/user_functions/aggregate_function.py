"""Aggregate functions in Python: the classes, and the decorator `udaf`."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Generic, TypeVar, overload

from penstock.runtime.relational.python_functions.function import PythonFunction
from penstock.runtime.relational.specs.python_aggregate import PythonAggregate
from penstock.table.data_types import LIST_VIEW, MAP_VIEW, DataType
from penstock.table.user_functions.function import (
    FunctionKind,
    UserDefinedFunction,
    UserDefinedFunctionWrapper,
    logical_type,
)
from penstock.types.logical.kinds import LogicalType, MapType, RawType, RowType

T = TypeVar("T")
ACC = TypeVar("ACC")


class ImperativeAggregateFunction(UserDefinedFunction, Generic[T, ACC]):
    """What aggregate functions and table aggregate functions share: an accumulator that rows are added to."""

    @abstractmethod
    def create_accumulator(self) -> ACC:
        """Returns an empty accumulator."""

    @abstractmethod
    def accumulate(self, accumulator: ACC, *args: Any) -> None:
        """Adds the arguments of a row to the accumulator, which is changed in place."""

    def retract(self, accumulator: ACC, *args: Any) -> None:
        """Removes the arguments of a row that was added before. Needed if the input has updates or deletes."""
        raise RuntimeError("Method retract is not implemented")

    def merge(self, accumulator: ACC, accumulators: Sequence[ACC]) -> None:
        """Adds other accumulators to the accumulator, which is changed in place."""
        raise RuntimeError("Method merge is not implemented")

    def get_result_type(self) -> DataType | str:
        """Returns the type of the result, if `result_type` is not given."""
        raise RuntimeError("Method get_result_type is not implemented")

    def get_accumulator_type(self) -> DataType | str:
        """Returns the type of the accumulator, if `accumulator_type` is not given."""
        raise RuntimeError("Method get_accumulator_type is not implemented")


class AggregateFunction(ImperativeAggregateFunction[T, ACC]):
    """A function from the rows of a group to one value.

    >>> class Mean(AggregateFunction):
    ...     def create_accumulator(self):
    ...         return [0, 0]
    ...
    ...     def accumulate(self, accumulator, value):
    ...         if value is not None:
    ...             accumulator[0] += value
    ...             accumulator[1] += 1
    ...
    ...     def get_value(self, accumulator):
    ...         return accumulator[0] / accumulator[1] if accumulator[1] else None
    >>> udaf(Mean(), result_type="DOUBLE", accumulator_type="ARRAY<BIGINT>")
    <aggregate function Mean>
    """

    @abstractmethod
    def get_value(self, accumulator: ACC) -> T:
        """Returns the result of the rows so far."""


class PandasAggregateFunction(AggregateFunction[Any, list[Any]]):
    """A plain function of pandas.Series, as an aggregate function: its accumulator is the list of its results."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function

    def create_accumulator(self) -> list[Any]:
        return []

    def accumulate(self, accumulator: list[Any], *args: Any) -> None:
        accumulator.append(self.function(*args))

    def get_value(self, accumulator: list[Any]) -> Any:
        return accumulator[0]


class UserDefinedAggregateFunctionWrapper(UserDefinedFunctionWrapper):
    """What `udaf` and `udtaf` return."""

    kind: ClassVar[FunctionKind] = "aggregate"
    accumulator_type: LogicalType | None

    def __init__(
        self,
        func: Any,
        input_types: Any,
        result_type: Any,
        accumulator_type: Any,
        func_type: str,
        deterministic: bool | None,
        name: str | None,
    ) -> None:
        super().__init__(func, input_types, func_type, deterministic, name)
        if not isinstance(func, ImperativeAggregateFunction):
            if func_type != "pandas":
                raise TypeError(
                    f"An aggregate function is an object of a class that extends AggregateFunction, but '{self.name}' is a "
                    'callable. Extend AggregateFunction, or pass func_type="pandas" for a function of pandas.Series.'
                )
            self.func = PandasAggregateFunction(func)
        if result_type is None:
            result_type = self.func.get_result_type()
        if accumulator_type is None and func_type == "general":
            accumulator_type = self.func.get_accumulator_type()
        self.result_type = logical_type(result_type, "result_type")
        self.accumulator_type = None if accumulator_type is None else logical_type(accumulator_type, "accumulator_type")
        if func_type == "pandas" and isinstance(self.result_type, MapType):
            raise TypeError("The result_type of a pandas aggregate function cannot be a MAP. Return a ROW or an ARRAY.")

    def call(self, zone: str, row_names: tuple[str, ...] | None = None) -> PythonAggregate:
        """Returns the function as a part of a plan."""
        kind = type(self.func)
        function = PythonFunction(
            self.name,
            self.payload(),
            "pandas" if self.func_type == "pandas" else "general",
            self.deterministic,
            row_names,
        )
        return PythonAggregate(
            function,
            retracts=kind.retract is not ImperativeAggregateFunction.retract,
            merges=kind.merge is not ImperativeAggregateFunction.merge,
            views=_has_views(self.accumulator_type),
            emits_rows=self.kind == "table aggregate",
            zone=zone,
        )


def _has_views(type_: LogicalType | None) -> bool:
    parts = [f.type for f in type_.fields] if isinstance(type_, RowType) else [type_]
    return any(isinstance(part, RawType) and part.class_name in (LIST_VIEW, MAP_VIEW) for part in parts)


@overload
def udaf(
    f: AggregateFunction[Any, Any] | Callable[..., Any],
    input_types: Any = None,
    result_type: Any = None,
    accumulator_type: Any = None,
    deterministic: bool | None = None,
    name: str | None = None,
    func_type: str = "general",
) -> UserDefinedAggregateFunctionWrapper: ...


@overload
def udaf(
    f: None = None,
    input_types: Any = None,
    result_type: Any = None,
    accumulator_type: Any = None,
    deterministic: bool | None = None,
    name: str | None = None,
    func_type: str = "general",
) -> Callable[[Any], UserDefinedAggregateFunctionWrapper]: ...


def udaf(
    f: Any = None,
    input_types: Any = None,
    result_type: Any = None,
    accumulator_type: Any = None,
    deterministic: bool | None = None,
    name: str | None = None,
    func_type: str = "general",
) -> Any:
    """Makes an aggregate function for SQL and the Table API out of an AggregateFunction or a function of pandas.Series.

    Types are DataTypes or texts such as "BIGINT". Without `input_types`, the function gets the arguments as they are.

    >>> @udaf(result_type="DOUBLE", func_type="pandas")
    ... def mean(values):
    ...     return values.mean()
    >>> mean
    <aggregate function mean>
    """
    if func_type not in ("general", "pandas"):
        raise ValueError(f"The func_type must be 'general' or 'pandas', got {func_type!r}.")

    def wrapped(function: Any) -> UserDefinedAggregateFunctionWrapper:
        return UserDefinedAggregateFunctionWrapper(
            function, input_types, result_type, accumulator_type, func_type, deterministic, name
        )

    return wrapped if f is None else wrapped(f)
