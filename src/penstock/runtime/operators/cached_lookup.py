"""Lookups by key with answers cached in state. Before a batch runs, all keys without a fresh answer are looked up together."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import Any

from penstock.functions.async_settings import AsyncSettings
from penstock.runtime.async_io.calls import AsyncCalls
from penstock.runtime.loop.operator import Emitted, IndexedError, OperatorContext
from penstock.runtime.loop.records import Records
from penstock.runtime.state.timers import Timer
from penstock.state import ValueStateDescriptor
from penstock.ttl import StateTtlConfig
from penstock.types import TypeInformation, Types


class CachedLookupOperator:
    """Emits each element with the answer for its key.

    An answer is fresh for `ttl` milliseconds of processing time, which does not advance within a batch. In batch mode every key
    is looked up once, and no answer is stored.
    """

    keyed = True

    def __init__(
        self,
        function: Any,
        settings: AsyncSettings,
        ttl: int,
        output: Callable[[Any, Any], Any],
        *,
        caches_none: bool,
        answer_type: TypeInformation | None,
        fail_fast: bool,
    ) -> None:
        self._function = function
        self._calls = AsyncCalls(getattr(function, "lookup", function), settings, _timed_out)
        self._ttl = ttl
        self._output = output
        self._caches_none = caches_none
        # In a tuple, because None can be an answer.
        self._stored_type = Types.PICKLED_BYTE_ARRAY() if answer_type is None else Types.TUPLE([answer_type])
        self._fail_fast = fail_fast
        self._answers: dict[Any, Any] = {}  # of the current batch
        self._failed: dict[Any, tuple[Exception, TracebackType | None]] = {}

    def open(self, context: OperatorContext) -> None:
        answer: ValueStateDescriptor[Any] = ValueStateDescriptor("answer", self._stored_type)
        answer.enable_time_to_live(StateTtlConfig.new_builder(self._ttl).build())
        self._backend = context.backend
        self._stored = context.backend.handle(answer)
        self._stores_answers = not context.runtime.in_batch_mode
        self._calls_saved = context.runtime.get_metrics_group().add_group("async").counter("calls_saved")
        self._calls.open(self._function, context.runtime)

    def prepare(self, records: Records) -> None:
        """Gets the answers for all keys of a batch, from state or by lookups."""
        previous = self._answers
        answers = self._answers = {}
        failed = self._failed = {}
        keys = records.keys or []
        missing = [key for key in dict.fromkeys(keys) if not self._has_answer(key, answers, previous)]
        self._calls_saved.inc(len(keys) - len(missing))
        if not missing:
            return
        try:
            results, errors = self._calls.run(missing, self._fail_fast)
        except IndexedError as error:
            at = keys.index(missing[error.index]) if error.index >= 0 else -1
            raise IndexedError(at, error.cause) from error.cause
        for index, key in enumerate(missing):
            if index in errors:
                failed[key] = errors[index], errors[index].__traceback__
            else:
                answers[key] = results[index]
                self._store(key, results[index])
        self._backend.unset_key()

    def _has_answer(self, key: Any, answers: dict[Any, Any], previous: dict[Any, Any]) -> bool:
        """Returns whether there is a fresh answer and adds it to `answers`.

        In batch mode, a key that continues from the previous part of the input has its answer there.
        """
        if not self._stores_answers:
            if key in previous:
                answers[key] = previous[key]
            return key in previous
        self._backend.set_key(key)
        stored = self._stored.value()
        if stored is None:
            return False
        answers[key] = stored[0]
        return True

    def _store(self, key: Any, answer: Any) -> None:
        if self._stores_answers and (answer is not None or self._caches_none):
            self._backend.set_key(key)
            self._stored.update((answer,))

    def elements(self) -> tuple[Callable[[Any, Any], Emitted], ...]:
        return (self._element,)

    def _element(self, value: Any, context: OperatorContext) -> Emitted:
        key = context.cell.at
        try:
            answer = self._answers[key]
        except KeyError:
            error, trace = self._failed[key]
            raise error.with_traceback(trace) from None  # reset, because a traceback grows with every raise
        return (self._output(value, answer),)

    def on_timer(self, timer: Timer, context: OperatorContext) -> Emitted:
        return None

    def close(self) -> None:
        self._calls.close()


def _timed_out(key: Any) -> Any:
    raise TimeoutError("the lookup did not finish within its timeout")
