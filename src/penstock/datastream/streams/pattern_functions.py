"""Adapters of select and flat_select functions to pattern process functions."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from penstock.functions import Function, OutputTag, RuntimeContext
from penstock.patterns import PatternContext, PatternProcessFunction, TimedOutPartialMatchHandler
from penstock.runtime.loop.call_results import check_results


class SelectAdapter(PatternProcessFunction[Any, Any]):
    """Adapts a select function, or a flat_select function if `flat` is true."""

    def __init__(self, function: Any, flat: bool) -> None:
        self._function = function
        self._flat = flat

    @property
    def adapts(self) -> tuple[Any, str]:
        """The user function and its method, whose annotations determine the output type."""
        return self._function, "flat_select" if self._flat else "select"

    def open(self, runtime_context: RuntimeContext) -> None:
        if isinstance(self._function, Function):
            self._function.open(runtime_context)

    def close(self) -> None:
        if isinstance(self._function, Function):
            self._function.close()

    def process_match(self, match: Any, ctx: PatternContext) -> Iterable[Any] | None:
        f = self._function
        if isinstance(f, Function):
            result = f.flat_select(match) if self._flat else f.select(match)  # type: ignore[attr-defined]
        else:
            result = f(match)
        return result if self._flat else (result,)


class SelectWithTimeoutAdapter(SelectAdapter, TimedOutPartialMatchHandler[Any]):
    """Also emits results of timed-out partial matches to a side output."""

    def __init__(self, function: Any, flat: bool, tag: OutputTag[Any], timeout: Any) -> None:
        super().__init__(function, flat)
        self._tag = tag
        self._timeout = timeout

    def open(self, runtime_context: RuntimeContext) -> None:
        super().open(runtime_context)
        if isinstance(self._timeout, Function):
            self._timeout.open(runtime_context)

    def close(self) -> None:
        super().close()
        if isinstance(self._timeout, Function):
            self._timeout.close()

    def process_timed_out_match(self, match: Any, ctx: PatternContext) -> Iterable[Any] | None:
        f = self._timeout
        result = (f.timeout if isinstance(f, Function) else f)(match, ctx.timestamp())  # type: ignore[attr-defined]
        return ((self._tag, r) for r in (check_results(result) or () if self._flat else (result,)))
