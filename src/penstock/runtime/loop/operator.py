"""The interface between loops and operators, and the contexts that user functions see."""

from __future__ import annotations

import random
import uuid
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, Protocol

import xxhash

from penstock.errors import StateError, TimeError
from penstock.functions import OnTimerContext, RuntimeContext, TimerService
from penstock.metrics import MetricGroup
from penstock.metrics.registry import SubtaskMetrics
from penstock.runtime.failure import short_repr
from penstock.runtime.state.backend import KeyedStateStore
from penstock.runtime.state.timers import Timer, TimerQueue
from penstock.state import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    StateDescriptor,
    ValueStateDescriptor,
)
from penstock.time import MIN_WATERMARK, NO_TIMESTAMP

Emitted = Iterable[Any] | None


class TimestampedResult(NamedTuple):
    """An emitted value whose timestamp differs from that of the element or timer that caused it.

    >>> TimestampedResult("result", 9).timestamp
    9
    """

    value: Any
    timestamp: int


class IndexedError(Exception):
    """An error with the index of the value that caused it; index -1 if that is not known."""

    def __init__(self, index: int, cause: Exception) -> None:
        super().__init__(index, cause)
        self.index = index
        self.cause = cause


class Operator(Protocol):
    """The logic of one operator in one slot."""

    keyed: bool
    # Optional attributes: `stamps_results` (some results are TimestampedResult), `copies_results` (results are copies of what the
    # function emitted, or are not shared with it, so that loops need not copy them).

    def open(self, context: OperatorContext) -> None: ...

    def elements(self) -> tuple[Callable[[Any, Any], Emitted], ...]:
        """Returns one function per input, from (value, context) to the emitted values."""
        ...

    def on_timer(self, timer: Timer, context: OperatorContext) -> Emitted: ...

    def close(self) -> None: ...


class OperatorContext(OnTimerContext, TimerService):
    """The clocks, timers, state and current element of one operator in one slot.

    It is both the ctx of process functions and their timer service. The loop sets the current element, so nothing is allocated
    per record.
    """

    def __init__(
        self, backend: KeyedStateStore, event: TimerQueue, processing: TimerQueue, runtime: FunctionRuntimeContext
    ) -> None:
        self.backend = backend
        self.event_timers = event
        self._added_timers = event.added
        self.processing_timers = processing
        self.runtime = runtime
        self.cell = backend.key_cell
        self.watermark = MIN_WATERMARK
        self.now = 0
        self.timestamps: list[int] = []
        self.index = -1  # of the current element
        self.fired: Timer | None = None
        self.domain = 0
        self.running_due: int | None = None
        self.batch = 0
        self._counters: dict[bytes, int] = {}
        self._random: random.Random | None = None
        self._random_for: Any = None

    @property
    def copies_elements(self) -> bool:
        """Whether emitted elements are copied. Parts of state are always copied, because state may change later in the batch."""
        return self.backend.mutable or not self.runtime.object_reuse

    # -- the current element or timer

    def timestamp(self) -> int | None:
        if self.fired is not None:
            return self.fired.time if self.domain == 0 else None
        stamp = self.timestamps[self.index]
        return None if stamp == NO_TIMESTAMP else stamp

    def get_current_key(self) -> Any:
        return self.cell.at

    def time_domain(self) -> int:
        return self.domain

    def timer_service(self) -> TimerService:
        return self

    # -- clocks and timers

    def current_processing_time(self) -> int:
        return self.now

    def current_watermark(self) -> int:
        return self.watermark

    def register_event_time_timer(self, timestamp: int) -> None:
        if (
            timestamp,
            self.cell.at,
            None,
        ) not in self._added_timers:  # most elements register a timer of an earlier one
            self.event_timers.register(timestamp, self.cell.at, None, self.running_due)

    def register_processing_time_timer(self, timestamp: int) -> None:
        self.processing_timers.register(timestamp, self.cell.at, None)

    def delete_event_time_timer(self, timestamp: int) -> None:
        self.event_timers.delete(timestamp, self.cell.at, None)

    def delete_processing_time_timer(self, timestamp: int) -> None:
        self.processing_timers.delete(timestamp, self.cell.at, None)

    # -- reproducible random values

    @property
    def random(self) -> random.Random:
        if self._random is None or self._random_for != (self.index, self.fired):
            self._random = random.Random(self._seed(self.backend.keys[self.cell.at].encoded))
            self._random_for = (self.index, self.fired)
        return self._random

    def uuid(self) -> uuid.UUID:
        key = self.backend.keys[self.cell.at].encoded
        return uuid.UUID(bytes=xxhash.xxh3_128_digest(self._seed(key)), version=4)

    def _seed(self, key: bytes) -> bytes:
        """Returns a seed that differs for every call in a batch, but is the same when the batch is repeated with other keys."""
        count = self._counters[key] = self._counters.get(key, 0) + 1
        return b"|".join((self.runtime.uid.encode(), key, b"%d" % self.batch, b"%d" % count))

    def begin_batch(self, batch: int, now: int) -> None:
        self.batch = batch
        self.now = now
        self.backend.now = now
        self._counters = {}
        self._random = None
        self.index = -1  # no call is running; see call_watch.py
        self.fired = None
        self.running_due = None


