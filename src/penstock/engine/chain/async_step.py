"""A step that awaits its function for all elements of some chunks at once."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from itertools import accumulate, chain
from typing import Any

import numpy as np

from penstock.engine.aside import Aside, known_of
from penstock.engine.calls import without_sides
from penstock.engine.flow import Flow
from penstock.engine.place import ChunkName
from penstock.engine.steps import Declared, TransformStep
from penstock.errors import PenstockError, UserFunctionError
from penstock.functions import DEAD_LETTERS
from penstock.runtime.async_calls import AsyncCalls
from penstock.runtime.call_site import CallSite
from penstock.runtime.failed_at import FailedAt
from penstock.runtime.fitting import fitting
from penstock.runtime.operator import SubtaskContext


class AsyncStep:
    """The calls of one AsyncFunction in one subtask. Results leave in the order of the elements (time.md 8.3)."""

    def __init__(self, step: TransformStep, site: CallSite, runtime: SubtaskContext) -> None:
        function = step.function
        self._guarded = step.guarded
        self._site = site
        self._calls = AsyncCalls(function.async_invoke, step.settings, function.timeout, _checked(step.declared))
        try:
            self._calls.open(function, runtime)
        except Exception as error:
            raise site.error(error) from error

    def run(
        self, parts: list[tuple[Flow, ChunkName]], enter: Callable[[ChunkName], None] | None
    ) -> Iterator[tuple[Flow, dict[str, Flow]]]:
        """What comes of the elements of some chunks, and dead letters of those that failed; all of them wait together.

        `enter` is called before something is told of a chunk's elements.
        """
        flows = [flow for flow, _ in parts]
        starts = list(accumulate((len(flow.values) for flow in flows), initial=0))
        values = flows[0].values if len(flows) == 1 else list(chain.from_iterable(flow.values for flow in flows))
        try:
            results, failed = self._calls.run(values, fail_fast=not self._guarded)
        except FailedAt as error:
            raise self._told(error, parts, starts, enter) from error.cause
        for number, (flow, chunk) in enumerate(parts):
            if enter is not None:
                enter(chunk)
            first, last = starts[number], starts[number + 1]
            yield self._outcome(flow, results[first:last], {i - first: failed[i] for i in failed if first <= i < last})

    def _told(
        self,
        error: FailedAt,
        parts: list[tuple[Flow, ChunkName]],
        starts: list[int],
        enter: Callable[[ChunkName], None] | None,
    ) -> PenstockError:
        if error.index < 0:
            return self._site.error(error.cause)
        number = bisect_right(starts, error.index) - 1
        flow, chunk = parts[number]
        if enter is not None:
            enter(chunk)
        return self._site.error(error.cause, **known_of(flow, error.index - starts[number]))

    def _outcome(self, flow: Flow, results: list[Any], failed: dict[int, Exception]) -> tuple[Flow, dict[str, Flow]]:
        for index in failed:
            results[index] = ()
        picked = np.repeat(np.arange(len(results)), [len(r) for r in results]).tolist()
        main, sides = without_sides(flow, list(chain.from_iterable(results)), picked)
        aside = Aside(self._site, flow, self._guarded)
        for index in sorted(failed):
            aside.refuse(failed[index], index)
        for letters in aside.letters():
            sides[DEAD_LETTERS.tag_id] = letters
        return main, sides

    def close(self) -> None:
        self._calls.close()


def _checked(says: Declared | None) -> Callable[[Any], list[Any]]:
    """How results are looked at: they are lists, of the type that was declared where that is looked at call by call."""
    if says is None:
        return _elements
    return lambda result: fitting(says.name, says.line, says.type_info, _elements(result))


def _elements(result: Any) -> list[Any]:
    """What a call gave, as a list."""
    if result.__class__ is list:
        elements: list[Any] = result
        return elements
    if isinstance(result, Iterable) and not isinstance(result, (str, bytes)):
        return list(result)
    raise UserFunctionError(
        "ASYNC_RESULT",
        f"async_invoke() or timeout() gave back {'None' if result is None else f'a {type(result).__name__}'}; it has to give "
        "the elements that come out as a list: [result] for one, [] for none.",
    )
