"""Adapters of map, flat_map, filter and reduce functions to process functions, which can use keyed state."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from penstock.functions import Function, KeyedContext, OnTimerContext, RuntimeContext
from penstock.state import ValueStateDescriptor
from penstock.time import MAX_WATERMARK


class _FunctionAdapter(Function):
    """Adapts a function of another kind to a process function."""

    method = ""

    def __init__(self, function: Any) -> None:
        self._function = function
        self._call: Any = None

    @property
    def adapts(self) -> tuple[Any, str]:
        """The user function and its kind, whose annotations determine the output type."""
        return self._function, self.method.rstrip("12")

    @property
    def may_keep_state(self) -> bool:
        """A plain function cannot use state because it has no `open` method."""
        return isinstance(self._function, Function)

    def open(self, runtime_context: RuntimeContext) -> None:
        if isinstance(self._function, Function):
            self._function.open(runtime_context)
            self._call = getattr(self._function, self.method)
        else:
            self._call = self._function

    def close(self) -> None:
        if isinstance(self._function, Function):
            self._function.close()


class _Map(_FunctionAdapter):
    method = "map"

    def process_element(self, value: Any, ctx: KeyedContext) -> Iterable[Any] | None:
        return (self._call(value),)


class _FlatMap(_FunctionAdapter):
    method = "flat_map"

    def process_element(self, value: Any, ctx: KeyedContext) -> Iterable[Any] | None:
        emitted: Iterable[Any] | None = self._call(value)
        return emitted


class _Filter(_FunctionAdapter):
    method = "filter"

    def process_element(self, value: Any, ctx: KeyedContext) -> Iterable[Any] | None:
        return (value,) if self._call(value) else None


class _Reduce(_FunctionAdapter):
    method = "reduce"
    may_keep_state = True

    def open(self, runtime_context: RuntimeContext) -> None:
        super().open(runtime_context)
        self._reduced = runtime_context.get_state(ValueStateDescriptor("reduced"))
        self._only_final = getattr(runtime_context, "in_batch_mode", False)

    def process_element(self, value: Any, ctx: KeyedContext) -> Iterable[Any] | None:
        before = self._reduced.value()
        reduced = value if before is None else self._call(before, value)
        self._reduced.update(reduced)
        if not self._only_final:
            return (reduced,)
        if before is None:
            ctx.timer_service().register_event_time_timer(MAX_WATERMARK)
        return None

    def on_timer(self, timestamp: int, ctx: OnTimerContext) -> Iterable[Any] | None:
        return (self._reduced.value(),)


class _CoMap(_FunctionAdapter):
    method = "map1"

    def open(self, runtime_context: RuntimeContext) -> None:
        super().open(runtime_context)
        self._call2 = self._function.map2

    def process_element1(self, value: Any, ctx: KeyedContext) -> Iterable[Any] | None:
        mapped = self._call(value)
        return None if mapped is None else (mapped,)

    def process_element2(self, value: Any, ctx: KeyedContext) -> Iterable[Any] | None:
        mapped = self._call2(value)
        return None if mapped is None else (mapped,)


class _CoFlatMap(_FunctionAdapter):
    method = "flat_map1"

    def open(self, runtime_context: RuntimeContext) -> None:
        super().open(runtime_context)
        self._call2 = self._function.flat_map2

    def process_element1(self, value: Any, ctx: KeyedContext) -> Iterable[Any] | None:
        emitted: Iterable[Any] | None = self._call(value)
        return emitted

    def process_element2(self, value: Any, ctx: KeyedContext) -> Iterable[Any] | None:
        emitted: Iterable[Any] | None = self._call2(value)
        return emitted


keyed_map, keyed_flat_map, keyed_filter, keyed_reduce = _Map, _FlatMap, _Filter, _Reduce
co_map, co_flat_map = _CoMap, _CoFlatMap