class FunctionRuntimeContext(RuntimeContext):
    """The runtime context of a function in one slot."""

    def __init__(
        self,
        *,
        uid: str,
        name: str,
        index: int,
        parallelism: int,
        max_parallelism: int,
        parameters: dict[str, str],
        backend: KeyedStateStore | None,
        attempt: int = 0,
        in_batch_mode: bool = False,
        object_reuse: bool = False,
    ) -> None:
        self.uid = uid
        self._name = name
        self._index = index
        self._parallelism = parallelism
        self._max_parallelism = max_parallelism
        self._parameters = parameters
        self._backend = backend
        self._attempt = attempt
        self.in_batch_mode = in_batch_mode  # the complete input is available, so only final results are emitted
        self.object_reuse = object_reuse  # emitted elements are not copied
        self.metrics: SubtaskMetrics | None = None  # created when the function requests its metrics group

    def get_task_name(self) -> str:
        return self._name

    def get_task_name_with_subtasks(self) -> str:
        return f"{self._name} ({self._index + 1}/{self._parallelism})#{self._attempt}"

    def get_attempt_number(self) -> int:
        return self._attempt

    def get_metrics_group(self) -> MetricGroup:
        if self.metrics is None:
            self.metrics = SubtaskMetrics(self._name)
        return self.metrics.group()

    def get_index_of_this_subtask(self) -> int:
        return self._index

    def get_number_of_parallel_subtasks(self) -> int:
        return self._parallelism

    def get_max_number_of_parallel_subtasks(self) -> int:
        return self._max_parallelism

    def get_job_parameter(self, key: str, default_value: str) -> str:
        return self._parameters.get(key, default_value)

    def get_state(self, state_descriptor: Any) -> Any:
        return self._state("get_state", ValueStateDescriptor, state_descriptor)

    def get_list_state(self, state_descriptor: Any) -> Any:
        return self._state("get_list_state", ListStateDescriptor, state_descriptor)

    def get_map_state(self, state_descriptor: Any) -> Any:
        return self._state("get_map_state", MapStateDescriptor, state_descriptor)

    def get_reducing_state(self, state_descriptor: Any) -> Any:
        return self._state("get_reducing_state", ReducingStateDescriptor, state_descriptor)

    def get_aggregating_state(self, state_descriptor: Any) -> Any:
        return self._state("get_aggregating_state", AggregatingStateDescriptor, state_descriptor)

    def _state(self, method: str, kind: type, state_descriptor: StateDescriptor) -> Any:
        if not isinstance(state_descriptor, kind):
            raise StateError(
                "STATE_DESCRIPTOR",
                f"{method}() got {short_repr(state_descriptor)}, but expects a {kind.__name__}, such as {_EXAMPLES[kind]}.",
            )
        if self._backend is None:
            raise StateError(
                "STATE_WITHOUT_KEY",
                f"Operator '{self._name}' uses state '{state_descriptor.name}', but its stream has no key. Call key_by first.",
            )
        return self._backend.handle(state_descriptor)


_EXAMPLES = {
    ValueStateDescriptor: 'ValueStateDescriptor("total", int)',
    ListStateDescriptor: 'ListStateDescriptor("orders", str)',
    MapStateDescriptor: 'MapStateDescriptor("totals", str, int)',
    ReducingStateDescriptor: 'ReducingStateDescriptor("total", lambda a, b: a + b, int)',
    AggregatingStateDescriptor: 'AggregatingStateDescriptor("mean", Mean(), tuple[int, int])',
}


class ClockOnlyTimerService(TimerService):
    """The timer service of a stream without keys. It has clocks, but no timers."""

    def __init__(self, context: Any) -> None:
        self._context = context

    def current_processing_time(self) -> int:
        return int(self._context.now)

    def current_watermark(self) -> int:
        return int(self._context.watermark)

    def _raise_no_key(self, timestamp: int) -> None:
        raise TimeError(
            "TIMER_WITHOUT_KEY", "A timer was registered on a stream without a key. Call key_by before process."
        )

    register_processing_time_timer = register_event_time_timer = _raise_no_key
    delete_processing_time_timer = delete_event_time_timer = _raise_no_key
