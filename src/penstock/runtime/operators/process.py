"""Process functions as operators: with one or two inputs, keyed or not, and with a broadcast stream."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from penstock.functions import TimerService
from penstock.runtime.loop.call_results import check_results, checked_results, collect_results
from penstock.runtime.loop.operator import ClockOnlyTimerService, Emitted, OperatorContext
from penstock.runtime.state.cell import NO_KEY
from penstock.runtime.state.timers import Timer
from penstock.state import MapStateDescriptor, StateDescriptor


class ProcessOperator:
    """Runs a process function with one or two inputs, keyed or not."""

    def __init__(self, function: Any, keyed: bool, two_inputs: bool = False) -> None:
        self.keyed = keyed
        self._function = function
        self._two_inputs = two_inputs
        self._functions: tuple[Callable[[Any, Any], Emitted], ...] = ()

    def open(self, context: OperatorContext) -> None:
        f = self._function
        f.open(context.runtime)
        methods = (f.process_element1, f.process_element2) if self._two_inputs else (f.process_element,)
        self._functions = tuple(map(checked_results, methods))
        if not self.keyed:
            own_context = UnkeyedContext(context)
            self._functions = tuple(_with_context(function, own_context) for function in self._functions)

    def elements(self) -> tuple[Callable[[Any, Any], Emitted], ...]:
        return self._functions

    def on_timer(self, timer: Timer, context: OperatorContext) -> Emitted:
        return check_results(self._function.on_timer(timer.time, context))

    def close(self) -> None:
        self._function.close()


class UnkeyedContext:
    """The ctx of a function on a stream without keys. It has no key and no timers."""

    def __init__(self, context: OperatorContext) -> None:
        self._context = context
        self._timers = ClockOnlyTimerService(context)

    def timestamp(self) -> int | None:
        return self._context.timestamp()

    def timer_service(self) -> TimerService:
        return self._timers


def _with_context(function: Callable[[Any, Any], Emitted], context: Any) -> Callable[[Any, Any], Emitted]:
    return lambda value, _: function(value, context)


class BroadcastOperator:
    """Runs a function with a broadcast stream. Input 0 is the stream, input 1 the broadcast stream.

    Every slot processes each broadcast element with its own copy of the broadcast state and of the function, and emits what that
    call returns (time-rules 6.3).
    """

    broadcast_inputs = (1,)

    def __init__(self, function: Any, keyed: bool, states: tuple[MapStateDescriptor, ...]) -> None:
        self.keyed = keyed
        self._function = function
        self._states = {s.name: s for s in states}
        self._context: Any = None

    def open(self, context: OperatorContext) -> None:
        for state in self._states.values():
            context.backend.handle(state, "slot")
        self._context = BroadcastSideContext(context, self._states)
        self._function.open(context.runtime)

    def elements(self) -> tuple[Callable[[Any, Any], Emitted], ...]:
        return self._element, self._broadcast_element

    def _element(self, value: Any, context: OperatorContext) -> Emitted:
        return check_results(self._function.process_element(value, self._context.as_reader()))

    def _broadcast_element(self, value: Any, context: OperatorContext) -> Emitted:
        context.cell.at = NO_KEY
        side = self._context.as_writer()
        # Collected here, so that a generator finishes before the next call makes the broadcast state read-only.
        return collect_results(self._function.process_broadcast_element(value, side), context.copies_elements)

    def on_timer(self, timer: Timer, context: OperatorContext) -> Emitted:
        return check_results(self._function.on_timer(timer.time, self._context.as_reader()))

    def close(self) -> None:
        self._function.close()


class BroadcastSideContext:
    """The ctx of both inputs. Only the broadcast input can write to broadcast state."""

    def __init__(self, context: OperatorContext, states: dict[str, MapStateDescriptor]) -> None:
        self._context = context
        self._states = states
        self._writing = False

    def as_reader(self) -> BroadcastSideContext:
        self._writing = False
        return self

    def as_writer(self) -> BroadcastSideContext:
        self._writing = True
        return self

    def timestamp(self) -> int | None:
        return self._context.timestamp()

    def get_current_key(self) -> Any:
        return self._context.get_current_key()

    def time_domain(self) -> int:
        return self._context.time_domain()

    def timer_service(self) -> TimerService:
        return self._context.timer_service()

    def current_processing_time(self) -> int:
        return self._context.current_processing_time()

    def current_watermark(self) -> int:
        return self._context.current_watermark()

    def get_broadcast_state(self, descriptor: MapStateDescriptor) -> Any:
        handle = self._context.backend.handle(self._states.get(descriptor.name, descriptor), "slot")
        return handle if self._writing else ReadOnlyMapView(handle)

    def apply_to_keyed_state(self, descriptor: StateDescriptor, function: Callable[[Any, Any], None]) -> None:
        """Calls function(key, state) for each key of this slot that has the state, ordered by encoded key."""
        backend = self._context.backend
        handle = backend.handle(descriptor)
        for key in backend.keys_with(descriptor):
            backend.set_key(key)
            function(key, handle)
        backend.set_key(NO_KEY)


class ReadOnlyMapView:
    """Read-only access to broadcast state, for the input that is not broadcast."""

    __slots__ = ("_map", "contains", "get", "is_empty", "items", "keys", "values")

    def __init__(self, handle: Any) -> None:
        self.get = handle.get
        self.contains = handle.contains
        self.items = handle.items
        self.keys = handle.keys
        self.values = handle.values
        self.is_empty = handle.is_empty

    def __contains__(self, key: Any) -> bool:
        return bool(self.contains(key))

    def __getitem__(self, key: Any) -> Any:
        return self.get(key)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.keys())
