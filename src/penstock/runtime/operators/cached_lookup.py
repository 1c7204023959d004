"""Lookups by key whose answers are kept in state: before a batch runs, all keys without a fresh answer are asked at once."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import Any

from penstock.functions.async_settings import AsyncSettings
from penstock.runtime.async_calls import AsyncCalls
from penstock.runtime.failed_at import FailedAt
from penstock.runtime.operator import Emitted, OperatorContext
from penstock.runtime.records import Records
from penstock.runtime.timers import Timer
from penstock.state import ValueStateDescriptor
from penstock.ttl import StateTtlConfig
from penstock.types import TypeInformation, Types


class CachedLookupOperator:
    """Gives each element with the answer for its key.

    An answer is fresh for `ttl` milliseconds of processing time, which stands still within a batch. In batch mode every key is
    asked once, and nothing is kept.
    """

    keyed = True

    def __init__(
        self,
        function: Any,
        settings: AsyncSettings,
        ttl: int,
        output: Callable[[Any, Any], Any],
        *,
        keeps_none: bool,
        answer_type: TypeInformation | None,
        fail_fast: bool,
    ) -> None:
        self._function = function
        self._calls = AsyncCalls(getattr(function, "lookup", function), settings, _too_late)
        self._ttl = ttl
        self._output = output
        self._keeps_none = keeps_none
        # In a tuple: None is an answer too.
        self._kept_type = Types.PICKLED_BYTE_ARRAY() if answer_type is None else Types.TUPLE([answer_type])
        self._fail_fast = fail_fast
        self._answers: dict[Any, Any] = {}  # of the running batch
        self._failed: dict[Any, tuple[Exception, TracebackType | None]] = {}

    def open(self, context: OperatorContext) -> None:
        answer: ValueStateDescriptor[Any] = ValueStateDescriptor("answer", self._kept_type)
        answer.enable_time_to_live(StateTtlConfig.new_builder(self._ttl).build())
        self._backend = context.backend
        self._kept = context.backend.handle(answer)
        self._keeps = not context.runtime.in_batch_mode
        self._saved = context.runtime.get_metrics_group().add_group("async").counter("calls_saved")
        self._calls.open(self._function, context.runtime)

    def prepare(self, records: Records) -> None:
        """Gets the answers for all keys of a batch: from state, or by asking."""
        before = self._answers
        answers = self._answers = {}
        failed = self._failed = {}
        keys = records.keys or []
        asked = [key for key in dict.fromkeys(keys) if not self._answered(key, answers, before)]
        self._saved.inc(len(keys) - len(asked))
        if not asked:
            return
        try:
            results, errors = self._calls.run(asked, self._fail_fast)
        except FailedAt as error:
            at = keys.index(asked[error.index]) if error.index >= 0 else -1
            raise FailedAt(at, error.cause) from error.cause
        for index, key in enumerate(asked):
            if index in errors:
                failed[key] = errors[index], errors[index].__traceback__
            else:
                answers[key] = results[index]
                self._keep(key, results[index])
        self._backend.unset_key()

    def _answered(self, key: Any, answers: dict[Any, Any], before: dict[Any, Any]) -> bool:
        """Whether state has a fresh answer; it is noted then. In batch mode: the input's last part, where the key goes on."""
        if not self._keeps:
            if key in before:
                answers[key] = before[key]
            return key in before
        self._backend.set_key(key)
        kept = self._kept.value()
        if kept is None:
            return False
        answers[key] = kept[0]
        return True

    def _keep(self, key: Any, answer: Any) -> None:
        if self._keeps and (answer is not None or self._keeps_none):
            self._backend.set_key(key)
            self._kept.update((answer,))

    def elements(self) -> tuple[Callable[[Any, Any], Emitted], ...]:
        return (self._element,)

    def _element(self, value: Any, context: OperatorContext) -> Emitted:
        key = context.cell.at
        try:
            answer = self._answers[key]
        except KeyError:
            error, trace = self._failed[key]
            raise error.with_traceback(trace) from None  # each time anew: a traceback grows with every raise
        return (self._output(value, answer),)

    def on_timer(self, timer: Timer, context: OperatorContext) -> Emitted:
        return None

    def close(self) -> None:
        self._calls.close()


def _too_late(key: Any) -> Any:
    raise TimeoutError("the lookup had not come to its end when its timeout had passed")
