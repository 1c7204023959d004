"""select and flat_select of a pattern stream, as pattern process functions."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from penstock.functions import Function, OutputTag, RuntimeContext
from penstock.patterns import PatternContext, PatternProcessFunction, TimedOutPartialMatchHandler


class Selecting(PatternProcessFunction[Any, Any]):
    """One result for each match, or with `flat` any number."""

    def __init__(self, function: Any, flat: bool) -> None:
        self._function = function
        self._flat = flat

    @property
    def adapts(self) -> tuple[Any, str]:
        """The function of the user's, and its method: its annotations say what comes out."""
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


class SelectingTimeouts(Selecting, TimedOutPartialMatchHandler[Any]):
    """The same, with results of timed out partial matches to a side output."""

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
        return [(self._tag, r) for r in (result or () if self._flat else (result,))]
