"""Map, flat_map, filter and reduce on keyed streams, as keyed process functions: they may use state."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from penstock.functions import Function, KeyedContext, KeyedProcessFunction, RuntimeContext
from penstock.state import ValueStateDescriptor


class _Adapted(KeyedProcessFunction):
    """A function of another kind, seen as a process function."""

    method = ""

    def __init__(self, function: Any) -> None:
        self._function = function
        self._call: Any = None

    def open(self, runtime_context: RuntimeContext) -> None:
        if isinstance(self._function, Function):
            self._function.open(runtime_context)
            self._call = getattr(self._function, self.method)
        else:
            self._call = self._function

    def close(self) -> None:
        if isinstance(self._function, Function):
            self._function.close()


class _Map(_Adapted):
    method = "map"

    def process_element(self, value: Any, ctx: KeyedContext) -> Iterable[Any] | None:
        return (self._call(value),)


class _FlatMap(_Adapted):
    method = "flat_map"

    def process_element(self, value: Any, ctx: KeyedContext) -> Iterable[Any] | None:
        emitted: Iterable[Any] | None = self._call(value)
        return emitted


class _Filter(_Adapted):
    method = "filter"

    def process_element(self, value: Any, ctx: KeyedContext) -> Iterable[Any] | None:
        return (value,) if self._call(value) else None


class _Reduce(_Adapted):
    method = "reduce"

    def open(self, runtime_context: RuntimeContext) -> None:
        super().open(runtime_context)
        self._kept = runtime_context.get_state(ValueStateDescriptor("reduced"))

    def process_element(self, value: Any, ctx: KeyedContext) -> Iterable[Any] | None:
        before = self._kept.value()
        reduced = value if before is None else self._call(before, value)
        self._kept.update(reduced)
        return (reduced,)


keyed_map, keyed_flat_map, keyed_filter, keyed_reduce = _Map, _FlatMap, _Filter, _Reduce
