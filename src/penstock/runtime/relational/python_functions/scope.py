"""The Python functions of one operator in one subtask."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from penstock.functions import RuntimeContext
from penstock.metrics import MetricGroup
from penstock.runtime.relational.python_functions.context import FunctionContext
from penstock.runtime.relational.python_functions.errors import call_failed
from penstock.runtime.relational.python_functions.function import PythonFunction

_ACTIVE: ContextVar[FunctionScope | None] = ContextVar("python_functions", default=None)


class FunctionScope:
    """Opens functions when the operator opens, and closes them with it.

    Expressions are compiled in many places, which know nothing of the operator. So the operator makes its scope the active one
    while it opens, and `loaded` finds it there. Outside of a job a function is opened before its first call.
    """

    def __init__(self, name: str, uid: str = "", runtime: Callable[[], RuntimeContext] | None = None) -> None:
        self.name = name
        self.uid = uid
        self._runtime = runtime
        self._context: RuntimeContext | None = None
        self._loaded: dict[PythonFunction, LoadedFunction] = {}

    @contextmanager
    def active(self) -> Iterator[None]:
        """Makes this the scope of the functions that are loaded inside."""
        token = _ACTIVE.set(self)
        try:
            yield
        finally:
            _ACTIVE.reset(token)

    def load(self, function: PythonFunction) -> LoadedFunction:
        """Returns the function, which is opened at once if this is the scope of a job."""
        found = self._loaded.get(function)
        if found is None:
            found = self._loaded[function] = LoadedFunction(function, self)
            if self._runtime is not None:
                found.open()
        return found

    def runtime(self) -> RuntimeContext | None:
        """Returns the context of the subtask, or None outside of a job."""
        if self._context is None and self._runtime is not None:
            self._context = self._runtime()
        return self._context

    def close(self) -> None:
        """Closes all functions that were opened."""
        functions, self._loaded = list(self._loaded.values()), {}
        for function in functions:
            function.close()


class LoadedFunction:
    """A function that can be called. `target` is the object of the user, `call` the method that computes."""

    def __init__(self, function: PythonFunction, scope: FunctionScope) -> None:
        self.function = function
        self.scope = scope
        self.target: Any = pickle.loads(function.payload)
        self.call: Callable[..., Any] = getattr(self.target, "eval", None) or self.target
        self.closers: list[Callable[[], None]] = []  # called before the function is closed
        self._opened = False

    def open(self) -> None:
        """Opens the function, once."""
        if self._opened:
            return
        self._opened = True
        method = self._lifecycle("open")
        if method is not None:
            runtime = self.scope.runtime()
            try:
                method(FunctionContext(None, {}) if runtime is None else RuntimeFunctionContext(runtime))
            except Exception as error:
                raise call_failed(self, error, None, "open()") from error

    def close(self) -> None:
        """Closes the function, if it was opened."""
        for closer in self.closers:
            closer()
        if not self._opened:
            return
        self._opened = False
        method = self._lifecycle("close")
        if method is not None:
            try:
                method()
            except Exception as error:
                raise call_failed(self, error, None, "close()") from error

    def _lifecycle(self, name: str) -> Callable[..., None] | None:
        """Only objects of function classes have a lifecycle. `open` of any other object is not about us."""
        if not any(hasattr(self.target, method) for method in ("eval", "create_accumulator")):
            return None
        return getattr(self.target, name, None)


class RuntimeFunctionContext(FunctionContext):
    """The context of a function in a job."""

    def __init__(self, runtime: RuntimeContext) -> None:
        super().__init__(
            None,
            {},
            runtime.get_task_name(),
            runtime.get_task_name_with_subtasks(),
            runtime.get_number_of_parallel_subtasks(),
            runtime.get_max_number_of_parallel_subtasks(),
            runtime.get_index_of_this_subtask(),
            runtime.get_attempt_number(),
        )
        self._runtime = runtime

    def get_metric_group(self) -> MetricGroup:
        return self._runtime.get_metrics_group()

    def get_job_parameter(self, key: str, default_value: str) -> str:
        found: str = self._runtime.get_job_parameter(key, default_value)
        return found


def loaded(function: PythonFunction) -> LoadedFunction:
    """Returns a function in the scope of the operator that is being opened."""
    return (_ACTIVE.get() or FunctionScope("expression")).load(function)
