"""Scalar functions in Python: base classes, and the decorator `udf`."""

from __future__ import annotations

import inspect
from abc import abstractmethod
from collections.abc import Callable
from functools import partial
from typing import Any, overload

from penstock.table.data_types import DataType
from penstock.table.user_functions.function import UserDefinedFunction, UserDefinedFunctionWrapper, logical_type
from penstock.types.logical.kinds import LogicalType

_STYLES = ("general", "pandas", "arrow")
Types = DataType | str | list[DataType] | list[str] | None


class ScalarFunction(UserDefinedFunction):
    """A function from the values of a row to one value.

    >>> class HashCode(ScalarFunction):
    ...     def eval(self, s: str) -> int:
    ...         return sum(s.encode())
    """

    @abstractmethod
    def eval(self, *args: Any) -> Any:
        """Returns the result for the arguments of a row."""


class AsyncScalarFunction(UserDefinedFunction):
    """A scalar function whose calls wait for something, such as a service. Many of them run at the same time.

    >>> class Lookup(AsyncScalarFunction):
    ...     async def eval(self, key: str) -> str:
    ...         return key.upper()
    """

    @abstractmethod
    async def eval(self, *args: Any) -> Any:
        """Returns the result for the arguments of a row."""


class ScalarFunctionWrapper(UserDefinedFunctionWrapper):
    """What `udf` returns."""

    kind = "scalar"

    def __init__(
        self,
        func: Any,
        input_types: Any,
        result_type: Any,
        func_type: str,
        deterministic: bool | None,
        name: str | None,
    ) -> None:
        super().__init__(func, input_types, "async" if _is_async(func) else func_type, deterministic, name)
        if self.func_type == "async" and func_type != "general":
            raise ValueError(f"Async scalar functions do not support {func_type} func_type. Leave it out.")
        self.result_type: LogicalType = logical_type(result_type, "result_type")


def _is_async(func: Any) -> bool:
    if isinstance(func, AsyncScalarFunction):
        return True
    if isinstance(func, partial):
        return _is_async(func.func)
    methods = (getattr(func, name, None) for name in ("eval", "__call__"))  # a callable object, too
    return inspect.iscoroutinefunction(func) or any(map(inspect.iscoroutinefunction, methods))


@overload
def udf(
    f: None = None,
    input_types: Types = None,
    result_type: DataType | str | None = None,
    deterministic: bool | None = None,
    name: str | None = None,
    func_type: str = "general",
    udf_type: str | None = None,
) -> Callable[[Any], ScalarFunctionWrapper]: ...


@overload
def udf(
    f: Callable[..., Any] | UserDefinedFunction,
    input_types: Types = None,
    result_type: DataType | str | None = None,
    deterministic: bool | None = None,
    name: str | None = None,
    func_type: str = "general",
    udf_type: str | None = None,
) -> ScalarFunctionWrapper: ...


def udf(
    f: Any = None,
    input_types: Types = None,
    result_type: DataType | str | None = None,
    deterministic: bool | None = None,
    name: str | None = None,
    func_type: str = "general",
    udf_type: str | None = None,
) -> Any:
    """Makes a scalar function of a callable or of an object of a function class. Also a decorator.

    func_type: "general" is called with the values of each row, "pandas" with a `pandas.Series` per argument, "arrow" with a
    `pyarrow.Array` per argument. An `async def` is found without it. udf_type: an older name of it.

    >>> @udf(result_type="BIGINT")
    ... def add(a, b):
    ...     return a + b
    >>> add
    <scalar function add>
    """
    func_type = udf_type or func_type
    if func_type not in _STYLES:
        raise ValueError(f"The func_type must be one of 'general, pandas' or 'arrow', but is {func_type!r}.")
    create = partial(
        ScalarFunctionWrapper,
        input_types=input_types,
        result_type=result_type,
        func_type=func_type,
        deterministic=deterministic,
        name=name,
    )
    return create if f is None else create(f)
