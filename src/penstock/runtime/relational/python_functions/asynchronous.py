"""Calls an asynchronous Python function for the rows of a batch, many at a time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from penstock.functions import RuntimeContext
from penstock.functions.async_retry import FixedDelayRetryStrategy, NoRetryStrategy, has_exception_predicate
from penstock.functions.async_settings import AsyncSettings
from penstock.runtime.async_io.calls import AsyncCalls
from penstock.runtime.loop.operator import FunctionRuntimeContext, IndexedError
from penstock.runtime.relational.expressions.frame import Value
from penstock.runtime.relational.python_functions.errors import call_failed
from penstock.runtime.relational.python_functions.function import AsyncLimits
from penstock.runtime.relational.python_functions.scalar import ArgumentRows, result_column
from penstock.runtime.relational.python_functions.scope import LoadedFunction
from penstock.types.logical.kinds import LogicalType


class AsyncRowCalls:
    """Calls a coroutine function once per row. Results keep the order of the rows; a call that fails is tried again."""

    def __init__(self, function: LoadedFunction, types: Sequence[LogicalType], result: LogicalType) -> None:
        self._function = function
        self._result = result
        self._rows = ArgumentRows(types, function.function.row_names)
        self._limits = function.function.limits or AsyncLimits()
        self._calls: AsyncCalls | None = None

    def __call__(self, arguments: Sequence[Value], length: int, zone: str) -> pa.Array:
        rows = self._rows(arguments, length, zone)
        try:
            results, _ = self._opened().run(rows, fail_fast=True)
        except IndexedError as error:
            given = rows[error.index] if error.index >= 0 else None
            raise call_failed(self._function, error.cause, given) from error.cause
        return result_column(self._function, results, self._result, zone, rows)

    def _opened(self) -> AsyncCalls:
        if self._calls is None:
            limits = self._limits
            retry = (
                FixedDelayRetryStrategy(limits.attempts, limits.delay, None, has_exception_predicate)
                if limits.attempts > 0
                else NoRetryStrategy()
            )
            self._calls = AsyncCalls(self._invoke, AsyncSettings(limits.timeout, limits.capacity, retry), self._late)
            self._calls.open(None, self._function.scope.runtime() or _no_job(self._function.scope.name))
            self._function.closers.append(self._calls.close)
        return self._calls

    async def _invoke(self, row: tuple[Any, ...]) -> Any:
        return await self._function.call(*row)

    def _late(self, row: tuple[Any, ...]) -> Any:
        raise TimeoutError(
            f"no result within {self._limits.timeout} ms ('table.exec.async-scalar.timeout'), in all attempts together"
        )


def _no_job(name: str) -> RuntimeContext:
    return FunctionRuntimeContext(
        uid="", name=name, index=0, parallelism=1, max_parallelism=1, parameters={}, backend=None
    )
