"""How functions are declared: by a kernel on columns, or by a Python function of values."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from penstock.runtime.relational.expressions.frame import Value
from penstock.runtime.relational.expressions.values import from_values, to_values, value_of
from penstock.runtime.relational.functions.definition import CallContext, Function, Kernel, TypeRule, register
from penstock.types.logical.kinds import LogicalType

Raises = bool | Callable[[Sequence[LogicalType], LogicalType], bool]
Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


class Family:
    """The functions of one file. Its methods are decorators that register a function."""

    def __init__(self, name: str) -> None:
        self.name = name

    def columns(
        self,
        names: str,
        rule: TypeRule,
        documentation: str,
        *,
        raises: Raises = False,
        deterministic: bool | Callable[[int], bool] = True,
    ) -> Decorator:
        """Declares a kernel: (context, *columns or scalars) -> column or scalar."""

        def decorate(kernel: Callable[..., Any]) -> Callable[..., Any]:
            self._register(names, rule, kernel, documentation, raises=raises, deterministic=deterministic)
            return kernel

        return decorate

    def values(
        self,
        names: str,
        rule: TypeRule,
        documentation: str,
        *,
        raises: Raises = False,
        strict: bool = True,
        deterministic: bool = True,
        context: bool = False,
    ) -> Decorator:
        """Declares a Python function of values, computed once per distinct value.

        `strict` means that the result is null if an argument is. `context` passes the call's context first.
        """

        def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
            kernel = by_value(function, strict, deterministic, context)
            self._register(
                names, rule, kernel, documentation, raises=raises, deterministic=deterministic, by_value=True
            )
            return function

        return decorate

    def _register(
        self,
        names: str,
        rule: TypeRule,
        kernel: Kernel,
        documentation: str,
        *,
        raises: Raises,
        deterministic: bool | Callable[[int], bool],
        by_value: bool = False,
    ) -> None:
        name, *aliases = names.split()
        register(
            Function(
                name=name,
                rule=rule,
                kernel=kernel,
                documentation=documentation,
                family=self.name,
                aliases=tuple(aliases),
                raises=raises,
                deterministic=deterministic,
                by_value=by_value,
            )
        )


def by_value(function: Callable[..., Any], strict: bool, deterministic: bool = True, context: bool = False) -> Kernel:
    """Returns the kernel that calls a Python function, once per distinct value where that pays."""

    def kernel(call: CallContext, *arguments: Value) -> Value:
        types = call.argument_types
        call_function = functools.partial(function, call) if context else function
        columns = [i for i, a in enumerate(arguments) if isinstance(a, pa.Array)]
        constants = {i: value_of(a, types[i]) for i, a in enumerate(arguments) if not isinstance(a, pa.Array)}
        if strict and any(v is None for v in constants.values()):
            return (
                from_values([None], call.type)[0]
                if not columns
                else pa.nulls(call.length, from_values([], call.type).type)
            )
        if not columns:
            row = [constants[i] for i in range(len(arguments))]
            return from_values([call_function(*row) for _ in range(call.length)], call.type)
        if len(columns) == 1:
            position = columns[0]
            return _over_column(call, call_function, arguments[position], position, constants, strict, deterministic)
        lists = [
            to_values(a, types[i]) if isinstance(a, pa.Array) else [constants[i]] * call.length
            for i, a in enumerate(arguments)
        ]
        return from_values(_over_rows(call_function, lists, strict, deterministic), call.type)

    return kernel


def _over_column(
    call: CallContext,
    function: Callable[..., Any],
    column: pa.Array,
    position: int,
    constants: dict[int, Any],
    strict: bool,
    deterministic: bool,
) -> Value:
    type_ = call.argument_types[position]
    count = len(call.argument_types)
    row = [constants.get(i) for i in range(count)]

    def computed(values: Sequence[Any]) -> list[Any]:
        results: list[Any] = []
        for value in values:
            if value is None and strict:
                results.append(None)
                continue
            row[position] = value
            results.append(function(*row))
        return results

    if deterministic and len(column) > 16 and not pa.types.is_nested(column.type):
        encoded = pc.dictionary_encode(column, null_encoding="mask" if strict else "encode")
        if len(encoded.dictionary) * 2 <= len(column):
            return from_values(computed(to_values(encoded.dictionary, type_)), call.type).take(encoded.indices)
    return from_values(computed(to_values(column, type_)), call.type)


def _over_rows(function: Callable[..., Any], lists: list[list[Any]], strict: bool, deterministic: bool) -> list[Any]:
    memo: dict[tuple[Any, ...], Any] = {}
    results: list[Any] = []
    for row in zip(*lists, strict=True):
        if strict and None in row:
            results.append(None)
            continue
        if not deterministic:
            results.append(function(*row))
            continue
        try:
            if row in memo:
                results.append(memo[row])
                continue
        except TypeError:  # a list is not hashable
            results.append(function(*row))
            continue
        found = memo[row] = function(*row)
        results.append(found)
    return results


def over_distinct(column: pa.Array, compute: Callable[[pa.Array], pa.Array]) -> pa.Array:
    """Computes a column from another: once per distinct value, where that pays. NULL stays NULL.

    >>> import pyarrow as pa
    >>> over_distinct(pa.array(["b", None, "b"]), lambda texts: pc.utf8_upper(texts)).to_pylist()
    ['B', None, 'B']
    """
    if len(column) > 16:
        encoded = pc.dictionary_encode(column)
        if len(encoded.dictionary) * 2 <= len(column):
            return compute(encoded.dictionary).take(encoded.indices)
    return compute(column)


def as_column(call: CallContext, value: Value) -> pa.Array:
    """Returns a value as a column of the call's length."""
    if isinstance(value, pa.Scalar):
        return pa.repeat(value, call.length) if value.is_valid else pa.nulls(call.length, value.type)
    return value
