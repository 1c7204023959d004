"""A Python aggregate function in a worker: its methods, their arguments and results, and the errors of calls."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa

from penstock.errors import PenstockError, UserFunctionError
from penstock.runtime.failure import function_error, short_repr
from penstock.runtime.relational.python_functions.errors import wrong_result
from penstock.runtime.relational.python_functions.scope import LoadedFunction, loaded
from penstock.runtime.relational.python_functions.values import ResultMisfit, column_of, python_values, rows_of
from penstock.runtime.relational.specs.python_aggregate import PythonAggregate
from penstock.types.logical.kinds import LogicalType

_NONE: Any = object()


class LoadedAggregate:
    """Calls the methods of a function. An operator loads it when it opens; elsewhere it is loaded when it is first used."""

    def __init__(self, spec: PythonAggregate) -> None:
        self.spec = spec
        self._loaded: LoadedFunction | None = None

    def load(self) -> LoadedFunction:
        """Returns the function, which is loaded and opened only once."""
        if self._loaded is None:
            self._loaded = loaded(self.spec.function)
            self._loaded.open()
        return self._loaded

    @property
    def function(self) -> Any:
        """The object with the methods of AggregateFunction or TableAggregateFunction."""
        return self.load().target

    # -- methods

    def create(self) -> Any:
        """Returns a new accumulator."""
        try:
            return self.function.create_accumulator()
        except Exception as error:
            raise self.failure(error, self.function.create_accumulator) from error

    def result(self, accumulator: Any) -> Any:
        """Returns the result of an accumulator."""
        try:
            return self.function.get_value(accumulator)
        except Exception as error:
            raise self.failure(error, self.function.get_value, accumulator) from error

    def emitted(self, accumulator: Any) -> list[Any]:
        """Returns what a table aggregate function emits for an accumulator."""
        try:
            return list(self.function.emit_value(accumulator) or ())
        except Exception as error:
            raise self.failure(error, self.function.emit_value, accumulator) from error

    def merge(self, accumulator: Any, others: Sequence[Any]) -> None:
        """Merges other accumulators into one."""
        try:
            self.function.merge(accumulator, others)
        except Exception as error:
            raise self.failure(error, self.function.merge, accumulator) from error

    # -- arguments and results

    def arguments(
        self, columns: Sequence[pa.Array], types: Sequence[LogicalType], length: int
    ) -> Sequence[tuple[Any, ...]]:
        """Returns the arguments of each row as the function gets them."""
        if not columns:
            return [()] * length
        values = [python_values(c, t, self.spec.zone) for c, t in zip(columns, types, strict=True)]
        names = self.spec.function.row_names
        if names is None:
            return list(zip(*values, strict=True))
        return [(row,) for row in rows_of(values, names, length)]

    def column(self, results: Sequence[Any], type_: LogicalType) -> pa.Array:
        """Returns results as a column of their declared type."""
        try:
            return column_of(results, type_, self.spec.zone)
        except ResultMisfit as misfit:
            raise wrong_result(self.load(), misfit.problem, type_, None) from misfit

    # -- errors

    def failure(
        self, error: Exception, method: Callable[..., Any], accumulator: Any = _NONE, arguments: Any = _NONE
    ) -> PenstockError:
        """Returns the error of a call that raised: the function, where it raised, its accumulator and its arguments."""
        scope = self.load().scope
        found = function_error(error, function=method, name=scope.name, uid=scope.uid)
        failed = found.failed
        if isinstance(error, PenstockError) or failed is None:
            return found
        text = f"{method.__name__}() of the aggregate function '{self.spec.function.label}' raised {failed.error}: {failed.message}"
        if failed.location:
            text += f", at {failed.location}" + (f" in {failed.function}" if failed.function else "")
        if accumulator is not _NONE:
            text += f", accumulator {short_repr(accumulator)}"
        if arguments is not _NONE:
            text += f", called with {short_repr(arguments)}"
        raised = UserFunctionError(
            "PYTHON_FUNCTION_FAILED",
            f"{text} (operator '{scope.name}'). The batch was not committed. Fix the function and resume the job.",
        )
        raised.failed = failed
        if failed.stack:
            raised.add_note(failed.stack)
        return raised
