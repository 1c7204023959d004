"""An asynchronous step, which calls its function for all elements of some chunks concurrently."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator
from functools import partial
from itertools import accumulate, chain
from typing import Any

import numpy as np

from penstock.engine.chain.calls import separate_side_outputs
from penstock.engine.chain.flow import Flow
from penstock.engine.chain.rejected_elements import RejectedElements, call_details
from penstock.engine.program.steps import DeclaredOutput, TransformStep
from penstock.engine.program.subtask_context import ChunkPosition
from penstock.errors import PenstockError, UserFunctionError
from penstock.functions import DEAD_LETTERS
from penstock.runtime.async_io.calls import AsyncCalls
from penstock.runtime.loop.call_results import collect_results, is_collection
from penstock.runtime.loop.call_site import CallSite
from penstock.runtime.loop.emission_check import check_emissions
from penstock.runtime.loop.operator import FunctionRuntimeContext, IndexedError


class AsyncStep:
    """The calls of one AsyncFunction in one subtask. Results keep the order of the elements (time-rules 8.3)."""

    def __init__(self, step: TransformStep, site: CallSite, runtime: FunctionRuntimeContext) -> None:
        function = step.function
        self._guarded = step.guarded
        self._site = site
        check = _result_check(step.declared, not runtime.object_reuse)
        self._calls = AsyncCalls(function.async_invoke, step.settings, function.timeout, check)
        try:
            self._calls.open(function, runtime)
        except Exception as error:
            raise site.error(error) from error

    def run(
        self, parts: list[tuple[Flow, ChunkPosition]], enter: Callable[[ChunkPosition], None] | None
    ) -> Iterator[tuple[Flow, dict[str, Flow]]]:
        """Returns results and side outputs for each chunk. The calls of all chunks run concurrently.

        `enter` is called before a chunk's results are handled or an error of it is raised.
        """
        flows = [flow for flow, _ in parts]
        starts = list(accumulate((len(flow.values) for flow in flows), initial=0))
        values = flows[0].values if len(flows) == 1 else list(chain.from_iterable(flow.values for flow in flows))
        try:
            results, failed = self._calls.run(values, fail_fast=not self._guarded)
        except IndexedError as error:
            raise self._call_error(error, parts, starts, enter) from error.cause
        for number, (flow, chunk) in enumerate(parts):
            if enter is not None:
                enter(chunk)
            first, last = starts[number], starts[number + 1]
            yield self._outcome(flow, results[first:last], {i - first: failed[i] for i in failed if first <= i < last})

    def _call_error(
        self,
        error: IndexedError,
        parts: list[tuple[Flow, ChunkPosition]],
        starts: list[int],
        enter: Callable[[ChunkPosition], None] | None,
    ) -> PenstockError:
        if error.index < 0:
            return self._site.error(error.cause)
        number = bisect_right(starts, error.index) - 1
        flow, chunk = parts[number]
        if enter is not None:
            enter(chunk)
        return self._site.error(error.cause, **call_details(flow, error.index - starts[number]))

    def _outcome(self, flow: Flow, results: list[Any], failed: dict[int, Exception]) -> tuple[Flow, dict[str, Flow]]:
        for index in failed:
            results[index] = ()
        picked = np.repeat(np.arange(len(results)), [len(r) for r in results]).tolist()
        main, sides = separate_side_outputs(flow, list(chain.from_iterable(results)), picked)
        rejected = RejectedElements(self._site, flow, self._guarded)
        for index in sorted(failed):
            rejected.reject(failed[index], index)
        for dead_letters in rejected.dead_letters():
            sides[DEAD_LETTERS.tag_id] = dead_letters
        return main, sides

    def close(self) -> None:
        self._calls.close()


def _result_check(declared: DeclaredOutput | None, copies: bool) -> Callable[[Any], list[Any]]:
    """Returns the function that converts the result of a call to a list, and checks it if a type is declared."""
    if declared is None:
        return partial(_elements, copies)
    return lambda result: check_emissions(declared.name, declared.line, declared.type_info, _elements(copies, result))


def _elements(copies: bool, result: Any) -> list[Any]:
    """The result of a call as a list. Elements are copied, because the function may return them again from a cache."""
    if result is not None and (result.__class__ is list or is_collection(result.__class__)):
        return collect_results(result, copies)
    raise UserFunctionError(
        "ASYNC_RESULT",
        f"The result of AsyncFunction {'cannot be none' if result is None else 'should be of list type'}, but async_invoke() or "
        f"timeout() returned {'None' if result is None else f'a {type(result).__name__}'}. Return a list of output elements, "
        "such as [result], or [] for none.",
    )
