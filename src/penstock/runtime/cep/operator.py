"""Pattern matching on a keyed stream (time-rules 4.3).

In event time, the events of a key are processed in timestamp order after the watermark has passed them. In processing time,
they are processed as they arrive. A key has one state entry and at most one active timer. It is set to the first waiting event
or to the time at which the first partial match times out.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cmp_to_key
from typing import Any

from penstock.errors import StateError, TimeError
from penstock.functions import Function, OutputTag
from penstock.patterns.pattern import Pattern
from penstock.runtime.cep.automaton import NOT_EVALUATED, Automaton
from penstock.runtime.cep.compiler import compile_pattern
from penstock.runtime.cep.key_state import EventCodec, KeyState, decode_key_state, encode_key_state
from penstock.runtime.cep.match_context import MatchContext
from penstock.runtime.cep.matcher import Event, Matcher, MatchResult
from penstock.runtime.loop.call_guard import PartwiseOperator
from penstock.runtime.loop.call_results import collect_results
from penstock.runtime.loop.element_copy import copy_elements
from penstock.runtime.loop.lateness import pattern_is_late
from penstock.runtime.loop.operator import Emitted, OperatorContext, TimestampedResult
from penstock.runtime.state.evolution.shape import OperatorStateDescriptor
from penstock.runtime.state.timers import Timer
from penstock.time import NO_TIMESTAMP
from penstock.types import TypeInformation, Types

Emit = Callable[[Any, int], None]  # takes a result and its time
SINGLE_PATTERN_ID = ""  # the pattern id if there is a single pattern


class PatternOperator(PartwiseOperator):
    """Calls `process_match(match, ctx)` of a function for each match of a pattern.

    >>> PatternOperator(Pattern.begin("a"), None).late_records
    0
    """

    keyed = True
    stamps_results = True
    copies_results = True

    def __init__(
        self,
        pattern: Pattern[Any] | None,
        function: Any,
        *,
        event_time: bool = True,
        comparator: Callable[[Any, Any], int] | None = None,
        late_tag: OutputTag[Any] | None = None,
        element_type: TypeInformation | None = None,
    ) -> None:
        self.late_records = 0
        self.event_time = event_time
        self.late_tag = late_tag
        self._function = function
        self._order = None if comparator is None else cmp_to_key(comparator)
        self._codec = EventCodec(element_type)
        self._on_timeout: Any = getattr(function, "process_timed_out_match", None)
        self._matchers: dict[str, tuple[str, Matcher]] = {}
        self.ignores_unmatched_events = False  # whether events that fulfil no condition can be dropped
        self._has_timeouts = False
        self._part_event: Event | None = None  # the only event of the last part
        self._context: Any = None
        if pattern is not None:
            self._add_matcher(SINGLE_PATTERN_ID, "", pattern)

    def _add_matcher(self, pattern_id: str, version: str, pattern: Pattern[Any]) -> Matcher:
        automaton = compile_pattern(pattern)
        matcher = Matcher(automaton, self._codec.decode)
        self._matchers[pattern_id] = f"{version}#{automaton.fingerprint}", matcher
        self._combine_automata()
        return matcher

    def _combine_automata(self) -> None:
        automata = [matcher.automaton for _, matcher in self._matchers.values()]
        self.evaluate_conditions = (
            automata[0].evaluate_conditions if len(automata) == 1 else _any_condition_evaluator(automata)
        )
        self.ignores_unmatched_events = all(a.ignores_unmatched_events for a in automata)
        self._has_timeouts = any(a.has_timeouts for a in automata)

    def open(self, context: OperatorContext) -> None:
        self._context = context
        shape, bytes_type = self._codec.shape(), Types.PRIMITIVE_ARRAY(Types.BYTE())
        self._state = context.backend.handle(OperatorStateDescriptor("patterns", "value", shape, bytes_type))
        self._match = MatchContext(context)
        self._timers = context.event_timers if self.event_time else context.processing_timers
        for function in self._functions():
            function.open(context.runtime)

    def close(self) -> None:
        for function in self._functions():
            function.close()

    def _functions(self) -> list[Function]:
        conditions = [f for _, m in self._matchers.values() for f in m.automaton.functions]
        return [f for f in (self._function, *conditions) if isinstance(f, Function)]

    # -- calls of the slot loop

    def elements(self) -> tuple[Callable[[Any, Any], Emitted], ...]:
        return (self._process_in_event_time if self.event_time else self._process_in_processing_time,)

    def _process_in_event_time(self, value: Any, context: OperatorContext) -> Emitted:
        timestamp = context.timestamps[context.index]
        if pattern_is_late(timestamp, context.watermark):
            return self.handle_late(value, timestamp)
        fulfilled = self.evaluate_conditions(value)
        if self.ignores_unmatched_events and not fulfilled:
            return None
        state = self.load()
        state.queue.append(self.make_event(timestamp, value, fulfilled))
        self.save(state)
        return None

    def _process_in_processing_time(self, value: Any, context: OperatorContext) -> Emitted:
        fulfilled = self.evaluate_conditions(value)
        if self.ignores_unmatched_events and not fulfilled:
            return None
        state = self.load()
        results: list[Any] = []
        state.queue.append(self.make_event(context.now, value, fulfilled))
        if self._order is None:
            self.advance(state, context.now, lambda result, _: results.append(TimestampedResult(result, NO_TIMESTAMP)))
        self.save(state)
        return results or None

    def on_timer(self, timer: Timer, context: OperatorContext) -> Emitted:
        return self.on_timer_part(timer, context, sys.maxsize)

    def on_timer_part(self, timer: Timer, context: OperatorContext, limit: int) -> Emitted:
        self.part_size, self._part_event = 0, None
        state = self._load_for_timer(timer)
        due, until = self._take_part(state, self._time(context), limit)
        results: list[Any] = []
        in_event_time = self.event_time
        self._process_events(
            state,
            due,
            until,
            lambda result, time: results.append(TimestampedResult(result, time if in_event_time else NO_TIMESTAMP)),
        )
        self.save(state)
        return results or None

    def drop_part(self, timer: Timer, context: OperatorContext) -> None:
        state = self._load_for_timer(timer)
        due, until = self._take_part(state, self._time(context), 1)
        if not due:
            for pattern, (_, match_state) in state.match_states.items():
                self._matchers[pattern][1].process_events(match_state, [], until)  # drops those that have timed out
        self.save(state)

    def part_details(self, timer: Timer) -> dict[str, Any]:
        event = self._part_event
        return {"timer": timer.time} if event is None else {"element": event.value, "timestamp": event.timestamp}

    def _take_part(self, state: KeyState, until: int, limit: int) -> tuple[list[Event], int]:
        """Removes events that are due from the queue. Returns them and the time up to which partial matches time out.

        With the limit 1, it returns one event, or no event if a partial match times out before it.
        """
        due = self._pop_due_events(state, until)
        if limit == 1:
            deadline = self._next_deadline(state)
            if deadline is not None and deadline <= (due[0].timestamp if due else until):
                state.queue = due + state.queue
                self.part_size = 1
                return [], deadline
            self._part_event = due[0] if due else None
        if len(due) >= limit:
            state.queue = due[limit:] + state.queue
            due = due[:limit]
            until = due[-1].timestamp
        self.part_size = len(due)
        return due, until

    def _time(self, context: OperatorContext) -> int:
        """The time up to which a timer processes events. A timer for each later time follows, so that results have their own."""
        if not self.event_time:
            return context.now
        return context.watermark if context.running_due is None else context.running_due

    def handle_late(self, value: Any, timestamp: int) -> Emitted:
        """Emits a late element to the side output, or counts it."""
        if timestamp == NO_TIMESTAMP:
            raise TimeError(
                "ELEMENT_WITHOUT_TIMESTAMP",
                "A pattern in event time received an element without a timestamp. Call assign_timestamps_and_watermarks with "
                "a timestamp assigner before CEP.pattern, or use in_processing_time().",
            )
        if self.late_tag is not None:
            return ((self.late_tag, value),)
        self.late_records += 1
        return None

    def begin_batch(self) -> None:
        """Called before the elements of a batch."""

    make_event = staticmethod(Event)

    # -- the state of the current key

    def load(self) -> KeyState:
        """Reads the state of the current key."""
        data = self._state.value()
        if data is None:
            return KeyState()
        state, dropped = decode_key_state(data, self._matchers)
        if SINGLE_PATTERN_ID in dropped:
            raise StateError(
                "PATTERN_CHANGED",
                "The checkpoint contains partial matches of a pattern that differs from the one in this program. Resume with "
                "the pattern that wrote them, or set another uid for the operator to start without them.",
            )
        return state

    def save(self, state: KeyState) -> None:
        """Writes the state of the current key, or clears it if it is empty, and sets its next timer."""
        for pattern, (_, match_state) in list(state.match_states.items()):
            if self._matchers[pattern][1].is_idle(match_state):
                del state.match_states[pattern]
        if not state.queue and not state.match_states:
            if state.timer is not None:
                self._timers.delete(state.timer, self._context.cell.at, None)
            if self._state.value() is not None:
                self._state.clear()
            return
        self._set_timer(state)
        self._state.update(encode_key_state(state, self._codec.encode))

    def _load_for_timer(self, timer: Timer) -> KeyState:
        """Reads the state of the key of a timer, which has fired."""
        state = self.load()
        if state.timer is not None and timer.time >= state.timer:
            state.timer = None
        return state

    def _set_timer(self, state: KeyState) -> None:
        time = min((event.timestamp for event in state.queue), default=None)
        if time is not None and not self.event_time:
            time += 1  # when no more events of that time can arrive
        deadline = self._next_deadline(state)
        if deadline is not None and (time is None or deadline < time):
            time = deadline
        if time is not None and (state.timer is None or time < state.timer):
            state.timer = time
            context = self._context
            due = context.running_due if self.event_time else None
            self._timers.register(time, context.cell.at, None, due)

    def _next_deadline(self, state: KeyState) -> int | None:
        """Returns the time at which the first partial match times out, or None."""
        if not self._has_timeouts:
            return None
        first: int | None = None
        for pattern, (_, match_state) in state.match_states.items():
            deadline = self._matchers[pattern][1].deadline(match_state)
            if deadline is not None and (first is None or deadline < first):
                first = deadline
        return first

    def event_under_test(self) -> Event | None:
        """Returns the event for which a condition is evaluated, or None while a function is called with a match."""
        return next((e for _, m in self._matchers.values() if (e := m.event_under_test()) is not None), None)

    # -- matching

    def advance(self, state: KeyState, until: int, emit: Emit) -> None:
        """Processes all waiting events up to a time, and times out partial matches in between."""
        self._process_events(state, self._pop_due_events(state, until), until, emit)

    def _process_events(self, state: KeyState, due: list[Event], until: int, emit: Emit) -> None:
        if not due and not (self._has_timeouts and state.match_states):
            return
        number = state.next_number
        for event in due:
            event.number = number
            number += 1
        state.next_number = number
        match_states = state.match_states
        for pattern, (version, matcher) in self._matchers.items():
            current = match_states.get(pattern)
            if current is None:
                if not due:
                    continue
                current = match_states[pattern] = version, matcher.initial_state()
            matcher.now = self._context.now
            results = matcher.process_events(current[1], self._visible_events(pattern, due), until)
            if results:
                self._emit(pattern, matcher, results, emit)

    def _visible_events(self, pattern: str, events: list[Event]) -> list[Event]:
        """Returns the events that a pattern sees. A pattern that is there from the start sees all."""
        return events

    def _pop_due_events(self, state: KeyState, until: int) -> list[Event]:
        return state.pop_due_events(until, self._codec.decode, self._order)

    def _emit(self, pattern: str, matcher: Matcher, results: list[MatchResult], emit: Emit) -> None:
        context = self._match
        context.pattern = pattern or None
        on_match, on_timeout = self._function.process_match, self._on_timeout
        copies = self._context.copies_elements
        for link, time, timed_out in results:
            if timed_out and on_timeout is None:
                continue
            context.time = time
            match = matcher.match_events(link)
            if copies:  # several matches may contain an event
                match = {name: copy_elements(events) for name, events in match.items()}
            for result in collect_results((on_timeout if timed_out else on_match)(match, context), copies):
                emit(result, time)


def _any_condition_evaluator(automata: list[Automaton]) -> Callable[[Any], int]:
    """Returns a function that is 0 if an event matters to none of several patterns. Each pattern evaluates it again later."""
    return lambda event: NOT_EVALUATED if any(a.evaluate_conditions(event) for a in automata) else 0
