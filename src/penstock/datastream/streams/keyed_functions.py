"""Map, flat_map, filter and reduce on keyed streams, and on two streams, as process functions: they may use state."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from penstock.functions import Function, KeyedContext, OnTimerContext, RuntimeContext
from penstock.state import ValueStateDescriptor
from penstock.time import MAX_WATERMARK


class _Adapted(Function):
    """A function of another kind, seen as a process function."""

    method = ""

    def __init__(self, function: Any) -> None:
        self._function = function
        self._call: Any = None

    @property
    def adapts(self) -> tuple[Any, str]:
        """The function of the user's, and the kind that it is of: its annotations say what comes out."""
        return self._function, self.method.rstrip("12")

    @property
    def may_keep_state(self) -> bool:
        """A bare callable is never opened: it has nothing to ask for state."""
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
    may_keep_state = True

    def open(self, runtime_context: RuntimeContext) -> None:
        super().open(runtime_context)
        self._kept = runtime_context.get_state(ValueStateDescriptor("reduced"))
        self._only_final = getattr(runtime_context, "in_batch_mode", False)

    def process_element(self, value: Any, ctx: KeyedContext) -> Iterable[Any] | None:
        before = self._kept.value()
        reduced = value if before is None else self._call(before, value)
        self._kept.update(reduced)
        if not self._only_final:
            return (reduced,)
        if before is None:
            ctx.timer_service().register_event_time_timer(MAX_WATERMARK)
        return None

    def on_timer(self, timestamp: int, ctx: OnTimerContext) -> Iterable[Any] | None:
        return (self._kept.value(),)


class _CoMap(_Adapted):
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


class _CoFlatMap(_Adapted):
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
